package bindtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long named may take on a busy machine to load one zone.
const patience = 30 * time.Second

func start(t testing.TB, named string, o Options) (*Server, error) {
	t.Helper()
	address, err := listenAt(o.Listen)
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	s := &Server{Address: address, Zone: o.Zone, Key: o.Key, named: named, log: filepath.Join(dir, "named.log"), dir: dir}
	if err := write(dir, o, address); err != nil {
		return nil, err
	}
	return s, s.launch(t)
}

// launch starts named on what its directory holds.
func (s *Server) launch(t testing.TB) error {
	t.Helper()
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.named, "-f", "-g", "-n", "1", "-c", filepath.Join(s.dir, "named.conf"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
		_ = log.Close()
	}()
	s.process, s.ended = cmd, ended
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	if err := s.wait(ended); err != nil {
		s.Kill()
		return err
	}
	return nil
}

// wait returns once named says that it runs, which it does after its zones are loaded and its sockets open.
func (s *Server) wait(ended <-chan struct{}) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		log := s.Log()
		select {
		case <-ended:
			return fmt.Errorf("named ended:\n%s", log)
		default:
		}
		if strings.Contains(log, "address in use") {
			return fmt.Errorf("address %s is in use:\n%s", s.Address, log)
		}
		if strings.HasSuffix(strings.TrimSpace(log), " running") || strings.Contains(log, " running\n") {
			return nil
		}
	}
	return fmt.Errorf("named does not run after %s:\n%s", patience, s.Log())
}

// listenAt is the address to serve.
func listenAt(listen string) (string, error) {
	if listen != "" {
		return listen, nil
	}
	return FreeAddress()
}

func write(dir string, o Options, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen %q: %w", address, err)
	}
	conf := options(dir, host, port, o.Fixed) + keys(append([]Key{o.Key}, o.Strangers...)) + zone(o)
	control, err := controls(dir, o.Control)
	if err != nil {
		return err
	}
	conf += control
	if err := os.WriteFile(filepath.Join(dir, "named.conf"), []byte(conf), 0o600); err != nil {
		return err
	}
	if o.Primary != "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "zone"), []byte(zoneFile(o)), 0o600)
}

func options(dir, host, port string, fixed bool) string {
	order := "random"
	if fixed {
		order = "none"
	}
	return fmt.Sprintf(`options {
	directory %q;
	pid-file none;
	session-keyfile none;
	listen-on port %s { %s; };
	listen-on-v6 { none; };
	recursion no;
	dnssec-validation no;
	notify-delay 0;
	allow-transfer { any; };
	rrset-order { order %s; };
};
`, dir, port, host, order)
}

// controls is the control channel, if one is asked for, and the file that rndc reads.
func controls(dir string, asked bool) (string, error) {
	if !asked {
		return "controls { };\n", nil
	}
	address, err := listenAt("")
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	key := keys([]Key{{Name: "rndc", Algorithm: "hmac-sha256", Secret: DefaultKey().Secret}})
	rndc := key + fmt.Sprintf("options { default-key rndc; default-server %s; default-port %s; };\n", host, port)
	if err := os.WriteFile(filepath.Join(dir, "rndc.conf"), []byte(rndc), 0o600); err != nil {
		return "", err
	}
	return key + fmt.Sprintf("controls { inet %s port %s allow { %s; } keys { rndc; }; };\n", host, port, host), nil
}

func keys(all []Key) string {
	var b strings.Builder
	for _, k := range all {
		fmt.Fprintf(&b, "key %q { algorithm %s; secret %q; };\n", k.Name, k.Algorithm, k.Secret)
	}
	return b.String()
}

func zone(o Options) string {
	if o.Primary != "" {
		return fmt.Sprintf("zone %q { type secondary; file \"zone\"; primaries { %s; }; };\n", o.Zone, addressAndPort(o.Primary))
	}
	var notify strings.Builder
	for _, s := range o.Secondaries {
		fmt.Fprintf(&notify, "%s; ", addressAndPort(s))
	}
	return fmt.Sprintf("zone %q { type primary; file \"zone\"; %s notify explicit; also-notify { %s}; };\n", o.Zone, o.Policy, notify.String())
}

// addressAndPort is host:port as named.conf spells it.
func addressAndPort(hostport string) string {
	host, port, _ := net.SplitHostPort(hostport)
	return host + " port " + port
}

func zoneFile(o Options) string {
	head := []string{
		"$ORIGIN " + o.Zone + ".",
		"$TTL 3600",
		"@ 3600 IN SOA ns1 hostmaster 1 3600 600 86400 5",
		"@ 3600 IN NS ns1",
		"@ 3600 IN NS ns2",
		"ns1 3600 IN A 127.0.0.1",
		"ns2 3600 IN A 127.0.0.1",
	}
	return strings.Join(append(head, o.Records...), "\n") + "\n"
}
