package cli

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/dnsctl"
	"offramp.dev/inventory"
)

// recordsOf turns one server's answer into records.
func recordsOf(server, name string, answer dnsctl.Answer) []inventory.Record {
	owner := ownerOf(answer)
	var out []inventory.Record
	add := func(kind string, set dnsctl.RRset) {
		if len(set.Addresses) > 0 {
			out = append(out, inventory.Record{
				Name: name, Type: kind, Server: server, TTL: set.TTL, Addresses: slices.Clone(set.Addresses), Owner: owner,
			})
		}
	}
	add("A", answer.Records.A)
	add("AAAA", answer.Records.AAAA)
	if answer.Records.Alias != "" {
		out = append(out, inventory.Record{Name: name, Type: "CNAME", Server: server, Target: answer.Records.Alias, Owner: owner})
	}
	return out
}

// ownerOf says who manages a name by its marks.
func ownerOf(answer dnsctl.Answer) string {
	external, found := dnsctl.ParseExternal(answer.External)
	switch {
	case found && external.Owner != "":
		return "external-dns (owner " + external.Owner + ")"
	case found:
		return "external-dns"
	case !answer.Mark.IsZero():
		return "Offramp (record " + answer.Mark.Owner + ")"
	case answer.Foreign != "":
		return "unknown holder (" + answer.Foreign + ")"
	default:
		return ""
	}
}

func compareRecords(a, b inventory.Record) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Type, b.Type), strings.Compare(a.Server, b.Server),
		slices.CompareFunc(a.Addresses, b.Addresses, netip.Addr.Compare))
}

// otherNames are the names that Ingresses, Gateways and DNSEndpoints bring: they lead to addresses of whoever serves them.
func otherNames(c *collection) []string {
	var out []string
	for _, ingress := range c.Ingresses {
		for _, rule := range ingress.Spec.Rules {
			out = append(out, rule.Host)
		}
	}
	for _, gateway := range c.Gateways {
		for _, listener := range gateway.Spec.Listeners {
			if listener.Hostname != nil {
				out = append(out, string(*listener.Hostname))
			}
		}
	}
	for _, o := range c.Others {
		if o.GetKind() == "DNSEndpoint" {
			out = append(out, endpointNames(o)...)
		}
	}
	return out
}

func endpointNames(o *unstructured.Unstructured) []string {
	field, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "endpoints")
	endpoints, _ := field.([]any)
	var out []string
	for _, e := range endpoints {
		if endpoint, ok := e.(map[string]any); ok {
			if name, ok := endpoint["dnsName"].(string); ok {
				out = append(out, name)
			}
		}
	}
	return out
}

// affix is what an external-dns puts around the names of its ownership texts.
type affix struct{ prefix, suffix string }

// affixesOf reads them from the arguments of every external-dns that was seen.
func affixesOf(workloads []inventory.Workload) []affix {
	var out []affix
	for _, w := range workloads {
		for _, container := range w.Containers {
			if !strings.Contains(container.Image, "external-dns") {
				continue
			}
			found := affix{argument(container, "txt-prefix"), argument(container, "txt-suffix")}
			if found != (affix{}) && !slices.Contains(out, found) && len(out) < 8 {
				out = append(out, found)
			}
		}
	}
	return out
}

// argument is the value of a flag, written with "=", as the next argument, or as external-dns's variable.
func argument(c inventory.Container, name string) string {
	for i, arg := range c.Args {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			return value
		}
		if arg == "--"+name && i+1 < len(c.Args) {
			return c.Args[i+1]
		}
	}
	return c.Env["EXTERNAL_DNS_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))]
}

// names of the ownership texts of a name: the type of the record stands where the affix says, else before the first label.
func (a affix) names(name string) []string {
	const kindPlace = "%{record_type}"
	first, rest, _ := strings.Cut(name, ".")
	var out []string
	for _, kind := range []string{"a", "aaaa", "cname"} {
		before := strings.ReplaceAll(a.prefix, kindPlace, kind)
		behind := strings.ReplaceAll(a.suffix, kindPlace, kind)
		if before == a.prefix && behind == a.suffix {
			out = append(out, before+kind+"-"+first+behind+"."+rest)
		}
		out = append(out, before+first+behind+"."+rest)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// affixed is the ownership text at a name with an affix, or "". A failed look leaves the owner unknown, which is what "" says.
func (l *dnsLook) affixed(ctx context.Context, zone dnsctl.Zone, server, name string) string {
	for _, a := range l.affixes {
		for _, at := range a.names(name) {
			if !dnsctl.Under(zone.Apex, at) {
				continue
			}
			if answer, err := l.port.Query(ctx, zone, server, at); err == nil && answer.External != "" {
				return answer.External
			}
		}
	}
	return ""
}
