package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxPath is long enough for any health path.
const maxPath = 1024

// refusal says why a check is not run, or nil.
func (d Dialer) refusal(c Check) error {
	if err := d.refusedAddress(c.Address.Unmap()); err != nil {
		return err
	}
	switch {
	case c.Port == 0:
		return errors.New("port 0 is no port")
	case c.Host != "" && !legalHost(c.Host):
		return fmt.Errorf("host %q is no DNS name", short(c.Host))
	case c.Path != "" && !legalPath(c.Path):
		return fmt.Errorf("path %q is no absolute path of visible ASCII", short(c.Path))
	}
	return nil
}

// refusedAddress keeps the prober from being used to reach what only the node or the cloud may reach.
func (d Dialer) refusedAddress(a netip.Addr) error {
	switch {
	case !a.IsValid():
		return errors.New("no address")
	case a.Zone() != "":
		return fmt.Errorf("address %s has a zone", a)
	case a.IsLoopback() && d.AllowLoopback:
		return nil
	case a.IsLoopback():
		return fmt.Errorf("address %s is loopback", a)
	case a.IsUnspecified(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("address %s is no host's", a)
	case a.IsMulticast():
		return fmt.Errorf("address %s is multicast", a)
	case slices.Contains(metadataAddresses(), a):
		return fmt.Errorf("address %s serves metadata", a)
	case a.IsLinkLocalUnicast():
		return fmt.Errorf("address %s is link-local", a)
	}
	return nil
}

// metadataAddresses answer with credentials in some clouds. Not all of them are link-local.
func metadataAddresses() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4([4]byte{169, 254, 169, 254}),
		netip.AddrFrom4([4]byte{100, 100, 100, 200}),
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),
		netip.MustParseAddr("fd00:ec2::254"),
	}
}

func legalHost(host string) bool {
	return len(validation.IsDNS1123Subdomain(host)) == 0
}

// legalPath lets no byte through that could end the request line or start a header.
func legalPath(path string) bool {
	if len(path) > maxPath || !strings.HasPrefix(path, "/") {
		return false
	}
	for _, b := range []byte(path) {
		if b <= ' ' || b >= 0x7f || b == '#' {
			return false
		}
	}
	_, err := url.ParseRequestURI(path)
	return err == nil
}

func short(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
