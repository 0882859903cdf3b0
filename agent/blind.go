package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"offramp.dev/api/v1alpha1"
)

const (
	// limitFile says how many entries the conntrack table may have.
	limitFile = "/proc/sys/net/netfilter/nf_conntrack_max"
	// fullPercent of the table is near enough to full that entries may go before their time.
	fullPercent = 90
	// ctMsgStats asks for the statistics of each CPU (IPCTNL_MSG_CT_GET_STATS_CPU); the attributes that say that packets or
	// entries were dropped because the table was full.
	ctMsgStats                  = 4
	ctaStatsDrop, ctaStatsEarly = 10, 11
	// Attributes of a flowtable, and of a queueing discipline or filter.
	nftaFlowtableTable, nftaFlowtableName = 1, 2
	tcaKind                               = 1
	iflaXDPAttached                       = 2
	linkHeader, trafficHeader             = unix.SizeofIfInfomsg, 20
	// ingress is the parent of the filters for what arrives: TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS).
	ingress = 0xfffffff2
	// mostNames are named in the message of a blind spot, and retries is how often a listing is tried that is interrupted.
	mostNames, retries = 3, 3
)

// blindSpots looks, in the network namespace of the caller, for what may take packets past the counters, or entries out of
// the table before their time. What could not be looked for is a blind spot too.
func blindSpots() []v1alpha1.BlindSpot {
	var out []v1alpha1.BlindSpot
	for _, look := range []struct {
		reason v1alpha1.BlindReason
		find   func() ([]string, error)
	}{
		{v1alpha1.BlindPressure, pressure},
		{v1alpha1.BlindOffload, flowtables},
		{v1alpha1.BlindXDP, xdpDevices},
		{v1alpha1.BlindTrafficControl, filteredDevices},
	} {
		names, err := persist(look.find)
		switch {
		case err != nil:
			out = append(out, v1alpha1.BlindSpot{Reason: v1alpha1.BlindUndetermined, Message: short(string(look.reason) + ": " + err.Error())})
		case len(names) > 0:
			out = append(out, v1alpha1.BlindSpot{Reason: look.reason, Message: short(naming(names))})
		}
	}
	return out
}

// persist tries again what was interrupted: devices come and go with Pods.
func persist(find func() ([]string, error)) (names []string, err error) {
	for range retries {
		if names, err = find(); !errors.Is(err, errInterrupted) {
			break
		}
	}
	return names, err
}

func naming(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - mostNames; more > 0 {
		return strings.Join(names[:mostNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

func short(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxMessage)], "")
}

// pressure names the table where it is nearly full.
func pressure() ([]string, error) {
	limit, err := numberIn(limitFile)
	if err != nil {
		return nil, err
	}
	entries, err := numberIn(countFile)
	if err != nil {
		return nil, err
	}
	if limit == 0 || entries*100 < limit*fullPercent {
		return nil, nil
	}
	// The number of entries is not named: it changes in every sweep.
	return []string{fmt.Sprintf("more than %d %% of %d entries", fullPercent, limit)}, nil
}

func numberIn(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// flowtables names the flowtables of nftables.
func flowtables() ([]string, error) {
	var out []string
	request := netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETFLOWTABLE, Flags: netlink.Request | netlink.Dump},
		Data:   []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, 0},
	}
	err := list(unix.NETLINK_NETFILTER, request, func(data []byte) error {
		name, err := flowtable(data)
		out = append(out, name)
		return err
	})
	return out, err
}

func flowtable(data []byte) (string, error) {
	found, err := texts(data, genHeader, nftaFlowtableTable, nftaFlowtableName)
	return "flowtable " + strings.Join(found, " "), err
}

// texts reads attributes that are text, behind a header.
func texts(data []byte, header int, kinds ...uint16) ([]string, error) {
	out := make([]string, len(kinds))
	if len(data) < header {
		return out, errAttribute
	}
	return out, each(data[header:], func(kind uint16, value []byte) (bool, error) {
		if at := slices.Index(kinds, kind); at >= 0 {
			out[at] = strings.TrimRight(string(value), "\x00")
		}
		return true, nil
	})
}

// xdpDevices names the devices that have an XDP program.
func xdpDevices() ([]string, error) {
	var out []string
	err := list(unix.NETLINK_ROUTE, routeMessage(unix.RTM_GETLINK, make([]byte, linkHeader)), func(data []byte) error {
		name, err := texts(data, linkHeader, unix.IFLA_IFNAME)
		if err != nil {
			return err
		}
		return each(data[linkHeader:], func(kind uint16, value []byte) (bool, error) {
			if kind != unix.IFLA_XDP {
				return true, nil
			}
			return true, each(value, func(kind uint16, value []byte) (bool, error) {
				if kind == iflaXDPAttached && number(value) != 0 {
					out = append(out, name[0])
				}
				return true, nil
			})
		})
	})
	return out, err
}

func routeMessage(kind netlink.HeaderType, data []byte) netlink.Message {
	return netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request | netlink.Dump}, Data: data}
}

// filteredDevices names the devices whose ingress has a filter that is a program.
func filteredDevices() ([]string, error) {
	var devices []uint32
	err := list(unix.NETLINK_ROUTE, routeMessage(unix.RTM_GETQDISC, make([]byte, trafficHeader)), func(data []byte) error {
		kind, err := texts(data, trafficHeader, tcaKind)
		if err == nil && (kind[0] == "clsact" || kind[0] == "ingress") {
			devices = append(devices, binary.NativeEndian.Uint32(data[4:]))
		}
		return err
	})
	var out []string
	for _, device := range devices {
		programs, more := ingressPrograms(device)
		out, err = append(out, programs...), errors.Join(err, more)
	}
	return out, err
}

func ingressPrograms(device uint32) ([]string, error) {
	request := make([]byte, trafficHeader)
	binary.NativeEndian.PutUint32(request[4:], device)
	binary.NativeEndian.PutUint32(request[12:], ingress)
	var out []string
	err := list(unix.NETLINK_ROUTE, routeMessage(unix.RTM_GETTFILTER, request), func(data []byte) error {
		is, err := isProgram(data)
		if is {
			out = append(out, fmt.Sprintf("device %d", device))
		}
		return err
	})
	return out, err
}

// isProgram tells whether a filter is a BPF program.
func isProgram(data []byte) (bool, error) {
	kind, err := texts(data, trafficHeader, tcaKind)
	return err == nil && kind[0] == "bpf", err
}

// dropped is how many packets or entries were dropped, since the node was started, because the table was full.
func dropped() (uint64, error) {
	var out uint64
	err := list(unix.NETLINK_NETFILTER, message(ctMsgStats, unix.AF_UNSPEC, nil), func(data []byte) error {
		if len(data) < genHeader {
			return errAttribute
		}
		return each(data[genHeader:], func(kind uint16, value []byte) (bool, error) {
			if kind == ctaStatsDrop || kind == ctaStatsEarly {
				out += uint64(number(value))
			}
			return true, nil
		})
	})
	return out, err
}
