package agent

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"offramp.dev/api/v1alpha1"
)

// Names that say how a node serves Services. An interface of foreign says that programs of a network plugin may take
// packets before netfilter sees them; whoever knows better says so with --proxy-mode.
const (
	kubeProxyTable = "kube-proxy"
	iptablesTable  = "nat"
	iptablesChain  = "KUBE-SERVICES"
	ipvsInterface  = "kube-ipvs0"
)

var foreign = []string{"cilium_host", "bpfin.cali", "kube-dummy-if", "ovn-k8s-mp0", "antrea-gw0"}

// proxyMode looks for what kube-proxy leaves in the network namespace of the caller. Rules of iptables-legacy cannot be
// seen. It is "" where nothing is found, or rules of two modes, of which one is a leftover.
func proxyMode() (v1alpha1.ProxyMode, error) {
	links, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("listing network interfaces: %w", err)
	}
	ipvs := false
	for _, link := range links {
		if slices.Contains(foreign, link.Name) {
			return v1alpha1.ProxyOther, nil
		}
		ipvs = ipvs || link.Name == ipvsInterface
	}
	if ipvs {
		return v1alpha1.ProxyIPVS, nil
	}
	return rulesMode()
}

func rulesMode() (v1alpha1.ProxyMode, error) {
	table := netlink.Attribute{Type: unix.NFTA_TABLE_NAME, Data: text(kubeProxyTable)}
	byNFTables, err := found(unix.NFT_MSG_GETTABLE, table)
	if err != nil {
		return "", fmt.Errorf("looking for nftables table %s: %w", kubeProxyTable, err)
	}
	byIPTables, err := found(unix.NFT_MSG_GETCHAIN,
		netlink.Attribute{Type: unix.NFTA_CHAIN_TABLE, Data: text(iptablesTable)},
		netlink.Attribute{Type: unix.NFTA_CHAIN_NAME, Data: text(iptablesChain)})
	switch {
	case err != nil:
		return "", fmt.Errorf("looking for chain %s: %w", iptablesChain, err)
	case byNFTables && !byIPTables:
		return v1alpha1.ProxyNFTables, nil
	case byIPTables && !byNFTables:
		return v1alpha1.ProxyIPTables, nil
	}
	return "", nil
}

// found tells whether an object is there for IPv4 or IPv6.
func found(kind netlink.HeaderType, attributes ...netlink.Attribute) (bool, error) {
	for _, family := range []uint8{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6} {
		switch _, err := ask(kind, family, attributes...); {
		case err == nil:
			return true, nil
		case !errors.Is(err, unix.ENOENT):
			return false, err
		}
	}
	return false, nil
}
