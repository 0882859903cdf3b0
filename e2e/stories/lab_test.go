//go:build e2e

package stories

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
)

const (
	cluster  = "offramp-e2e"
	zone     = "example.test"
	tenant   = "shop"
	primary  = cluster + "-primary"
	second   = cluster + "-secondary"
	resolver = cluster + "-resolver"
	// resolverAddress is where clients ask; see hack/kind/cluster.sh.
	resolverAddress = "198.51.100.55:53"
	system          = "offramp-system"
)

// lab is the running cluster.
type lab struct {
	admin   client.Client
	root    string
	workers []string
}

var shared *lab

func TestMain(m *testing.M) {
	l, err := open()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stories:", err)
		os.Exit(1)
	}
	shared = l
	code := m.Run()
	fmt.Fprint(os.Stderr, results.markdown())
	if err := results.enough(os.Getenv("OFFRAMP_E2E_REQUESTS")); err != nil {
		fmt.Fprintln(os.Stderr, "stories:", err)
		code = 1
	}
	os.Exit(code)
}

func open() (*lab, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	l := &lab{root: root}
	for _, name := range []string{"KUBECONFIG", "DOCKER_HOST", "KUBE_PROXY_MODE"} {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf("%s is not set: run `make e2e-up`, then `source bin/e2e/env`, or `make e2e`", name)
		}
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst, cfg.WarningHandler = 100, 200, rest.NoWarnings{}
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, gatewayv1.Install, metallb.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	if l.admin, err = client.New(cfg, client.Options{Scheme: s}); err != nil {
		return nil, err
	}
	return l, l.findWorkers()
}

func (l *lab) findWorkers() error {
	var nodes corev1.NodeList
	if err := l.admin.List(context.Background(), &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		if _, control := nodes.Items[i].Labels["node-role.kubernetes.io/control-plane"]; !control {
			l.workers = append(l.workers, nodes.Items[i].Name)
		}
	}
	if len(l.workers) < 2 {
		return fmt.Errorf("%d workers: the stories need two", len(l.workers))
	}
	return nil
}

// state is a path under bin/e2e.
func (l *lab) state(parts ...string) string {
	return filepath.Join(append([]string{l.root, "bin/e2e"}, parts...)...)
}

// results is a path under bin/e2e-results/PROXY_MODE, which outlives the cluster.
func (l *lab) results(parts ...string) string {
	return filepath.Join(append([]string{l.root, "bin/e2e-results", os.Getenv("KUBE_PROXY_MODE")}, parts...)...)
}

// run runs a program and answers what it wrote to standard output; standard error is in the error.
func run(input, name string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, complaints.String())
	}
	return out.String(), nil
}

func docker(args ...string) (string, error) { return run("", "docker", args...) }

func kubectl(input string, args ...string) (string, error) {
	return run(input, "kubectl", args...)
}

// plugin runs kubectl-offramp as an admin does.
func (l *lab) plugin(args ...string) (string, error) {
	return run("", filepath.Join(l.root, "bin/image/kubectl-offramp"), args...)
}

// nsupdate changes the zone by hand, with the zone's key.
func nsupdate(script string) error {
	const key = "hmac-sha256:offramp:c2VjcmV0IG9mIGEgdGVzdCBuZXR3b3JrLCBubyBzZWNyZXQ="
	_, err := run("server 127.0.0.1\nzone "+zone+"\n"+script+"send\n", "docker", "exec", "-i", primary, "nsupdate", "-y", key)
	return err
}

// dig answers the records that a server holds, sorted, one a line.
func dig(server, name, kind string) (string, error) {
	out, err := docker("exec", resolver, "dig", "+short", "+norecurse", "+tries=1", "+time=2", "@"+server, name, kind)
	return strings.Join(slices.Sorted(strings.FieldsFuncSeq(out, func(r rune) bool { return r == '\n' })), "\n"), err
}

// ttlOf is the TTL of a name's A records as a server holds them, in seconds.
func ttlOf(server, name string) (int, error) {
	out, err := docker("exec", resolver, "dig", "+noall", "+answer", "+norecurse", "+tries=1", "+time=2", "@"+server, name, "A")
	if err != nil {
		return 0, err
	}
	words := strings.Fields(out) // NAME TTL IN A ADDRESS
	if len(words) < 5 {
		return 0, fmt.Errorf("%s answers %q for %s", server, out, name)
	}
	return strconv.Atoi(words[1])
}

// nodeAddress is a node's address on the closed network.
func nodeAddress(node string) (string, error) {
	out, err := docker("inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", node)
	return strings.TrimSpace(out), err
}

// eventually calls f until it answers nil. It says what it waits for each half minute.
func eventually(t testing.TB, most time.Duration, what string, f func() error) {
	t.Helper()
	began, told := time.Now(), time.Now()
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Since(began) > most {
			t.Fatalf("not in %s: %s: %v", most, what, err)
		}
		if time.Since(told) > 30*time.Second {
			told = time.Now()
			first, _, _ := strings.Cut(err.Error(), "\n")
			t.Logf("%s: waiting for %s: %s", time.Since(began).Round(time.Second), what, first)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var errNotYet = errors.New("not yet")
