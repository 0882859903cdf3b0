package inventory

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
)

// around is what the surroundings say, read once and indexed by address, so that no question walks their lists again.
type around struct {
	settings
	// held are all addresses that the field of any Service holds.
	held       map[netip.Addr]bool
	announcers []announcer
	// routers limit what kube-router serves.
	routers []router
	// carriers are texts of workloads that hold an address which some Service carries by the field.
	carriers map[netip.Addr][]carrier
	// virtual are addresses that a tool of the cluster keeps on a node's interface, and which.
	virtual map[netip.Addr]string
	// publishers maps a Service to who copies its addresses into the status of Ingresses.
	publishers map[string][]string
	ingresses  map[netip.Addr][]string
	blocks     spans
	holders    []holder
	holdersAt  map[place][]int
	owners     map[string][]string
	pointers   map[netip.Addr][]Pointer
	declared   map[netip.Addr][]string
	allocators []allocator
	openShift  spans
	endpoints  map[string][]foreignSlice
}

// lookAround reads the surroundings. used are the addresses that the field of any Service holds.
func lookAround(c Cluster, used map[netip.Addr]bool) around {
	w := around{settings: readSettings(c), held: used, owners: map[string][]string{}}
	w.announcers = append(calicoAnnouncers(c.Others), ciliumAnnouncers(c.Others)...)
	w.allocators, w.openShift = readAllocators(c.Others, w.settings), openShiftSpans(c.Others)
	w.carriers, w.virtual = map[netip.Addr][]carrier{}, map[netip.Addr]string{}
	w.publishers = map[string][]string{}
	for i := range c.Workloads {
		w.addWorkload(&c.Workloads[i], used)
	}
	w.sortLists()
	w.ingresses = ingressStatus(c.Ingresses)
	w.blocks = ipBlocks(c.NetworkPolicies)
	w.addObjects(c.Others)
	w.pointers = pointersAt(c.Records)
	w.declared = declaredRecords(c.Others)
	w.endpoints = foreignSlices(c.EndpointSlices)
	return w
}

// usedAddresses are all that the field of any Service holds, alive or not.
func usedAddresses(services []*corev1.Service) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, svc := range services {
		for _, text := range svc.Spec.ExternalIPs {
			if a, _, err := addresspool.Canonical(text); err == nil {
				out[a] = true
			}
		}
	}
	return out
}

// carrier is a text of a workload that holds an address.
type carrier struct {
	workload *Workload
	// object is "Deployment shop/web", where is "container kafka variable ADVERTISED".
	object, where string
}

// system tells a workload that a tenant cannot have written: namespaces with the prefix kube- are Kubernetes' own.
func (w *Workload) system() bool { return strings.HasPrefix(w.Namespace, "kube-") }

func (w *Workload) object() string {
	if w.Namespace == "" {
		return w.Kind + " default/" + w.Name
	}
	return w.Kind + " " + w.Namespace + "/" + w.Name
}

func (w *around) addWorkload(load *Workload, used map[netip.Addr]bool) {
	for i := range load.Containers {
		c := &load.Containers[i]
		w.addTexts(load, c, used)
		w.addRouter(load, c)
		w.addVirtual(load, c)
		if key := publishedService(load, c); key != "" {
			w.publishers[key] = append(w.publishers[key], load.object())
		}
	}
}

// addTexts notes which arguments and variables hold an address in use. One place for each address and workload is enough.
func (w *around) addTexts(load *Workload, c *Container, used map[netip.Addr]bool) {
	note := func(text, where string) {
		for _, a := range addressesIn(text) {
			list := w.carriers[a]
			if used[a] && (len(list) == 0 || list[len(list)-1].workload != load) {
				w.carriers[a] = append(list, carrier{load, load.object(), "container " + quote(c.Name) + " " + where})
			}
		}
	}
	for i, text := range c.Args {
		note(text, "argument "+quote(flagName(c.Args, i)))
	}
	for _, name := range sortedKeys(c.Env) {
		note(c.Env[name], "variable "+quote(name))
	}
}

// flagName is the flag that an argument is or belongs to.
func flagName(args []string, i int) string {
	name, _, _ := strings.Cut(args[i], "=")
	if !strings.HasPrefix(name, "-") && i > 0 && strings.HasPrefix(args[i-1], "-") {
		name, _, _ = strings.Cut(args[i-1], "=")
	}
	return name
}

// sortLists makes the answers independent of the order of the workloads.
func (w *around) sortLists() {
	for a, list := range w.carriers {
		slices.SortStableFunc(list, func(x, y carrier) int { return strings.Compare(x.object+x.where, y.object+y.where) })
		w.carriers[a] = list
	}
	for key, list := range w.publishers {
		slices.Sort(list)
		w.publishers[key] = slices.Compact(list)
	}
	slices.SortStableFunc(w.announcers, func(x, y announcer) int { return strings.Compare(x.object, y.object) })
	slices.SortStableFunc(w.routers, func(x, y router) int { return strings.Compare(x.object, y.object) })
}

// addVirtual notes addresses that keepalived or kube-vip keeps on an interface. Only workloads of the system count: that an
// address lies on an interface makes a walk less careful, so no tenant may say so.
func (w *around) addVirtual(load *Workload, c *Container) {
	tool := ""
	for _, name := range []string{"kube-vip", "keepalived"} {
		if strings.Contains(c.Image, name) {
			tool = name
		}
	}
	if tool == "" || !load.system() || !load.HostNetwork {
		return
	}
	for _, a := range valuesOf(c) {
		if old := w.virtual[a]; old == "" || load.object() < old {
			w.virtual[a] = load.object()
		}
		if tool == "kube-vip" && c.Env["cp_enable"] == "true" {
			w.addAPI(a, load.object())
		}
	}
}

// valuesOf are the addresses in a container's variables and arguments.
func valuesOf(c *Container) []netip.Addr {
	var out []netip.Addr
	for _, name := range sortedKeys(c.Env) {
		out = append(out, addressesIn(c.Env[name])...)
	}
	for _, text := range c.Args {
		out = append(out, addressesIn(text)...)
	}
	return out
}
