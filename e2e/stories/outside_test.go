//go:build e2e

package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/e2e/traffic"
)

// outside is a client on the closed network, outside the cluster: a container with routes of its own.
type outside struct {
	container string
	control   traffic.Control
	held      int64
}

// client starts a client for a port of the story's name and waits until the old path answers it.
func (s *story) client(name string, port int32) *outside {
	s.t.Helper()
	worker, err := nodeAddress(s.workers[0])
	must(s.t, err)
	route := ""
	for _, address := range s.addresses() {
		route += fmt.Sprintf("ip route add %s/32 via %s; ", address, worker)
	}
	if s.attraction == v1alpha1.AttractionInterface {
		route = fmt.Sprintf("ip route add %s/32 dev eth0; ", s.old) // it answers ARP on the client's own network
	}
	c := &outside{container: cluster + "-client-" + name}
	_, _ = docker("rm", "-f", c.container)
	command := fmt.Sprintf("ip route del default; %sexec /programs/traffic client --name %s --port %d --kind %s --resolver %s --rate %d --control :8090",
		route, s.host, port, s.kind, resolverAddress, s.rate)
	s.untilServed()
	_, err = docker("run", "-d", "--name", c.container, "--label", cluster, "--network", cluster, "--cap-add", "NET_ADMIN",
		"-v", s.state("image")+":/programs:ro", "offramp.test/hosts:"+debian(), "sh", "-c", command)
	must(s.t, err)
	address, err := nodeAddress(c.container)
	must(s.t, err)
	c.control = traffic.Control{BaseURL: "http://" + address + ":8090"}
	eventually(s.t, 2*time.Minute, "the client asks and is answered", func() error {
		st, err := c.control.Stats(0)
		if err == nil && st.Answered < 10 {
			err = errNotYet
		}
		return err
	})
	if s.held > 0 {
		must(s.t, c.hold(s.held))
	}
	return c
}

// untilServed waits for the backends before the client starts: what is not there yet cannot be lost.
func (s *story) untilServed() {
	s.t.Helper()
	_, err := kubectl("", "-n", tenant, "rollout", "status", "deployment/"+s.name, "--timeout=110s")
	must(s.t, err)
	time.Sleep(3 * time.Second) // kube-proxy programs what has just become ready
}

func debian() string {
	if suite := os.Getenv("OFFRAMP_E2E_DEBIAN"); suite != "" {
		return suite
	}
	return "bookworm"
}

func (c *outside) hold(n int) error {
	c.held += int64(n)
	return c.control.Hold(n)
}

// end stops the client, takes its counts in and answers its last words.
func (c *outside) end(t *testing.T, r *result) traffic.Stats {
	t.Helper()
	st, err := c.control.Stop()
	if err != nil {
		t.Errorf("the client's last words: %v", err)
		return st
	}
	r.Sent, r.Lost = r.Sent+st.Sent, r.Lost+st.Lost
	r.Held, r.Cut = r.Held+c.held, r.Cut+st.Held.Cut
	for _, l := range st.LostList[:min(len(st.LostList), 5)] {
		t.Logf("lost: %+v", l)
	}
	if out, err := docker("rm", "-f", c.container); err != nil {
		t.Logf("removing %s: %v %s", c.container, err, out)
	}
	return st
}

// apiWrites counts the controller's writes to this story's objects, by the API server's audit log. Who wrote is cut off before
// the name is looked for: it says on which node the controller runs, whose name ends as a story's may.
func (s *story) apiWrites() int {
	out, err := docker("exec", cluster+"-control-plane", "sh", "-c",
		"grep -h -e '\"username\":\"system:serviceaccount:offramp-system:offramp-controller\"' /var/log/offramp-audit/*.log | grep -v '\"resource\":\"leases\"' | "+
			"sed 's/\"user\":{.*\"sourceIPs\"/\"sourceIPs\"/' | grep -c -e '[/\"-]"+s.name+"[/\"-]' || true")
	if err != nil {
		s.t.Errorf("audit log: %v", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		s.t.Errorf("audit log: %v", err)
	}
	return n
}

// dnsUpdates counts the UPDATE messages that changed this story's name, by the primary's log: one a client port.
func (s *story) dnsUpdates() int {
	out, err := logs(primary)
	if err != nil {
		s.t.Errorf("log of the primary: %v", err)
	}
	messages := map[string]bool{}
	for line := range strings.SplitSeq(out, "\n") {
		if _, rest, ok := strings.Cut(line, " client @"); ok && strings.Contains(rest, "updating zone") && strings.Contains(rest, "'"+s.host+"'") {
			if from := strings.Fields(rest)[1]; !strings.HasPrefix(from, "127.") {
				messages[from] = true
			}
		}
	}
	return len(messages)
}

// logs are both streams of a container.
func logs(container string) (string, error) {
	return run("", "sh", "-c", "docker logs "+container+" 2>&1")
}

// keepArtifacts writes what a human needs to see after a failure, with the last words of the story's clients, to
// bin/e2e-results/PROXY_MODE/artifacts/STORY.
func (s *story) keepArtifacts(words []traffic.Stats) {
	dir := s.results("artifacts", strings.ReplaceAll(s.t.Name(), "/", "-"))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		s.t.Log(err)
		return
	}
	save := func(file, text string, err error) {
		if err != nil {
			text += "\n" + err.Error()
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			s.t.Log(err)
		}
	}
	for file, args := range map[string][]string{
		"offramp.yaml":    {"get", "entrypoints,migrationrecords,addressclaims,observations,migrationpolicies,dnszones", "-o", "yaml"},
		"cluster.txt":     {"get", "nodes,pods,services,endpointslices,gateways,httproutes", "-A", "-o", "wide"},
		"events.txt":      {"get", "events", "-A", "--sort-by=.lastTimestamp"},
		"controller.log":  {"-n", system, "logs", "-l", "app.kubernetes.io/name=offramp-controller", "--tail=-1", "--prefix"},
		"agent.log":       {"-n", "offramp-agent", "logs", "-l", "app.kubernetes.io/name=offramp-agent", "--tail=-1", "--prefix"},
		"speaker.log":     {"-n", "metallb-system", "logs", "-l", "component=speaker", "--tail=500", "--prefix"},
		"traefik.log":     {"-n", "gateways", "logs", "-l", "app=traefik", "--tail=500", "--prefix"},
		"double.log":      {"-n", "gateways", "logs", "-l", "app=gatewaydouble", "--tail=500", "--prefix"},
		"service.yaml":    {"-n", tenant, "get", "service", s.name, "-o", "yaml"},
		"gateways.yaml":   {"get", "gateways,httproutes,tcproutes", "-A", "-o", "yaml"},
		"gwservices.yaml": {"-n", "gateways", "get", "services", "-o", "yaml"},
	} {
		out, err := kubectl("", args...)
		save(file, out, err)
	}
	for _, server := range []string{primary, second, resolver} {
		out, err := logs(server)
		save(strings.TrimPrefix(server, cluster+"-")+".log", out, err)
	}
	text, err := json.MarshalIndent(words, "", "  ")
	save("clients.json", string(text), err)
	s.t.Logf("artifacts: %s", dir)
}
