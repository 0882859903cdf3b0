//go:build api

package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl/rfc2136/bindtest"
	"offramp.dev/sim/apitest"
)

const (
	systemNamespace = "offramp-system"
	agentNamespace  = "offramp-agent"
	className       = "emulated"
	controllerName  = "emulated.example/gateway-controller"
	zoneName        = "example.test"
	metricsAddress  = "127.0.0.1:18080"
)

// ring is one API server with everything around it.
type ring struct {
	cfg    *rest.Config
	admin  client.Client
	assets string
	bind   *bindtest.Server
	world  *emulation
	log    *os.File
}

// root is the folder of the module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// startRing starts everything; what it starts ends with the test.
func startRing(t *testing.T) *ring {
	t.Helper()
	requireNamespace(t)
	r := &ring{assets: os.Getenv("KUBEBUILDER_ASSETS")}
	r.startAPIServer(t)
	r.contract(t)
	r.install(t)
	r.bind = bindtest.Start(t, bindtest.Options{Zone: zoneName})
	r.settings(t)
	r.world = startEmulation(t, r)
	r.startController(t)
	return r
}

// requireNamespace refuses to put documentation addresses on a host's own loopback.
func requireNamespace(t *testing.T) {
	t.Helper()
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name != "lo" && l.Flags&net.FlagUp != 0 {
			t.Fatalf("interface %s is up: this ring needs a network namespace of its own; run `make test-api` as root", l.Name)
		}
	}
}

func (r *ring) startAPIServer(t *testing.T) {
	t.Helper()
	env := &envtest.Environment{BinaryAssetsDirectory: r.assets, ControlPlaneStopTimeout: 20 * time.Second}
	// A namespace of its own has no default route to find an address by.
	env.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("starting kube-apiserver and etcd from KUBEBUILDER_ASSETS=%q: %v", r.assets, err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	cfg.QPS, cfg.Burst = 200, 400
	cfg.WarningHandler = rest.NoWarnings{} // every write of the field warns that it is deprecated
	r.cfg = cfg
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, gatewayv1.Install, metallb.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	if r.admin, err = client.New(cfg, client.Options{Scheme: s}); err != nil {
		t.Fatal(err)
	}
}

// kubectl runs the real kubectl with the kubeconfig of a user; input goes to its standard input.
func (r *ring) kubectl(t testing.TB, kubeconfig, input string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(r.assets, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// contract holds the real API server to what the embedded world emulates, before any policy stands in the way.
func (r *ring) contract(t *testing.T) {
	t.Helper()
	admin := r.kubeconfig(t, "admin", r.cfg)
	if out, err := r.kubectl(t, admin, "", "apply", "--server-side", "-k", filepath.Join(root(t), "config/crd")); err != nil {
		t.Fatalf("kubectl apply -k config/crd: %v\n%s", err, out)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "contract"}}
	eventually(t, time.Minute, "the kinds are served", func() error { return r.admin.List(context.Background(), &v1alpha1.EntryPointList{}) })
	if err := r.admin.Create(context.Background(), ns); err != nil {
		t.Fatal(err)
	}
	t.Run("contract with the embedded world", func(t *testing.T) { apitest.Run(t, r.admin, ns.Name) })
}

// install applies the kinds of others and what `kubectl apply -k config/default` applies.
func (r *ring) install(t *testing.T) {
	t.Helper()
	admin := r.kubeconfig(t, "admin", r.cfg)
	for _, dir := range []string{
		filepath.Join(moduleDir(t, "sigs.k8s.io/gateway-api"), "config/crd/standard"),
		filepath.Join(moduleDir(t, "go.universe.tf/metallb"), "config/crd/bases"),
	} {
		if out, err := r.kubectl(t, admin, "", "apply", "--server-side", "-f", dir); err != nil {
			t.Fatalf("kubectl apply -f %s: %v\n%s", dir, err, out)
		}
	}
	rendered, err := r.kubectl(t, admin, "", "kustomize", filepath.Join(root(t), "config/default"))
	if err != nil {
		t.Fatalf("kubectl kustomize config/default: %v\n%s", err, rendered)
	}
	eventually(t, time.Minute, "config/default is applied", func() error {
		out, err := r.kubectl(t, admin, rendered, "apply", "--server-side", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
}

func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

// kubeconfig writes a kubeconfig file for cfg.
func (r *ring) kubeconfig(t testing.TB, name string, cfg *rest.Config) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["ring"] = &clientcmdapi.Cluster{Server: r.cfg.Host, CertificateAuthorityData: r.cfg.CAData}
	c.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken, ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	c.Contexts["ring"] = &clientcmdapi.Context{Cluster: "ring", AuthInfo: "user"}
	c.CurrentContext = "ring"
	file := filepath.Join(t.TempDir(), name+".kubeconfig")
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// as is a configuration for a ServiceAccount, with a real token.
func (r *ring) as(t testing.TB, namespace, account string) *rest.Config {
	t.Helper()
	k, err := kubernetes.NewForConfig(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	seconds := int64(7200)
	tok, err := k.CoreV1().ServiceAccounts(namespace).CreateToken(context.Background(), account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("token of ServiceAccount %s/%s: %v", namespace, account, err)
	}
	return &rest.Config{Host: r.cfg.Host, TLSClientConfig: rest.TLSClientConfig{CAData: r.cfg.CAData}, BearerToken: tok.Status.Token, QPS: 100, Burst: 200}
}

// startController runs the built program as its ServiceAccount.
func (r *ring) startController(t *testing.T) {
	t.Helper()
	kubeconfig := r.kubeconfig(t, "controller", r.as(t, systemNamespace, "offramp-controller"))
	health := "127.0.0.1:18081"
	cmd := exec.Command(filepath.Join(root(t), "bin/offramp-controller"), "--kubeconfig", kubeconfig, "--namespace", systemNamespace,
		"--metrics-bind-address", metricsAddress, "--health-probe-bind-address", health, "--leader-election-lease-duration", "6s")
	log, err := os.CreateTemp(t.TempDir(), "controller-*.log")
	if err != nil {
		t.Fatal(err)
	}
	r.log, cmd.Stdout, cmd.Stderr = log, log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting bin/offramp-controller (make build): %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { stopController(t, cmd, ended, r.log.Name()) })
	eventually(t, time.Minute, "the controller is ready", func() error {
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("the controller ended: %w\n%s", err, tail(r.log.Name()))
		default:
		}
		resp, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// stopController asks for a graceful stop and insists that it is one.
func stopController(t *testing.T, cmd *exec.Cmd, ended chan error, log string) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("stopping the controller: %v", err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the controller did not stop in good order: %v\n%s", err, tail(log))
		}
	case <-time.After(30 * time.Second):
		t.Errorf("the controller did not stop in 30 s")
		_ = cmd.Process.Kill()
	}
	if t.Failed() {
		t.Logf("the controller's last words:\n%s", tail(log))
	}
}

func tail(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	const most = 12000
	return string(b[max(0, len(b)-most):])
}

// eventually calls f until it answers nil.
func eventually(t testing.TB, most time.Duration, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(most)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not in %s: %s: %v", most, what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// settings are what the platform admin writes: class, pool, zone with its key, policy, tenant namespace.
func (r *ring) settings(t *testing.T) {
	t.Helper()
	admin := r.kubeconfig(t, "admin", r.cfg)
	key := bindtest.DefaultKey()
	manifests := fmt.Sprintf(settingsYAML, key.Name, key.Algorithm, key.Secret, r.bind.Address)
	eventually(t, time.Minute, "the settings are applied", func() error {
		out, err := r.kubectl(t, admin, manifests, "apply", "--server-side", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	if err := r.admin.Create(context.Background(), node); err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.11"}}
	node.Status.NodeInfo.BootID = "emulated"
	if err := r.admin.Status().Update(context.Background(), node); err != nil {
		t.Fatal(err)
	}
}

const settingsYAML = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: v1
kind: Namespace
metadata: {name: gateways}
---
apiVersion: v1
kind: Namespace
metadata: {name: metallb-system}
---
apiVersion: v1
kind: Secret
metadata: {name: zone-key, namespace: offramp-system}
stringData: {name: %q, algorithm: %q, secret: %q}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: emulated}
spec: {controllerName: emulated.example/gateway-controller}
---
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: offramp, namespace: metallb-system}
spec: {addresses: ["203.0.113.100-203.0.113.199"], autoAssign: false}
---
apiVersion: metallb.io/v1beta1
kind: L2Advertisement
metadata: {name: offramp, namespace: metallb-system}
spec: {ipAddressPools: [offramp]}
---
apiVersion: offramp.dev/v1alpha1
kind: DNSZone
metadata: {name: example-test}
spec:
  zone: example.test
  mode: RRset
  primary: %q
  keySecret: zone-key
  domains:
  - {namespace: shop, suffixes: [example.test]}
---
apiVersion: offramp.dev/v1alpha1
kind: MigrationPolicy
metadata: {name: standard}
spec:
  namespaces: [shop]
  gateway: {className: emulated, namespace: gateways, profile: Annotation}
  pools: [offramp]
  zones: [example-test]
  dns: {lowTTLSeconds: 1, sharePercents: [50, 100], soakSeconds: 1}
  probes: {rounds: 1, intervalSeconds: 1, timeoutSeconds: 2}
  drain: {windowSeconds: 3}
  soakSeconds: 2
`
