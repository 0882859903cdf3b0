//go:build dns

package dns

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
)

// apex is the zone of every test; www the name that most of them move.
const (
	apex = "example.test"
	www  = "www." + apex
)

// stranger is a key that every server knows and that may change nothing.
func stranger() bindtest.Key {
	return bindtest.Key{Name: "stranger", Algorithm: "hmac-sha512", Secret: "c3RyYW5nZXIgc3RyYW5nZXIgc3RyYW5nZXIgc3RyYW5nZXI="}
}

// options of a primary.
type options struct {
	// records are lines of the zone file.
	records []string
	// key may update; bindtest's default where empty.
	key bindtest.Key
	// fixed: the server gives the addresses of a set always in the same order, where it can.
	fixed bool
	// secondaries are told of changes, where the server is a BIND.
	secondaries []string
	// listen is an address to take instead of a free one.
	listen string
}

// primary is one running authoritative server that takes updates.
type primary struct {
	kind    string
	address string
	key     bindtest.Key
	// kill ends it at once, restart starts it again from its disk.
	kill    func()
	restart func(t *testing.T)
	// freeze makes it refuse updates as its admin would for a while, thaw take them again.
	freeze, thaw func(t *testing.T)
}

// kinds are the servers that every test of the matrix runs on.
func kinds() map[string]func(*testing.T, options) *primary {
	return map[string]func(*testing.T, options) *primary{"BIND": startBIND, "Knot": startKnot, "PowerDNS": startPowerDNS}
}

// onEach runs a test on every kind of server.
func onEach(t *testing.T, o options, run func(t *testing.T, s *primary)) {
	t.Helper()
	for _, kind := range []string{"BIND", "Knot", "PowerDNS"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			run(t, kinds()[kind](t, o))
		})
	}
}

func (o options) filled(t *testing.T) options {
	t.Helper()
	if o.key == (bindtest.Key{}) {
		o.key = bindtest.DefaultKey()
	}
	if o.records == nil {
		o.records = []string{"www 3600 IN A 192.0.2.10"}
	}
	if o.listen == "" {
		o.listen = freeAddress(t)
	}
	return o
}

// freeAddress is an address that no other server has.
func freeAddress(t *testing.T) string {
	t.Helper()
	at, err := bindtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func startBIND(t *testing.T, o options) *primary {
	t.Helper()
	o = o.filled(t)
	policy := fmt.Sprintf("allow-update { key %q; };", o.key.Name)
	b := bindtest.Start(t, bindtest.Options{
		Zone: apex, Records: o.records, Key: o.key, Strangers: []bindtest.Key{stranger()}, Control: true, Policy: policy, Fixed: o.fixed,
		Secondaries: o.secondaries, Listen: o.listen,
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("named said:\n%s", b.Log())
		}
	})
	return &primary{
		kind: "BIND", address: b.Address, key: o.key, kill: b.Kill, restart: func(t *testing.T) { t.Helper(); b.Restart(t) },
		freeze: func(t *testing.T) { t.Helper(); b.Rndc(t, "freeze", apex) }, thaw: func(t *testing.T) { t.Helper(); b.Rndc(t, "thaw", apex) },
	}
}

// daemon is a server program with a directory of its own.
type daemon struct {
	dir  string
	argv []string
	cmd  *exec.Cmd
	done chan struct{}
}

// newDaemon makes the directory. Its path is short: Unix sockets lie there.
func newDaemon(t *testing.T) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "dns") //nolint:usetesting // its paths are too long
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{dir: dir}
	t.Cleanup(func() {
		d.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", d.argv[0], d.log())
		}
		_ = os.RemoveAll(dir)
	})
	return d
}

func (d *daemon) path(name string) string { return filepath.Join(d.dir, name) }

func (d *daemon) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(d.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.cmd, d.done = cmd, make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		_ = cmd.Wait()
		_ = log.Close()
	}(d.done)
}

func (d *daemon) kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		<-d.done
	}
}

func (d *daemon) log() string {
	raw, err := os.ReadFile(d.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// run runs a tool of the server's.
func (d *daemon) run(t *testing.T, program string, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Dir = d.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(arguments, " "), err, out)
	}
}

// zoneFile is the zone as every server loads it.
func zoneFile(o options) string {
	head := []string{
		"$ORIGIN " + apex + ".", "$TTL 3600", "@ 3600 IN SOA ns1 hostmaster 1 3600 600 86400 5",
		"@ 3600 IN NS ns1", "@ 3600 IN NS ns2", "ns1 3600 IN A 127.0.0.1", "ns2 3600 IN A 127.0.0.1",
	}
	return strings.Join(append(head, o.records...), "\n") + "\n"
}

func startKnot(t *testing.T, o options) *primary {
	t.Helper()
	o = o.filled(t)
	d := newDaemon(t)
	host, port, _ := strings.Cut(o.listen, ":")
	rotation := "on"
	if o.fixed {
		rotation = "off"
	}
	var keys strings.Builder
	for _, k := range []bindtest.Key{o.key, stranger()} {
		fmt.Fprintf(&keys, "  - id: %s\n    algorithm: %s\n    secret: %s\n", strings.ToLower(k.Name), k.Algorithm, k.Secret)
	}
	d.write(t, "zone", zoneFile(o))
	d.write(t, "knot.conf", fmt.Sprintf(`server:
    rundir: %[1]q
    listen: %[2]s@%[3]s
    answer-rotation: %[4]s
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: %[1]q
    journal-db-max-size: 64M
    timer-db-max-size: 16M
    kasp-db-max-size: 16M
log:
  - target: stderr
    any: info
key:
%[5]sacl:
  - id: update
    key: %[6]s
    action: update
control:
    listen: knot.sock
zone:
  - domain: %[7]s
    storage: %[1]q
    file: zone
    journal-max-usage: 16M
    acl: update
`, d.dir, host, port, rotation, keys.String(), strings.ToLower(o.key.Name), apex))
	d.argv = []string{tool(t, "knotd", "knot"), "-c", d.path("knot.conf")}
	return started(t, d, &primary{
		kind: "Knot", address: o.listen, key: o.key,
		freeze: func(t *testing.T) {
			t.Helper()
			d.run(t, tool(t, "knotc", "knot"), "-s", d.path("knot.sock"), "zone-freeze", apex)
		},
		thaw: func(t *testing.T) {
			t.Helper()
			d.run(t, tool(t, "knotc", "knot"), "-s", d.path("knot.sock"), "zone-thaw", apex)
		},
	})
}

func startPowerDNS(t *testing.T, o options) *primary {
	t.Helper()
	o = o.filled(t)
	d := newDaemon(t)
	host, port, _ := strings.Cut(o.listen, ":")
	d.write(t, "zone", zoneFile(o))
	// What its packet cache holds, 20 s by default, it gives in one order.
	cache := 0
	if o.fixed {
		cache = 20
	}
	d.write(t, "pdns.conf", fmt.Sprintf(`launch=gsqlite3
cache-ttl=%[4]d
gsqlite3-database=%[1]s/pdns.sqlite3
local-address=%[2]s
local-port=%[3]s
socket-dir=%[1]s
dnsupdate=yes
allow-dnsupdate-from=127.0.0.0/8
daemon=no
guardian=no
write-pid=no
disable-syslog=yes
security-poll-suffix=
receiver-threads=1
distributor-threads=1
`, d.dir, host, port, cache))
	schema, err := os.ReadFile("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")
	if err != nil {
		t.Fatalf("%v: install the Debian package pdns-backend-sqlite3", err)
	}
	d.run(t, tool(t, "sqlite3", "sqlite3"), d.path("pdns.sqlite3"), string(schema))
	util := func(t *testing.T, arguments ...string) {
		t.Helper()
		d.run(t, tool(t, "pdnsutil", "pdns-server"), append([]string{"--config-dir=" + d.dir}, arguments...)...)
	}
	util(t, "load-zone", apex, d.path("zone"))
	for _, k := range []bindtest.Key{o.key, stranger()} {
		util(t, "import-tsig-key", strings.ToLower(k.Name), k.Algorithm, k.Secret)
	}
	allow := []string{"set-meta", apex, "TSIG-ALLOW-DNSUPDATE", strings.ToLower(o.key.Name)}
	util(t, allow...)
	d.argv = []string{tool(t, "pdns_server", "pdns-server"), "--config-dir=" + d.dir}
	return started(t, d, &primary{
		kind: "PowerDNS", address: o.listen, key: o.key,
		// It has no freeze: its admin takes the key's right away for the time.
		freeze: func(t *testing.T) { t.Helper(); util(t, "set-meta", apex, "TSIG-ALLOW-DNSUPDATE", "stranger-to-all") },
		thaw:   func(t *testing.T) { t.Helper(); util(t, allow...) },
	})
}

// started starts the daemon and waits until it answers.
func started(t *testing.T, d *daemon, p *primary) *primary {
	t.Helper()
	p.kill = d.kill
	p.restart = func(t *testing.T) {
		t.Helper()
		d.start(t)
		p.await(t)
	}
	p.restart(t)
	return p
}

func (p *primary) await(t *testing.T) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, err = p.client().Query(t.Context(), p.zone(), p.address, apex); err == nil {
			return
		}
	}
	t.Fatalf("%s does not answer: %v", p.kind, err)
}

// zone is how the controller reaches it.
func (p *primary) zone(servers ...string) dnsctl.Zone {
	return dnsctl.Zone{Object: "test", Apex: apex, Primary: p.address, Servers: servers}
}

// client is the controller's port.
func (p *primary) client(edit ...func(*rfc2136.Options)) *rfc2136.Client {
	key := rfc2136.Key{Name: p.key.Name, Algorithm: p.key.Algorithm, Secret: p.key.Secret}
	o := rfc2136.Options{Keys: func(string) (rfc2136.Key, error) { return key, nil }, Now: time.Now, QueryTimeout: 5 * time.Second, UpdateTimeout: 20 * time.Second}
	for _, e := range edit {
		e(&o)
	}
	return rfc2136.New(o)
}

// nsupdate is another writer with the same right, who asks nobody.
func (p *primary) nsupdate(t *testing.T, lines ...string) {
	t.Helper()
	host, port, _ := strings.Cut(p.address, ":")
	cmd := exec.CommandContext(t.Context(), tool(t, "nsupdate", "bind9-dnsutils"), "-v", "-y", p.key.Algorithm+":"+p.key.Name+":"+p.key.Secret)
	cmd.Stdin = strings.NewReader(fmt.Sprintf("server %s %s\nzone %s.\n%s\nsend\n", host, port, apex, strings.Join(lines, "\n")))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nsupdate: %v\n%s", err, out)
	}
}

// tool finds a program, also where Debian keeps daemons.
func tool(t *testing.T, program, pkg string) string {
	t.Helper()
	for _, at := range slices.Concat([]string{program}, []string{"/usr/sbin/" + program, "/usr/bin/" + program}) {
		if path, err := exec.LookPath(at); err == nil {
			return path
		}
	}
	t.Fatalf("%s not found: install the Debian package %s", program, pkg)
	return ""
}
