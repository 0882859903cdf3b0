package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConnectOptions say which cluster, and as whom; they are kubectl's own flags.
type ConnectOptions struct {
	Kubeconfig, Context, Cluster, User string
	As                                 string
	AsGroups                           []string
	Namespace                          string
	Timeout                            time.Duration
}

// Connection is an open cluster.
type Connection struct {
	Client client.WithWatch
	// Namespace of the context.
	Namespace string
	// Server is the API server's address, if the kubeconfig names one by number.
	Server netip.Addr
}

func (a *app) connectFlags(f *pflag.FlagSet) {
	o := &a.connect
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of the kubeconfig file")
	f.StringVar(&o.Context, "context", "", "name of the kubeconfig context")
	f.StringVar(&o.Cluster, "cluster", "", "name of the kubeconfig cluster")
	f.StringVar(&o.User, "user", "", "name of the kubeconfig user")
	f.StringVar(&o.As, "as", "", "user to impersonate")
	f.StringArrayVar(&o.AsGroups, "as-group", nil, "group to impersonate; may be repeated")
	f.DurationVar(&o.Timeout, "request-timeout", 30*time.Second, "longest time for one request to the API server")
}

// open connects to the cluster.
func (a *app) open() (*Connection, error) {
	connect := a.Connect
	if connect == nil {
		connect = Connect
	}
	c, err := connect(a.connect)
	if err != nil {
		return nil, fmt.Errorf("no cluster to look at: %w", err)
	}
	return c, nil
}

// openOrFiles is open for the commands that could look at files instead.
func (a *app) openOrFiles() (*Connection, error) {
	c, err := a.open()
	if err != nil {
		return nil, fmt.Errorf("%w (to look at files, use -f)", err)
	}
	return c, nil
}

// errNoKubeconfig stands for client-go's error, which names a variable that this program does not read.
var errNoKubeconfig = errors.New("no kubeconfig names one; give --kubeconfig, or set KUBECONFIG")

// Connect opens the cluster as kubectl would: flags, then KUBECONFIG, then ~/.kube/config, then the Pod's own account.
func Connect(o ConnectOptions) (*Connection, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	overrides.Context.Cluster, overrides.Context.AuthInfo = o.Cluster, o.User
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errNoKubeconfig
	} else if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: o.As, Groups: o.AsGroups}
	config.Timeout, config.WarningHandler = o.Timeout, rest.NoWarnings{}
	config.QPS, config.Burst = 50, 100
	c, err := client.NewWithWatch(config, client.Options{Scheme: newReadScheme()})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return &Connection{Client: c, Namespace: namespace, Server: serverAddress(config.Host)}, nil
}

// serverAddress is the host of the API server's URL, if it is an address.
func serverAddress(host string) netip.Addr {
	u, err := url.Parse(host)
	if err != nil {
		return netip.Addr{}
	}
	address, _ := netip.ParseAddr(u.Hostname())
	return address
}
