//go:build api

package gatewaydouble

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// podAddress stands for a Pod: the API server takes no loopback address for an endpoint.
const podAddress = "192.0.2.50"

// ring is a real API server with deploy.yaml applied; the program runs beside it instead of its Deployment.
type ring struct {
	*bed

	cfg     *rest.Config
	program string
	config  string
}

func startRing(t *testing.T) *ring {
	t.Helper()
	requireNamespace(t)
	crds := output(t, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api") + "/config/crd/experimental"
	env := &envtest.Environment{BinaryAssetsDirectory: os.Getenv("KUBEBUILDER_ASSETS"), CRDDirectoryPaths: []string{crds}, ErrorIfCRDPathMissing: true}
	env.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("starting kube-apiserver and etcd: %v", err)
	}
	t.Cleanup(func() { _ = env.Stop() })
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := gatewayv1.Install(s); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	r := &ring{bed: &bed{T: t, c: c}, cfg: cfg, program: filepath.Join(t.TempDir(), "gatewaydouble")}
	output(t, "go", "build", "-o", r.program, "../programs/gatewaydouble")
	r.create(namespace(ours), namespace(tenant))
	r.deploy()
	r.config = r.kubeconfig("double", r.account())
	return r
}

// deploy creates what deploy.yaml has.
func (r *ring) deploy() {
	r.Helper()
	text, err := os.ReadFile("deploy.yaml")
	if err != nil {
		r.Fatal(err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &u.Object); err != nil {
			r.Fatal(err)
		}
		r.create(u)
	}
}

// requireNamespace keeps documentation addresses off a host's own loopback.
func requireNamespace(t *testing.T) {
	t.Helper()
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name != "lo" && l.Flags&net.FlagUp != 0 {
			t.Fatalf("interface %s is up: run this in a network namespace of its own", l.Name)
		}
	}
	output(t, "ip", "addr", "replace", podAddress+"/32", "dev", "lo")
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// account is the double's ServiceAccount, so that its roles are tested.
func (r *ring) account() *rest.Config {
	r.Helper()
	k, err := kubernetes.NewForConfig(r.cfg)
	if err != nil {
		r.Fatal(err)
	}
	tok, err := k.CoreV1().ServiceAccounts(ours).CreateToken(r.Context(), "gatewaydouble", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return &rest.Config{BearerToken: tok.Status.Token}
}

func (r *ring) kubeconfig(name string, user *rest.Config) string {
	r.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["ring"] = &clientcmdapi.Cluster{Server: r.cfg.Host, CertificateAuthorityData: r.cfg.CAData}
	c.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: user.BearerToken, ClientCertificateData: user.CertData, ClientKeyData: user.KeyData}
	c.Contexts["ring"] = &clientcmdapi.Context{Cluster: "ring", AuthInfo: "user"}
	c.CurrentContext = "ring"
	file := filepath.Join(r.TempDir(), name)
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		r.Fatal(err)
	}
	return file
}

// replica runs the program on a loopback address of its own until the test, or stop, ends it in good order.
func (r *ring) replica(host string) (stop func()) {
	r.Helper()
	log, err := os.Create(filepath.Join(r.TempDir(), "log"))
	if err != nil {
		r.Fatal(err)
	}
	cmd := exec.Command(r.program, "--kubeconfig", r.config, "--namespace", ours, "--selector", "app=gatewaydouble",
		"--bind", host, "--health", host+":8081", "--linger", "100ms")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil || r.Failed() {
			text, _ := os.ReadFile(log.Name())
			r.Errorf("replica %s: %v\n%s", host, err, text)
		}
	}
	r.Cleanup(stop)
	r.eventually("replica "+host+" is ready", func() error {
		resp, err := http.Get("http://" + host + ":8081/readyz")
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	})
	return stop
}

func (r *ring) eventually(what string, f func() error) {
	r.Helper()
	var err error
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	r.Fatalf("not in time: %s: %v", what, err)
}

// asks a replica's data plane for a host, at the target port that the Service names.
func (r *ring) asks(host, name string, port int32, want int) {
	r.Helper()
	r.eventually(fmt.Sprintf("%s answers %d for %s", host, want, name), func() error {
		r.host = host
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+r.target(generated, port)+"/", nil)
		if err != nil {
			return err
		}
		req.Host = name
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	})
}

// pod answers HTTP on the address of a Pod.
func pod(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", podAddress+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return netip.MustParseAddrPort(l.Addr().String())
}

func TestOnARealAPIServerTheDoubleServesReportsMisbehavesAndHandsOver(t *testing.T) {
	r := startRing(t)
	web := service(tenant, "web", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "db", Port: 5432})
	r.create(web)
	r.create(slice(web, "http", true, pod(t))...)
	stop := r.replica("127.77.77.1")
	r.replica("127.77.77.2")
	want := converted(t, "double")
	for _, o := range want {
		o.SetUID("")
		r.create(o.DeepCopy())
	}
	r.eventually("the Service", func() error {
		return r.c.Get(context.Background(), client.ObjectKey{Namespace: ours, Name: generated}, &corev1.Service{})
	})
	r.metallb()
	r.eventually("Offramp reads Programmed", func() error {
		if h := r.health(want); !h.Programmed {
			return fmt.Errorf("%+v", h)
		}
		return nil
	})
	for _, host := range []string{"127.77.77.1", "127.77.77.2"} {
		r.asks(host, "shop.example.test", 80, http.StatusOK)
		r.asks(host, "other.example.test", 80, http.StatusNotFound)
	}
	r.misbehaviors()
	stop()
	g := r.gateway(entryPoint)
	g.Spec.Listeners = append(g.Spec.Listeners, listen("more", 8080, "HTTP"))
	r.update(g)
	r.eventually("the other replica took over", func() error {
		if got := condition(r.gateway(entryPoint).Status.Conditions, "Programmed", g.Generation); got != "True Programmed" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	r.asks("127.77.77.2", "shop.example.test", 80, http.StatusOK)
	r.asks("127.77.77.2", "any.test", 8080, http.StatusNotFound)
}

// misbehaviors wants what each class is for.
func (r *ring) misbehaviors() {
	r.Helper()
	for class, want := range map[string]string{
		"double-external-ips":  "True Programmed [198.51.100.10] 1",
		"double-foreign-class": "False AddressNotAssigned [] 0",
		"double-no-address":    "True Programmed no Service 0",
	} {
		g := gatewayOf(class, class, listen("web", 80, "HTTP"))
		g.UID = ""
		r.create(g)
		r.eventually(class, func() error {
			if got := r.summary(class); got != want {
				return fmt.Errorf("got %s, want %s", got, want)
			}
			return nil
		})
	}
	if s := r.service("double-foreign-class-double"); *s.Spec.LoadBalancerClass != foreignClass {
		r.Errorf("got %+v", s.Spec)
	}
}

// summary is a Gateway's Programmed, its Service's external IPs, and how many addresses it claims.
func (r *ring) summary(name string) string {
	r.Helper()
	g, s, ips := r.gateway(name), &corev1.Service{}, "no Service"
	if r.c.Get(r.Context(), client.ObjectKey{Namespace: ours, Name: name + "-double"}, s) == nil {
		ips = fmt.Sprint(s.Spec.ExternalIPs)
	}
	return fmt.Sprint(condition(g.Status.Conditions, "Programmed", g.Generation), " ", ips, " ", len(g.Status.Addresses))
}
