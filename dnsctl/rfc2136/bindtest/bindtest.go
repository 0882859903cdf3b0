// Package bindtest starts a real BIND 9 for tests: a primary or a secondary of one zone on a high port of the loopback,
// with a TSIG key that may update it. It never skips: a machine without named fails the test and says what to install.
package bindtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Key is a TSIG key as named.conf has it.
type Key struct {
	// Name, Algorithm (hmac-sha256, ...) and Secret (base64).
	Name, Algorithm, Secret string
}

// DefaultKey may update the zone where Options gives no key.
func DefaultKey() Key {
	return Key{Name: "offramp-test", Algorithm: "hmac-sha256", Secret: "b2ZmcmFtcC10ZXN0LWtleS1ub3QtYS1zZWNyZXQhISE="}
}

// Options says what to serve.
type Options struct {
	// Zone is the apex; example.test where empty.
	Zone string
	// Records are lines of a zone file, relative to the apex: "www 3600 IN A 192.0.2.10".
	Records []string
	// Key may update the zone; DefaultKey where empty.
	Key Key
	// Strangers are keys that the server knows and that may change nothing.
	Strangers []Key
	// Listen is the host:port of the loopback to serve; one of FreeAddress where empty.
	Listen string
	// Primary makes the server a secondary of that host:port.
	Primary string
	// Secondaries are told of every change (NOTIFY), host:port each.
	Secondaries []string
	// Control lets Rndc steer the server.
	Control bool
	// Fixed gives the addresses of a set always in the same order.
	Fixed bool
	// Policy is put in place of "allow-update", for example `update-policy { grant k name a.example.test. A; };`.
	Policy string
}

// Server is a running BIND.
type Server struct {
	// Address is host:port, UDP and TCP.
	Address string
	// Zone is the apex, Key the one that may update it.
	Zone string
	Key  Key

	named, log, dir string
	process         *exec.Cmd
	ended           chan struct{}
}

// Start serves the zone until the test ends and returns when it answers.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	named, err := find("named")
	if err != nil {
		t.Fatal(err)
	}
	o = o.filled()
	var last error
	for range 5 {
		s, err := start(t, named, o)
		if err == nil {
			return s
		}
		last = err
		if o.Listen != "" {
			break
		}
	}
	t.Fatalf("named did not start: %v", last)
	return nil
}

// Nsupdate runs nsupdate(1) with the server's key; the script needs no server line. It returns output and error.
func (s *Server) Nsupdate(t testing.TB, script string) (string, error) {
	t.Helper()
	nsupdate, err := find("nsupdate")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(s.Address, ":")
	key := s.Key.Algorithm + ":" + s.Key.Name + ":" + s.Key.Secret
	cmd := exec.CommandContext(t.Context(), nsupdate, "-v", "-y", key)
	cmd.Stdin = strings.NewReader(fmt.Sprintf("server %s %s\n%s", host, port, script))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Rndc runs rndc(8) against a server that was started with Control.
func (s *Server) Rndc(t testing.TB, arguments ...string) {
	t.Helper()
	rndc, err := find("rndc")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), rndc, append([]string{"-c", filepath.Join(s.dir, "rndc.conf")}, arguments...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rndc %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// Kill ends the server as a power cut does. What it has answered for is on its disk.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	<-s.ended
}

// Restart starts a killed server again from its disk, at the same address, and returns when it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.launch(t); err != nil {
		t.Fatalf("named did not start again: %v", err)
	}
}

// Log is what named has said since it was last started.
func (s *Server) Log() string {
	raw, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// find looks for a program of BIND 9, also where Debian keeps daemons.
func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/bin"} {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s not found: this test needs a real BIND 9 (Debian: apt-get install bind9 bind9-dnsutils)", program)
}

func (o Options) filled() Options {
	if o.Zone == "" {
		o.Zone = "example.test"
	}
	if o.Key == (Key{}) {
		o.Key = DefaultKey()
	}
	if o.Policy == "" {
		o.Policy = fmt.Sprintf("allow-update { key %q; };", o.Key.Name)
	}
	return o
}
