package celtest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// An edit changes an object; the API server's answer to the change is what is tested.
type edit func(t *testing.T, object map[string]any)

func set(value any, path ...string) edit {
	return func(t *testing.T, object map[string]any) {
		t.Helper()
		if err := unstructured.SetNestedField(object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
}

func unset(path ...string) edit {
	return func(_ *testing.T, object map[string]any) { unstructured.RemoveNestedField(object, path...) }
}

func both(edits ...edit) edit {
	return func(t *testing.T, object map[string]any) {
		t.Helper()
		for _, e := range edits {
			e(t, object)
		}
	}
}

type ruleCase struct {
	kind string
	// before is applied to the sample to make the live object; nil with create means there is none.
	before edit
	create bool
	after  edit
	// want is a part of the message; empty means that the write is accepted.
	want string
}

func stamp(kind string) any {
	return map[string]any{"kind": kind, "step": int64(0), "attempt": int64(1), "at": "2026-11-30T09:00:00.000000Z"}
}

func retained(until string) edit {
	return set(map[string]any{"until": until, "requester": "ops", "reason": "audit"}, "spec", "retention")
}

func plan(attempt int64, text string) any {
	return map[string]any{"attempt": attempt, "plan": map[string]any{"json": text, "sha256": strings.Repeat("a", 64)}}
}

func document(size int) map[string]any {
	return map[string]any{"json": strings.Repeat("x", size), "sha256": strings.Repeat("b", 64)}
}

var ruleCases = map[string]ruleCase{
	"an address with a leading zero is no claim": {
		kind: "AddressClaim", create: true, after: claimOf("010.0.0.5", "010.0.0.5"),
		want: "canonical form",
	},
	"an IPv4-mapped address is no claim": {
		kind: "AddressClaim", create: true, after: claimOf("--ffff-192.0.2.1", "::ffff:192.0.2.1"),
		want: "canonical form",
	},
	"an upper-case IPv6 address is no claim": {
		kind: "AddressClaim", create: true, after: claimOf("2001-db8--a", "2001:DB8::A"),
		want: "canonical form",
	},
	"a zone is no part of an address": {kind: "AddressClaim", create: true, after: claimOf("fe80--1", "fe80::1%eth0"), want: "canonical form"},
	"loopback cannot be claimed":      {kind: "AddressClaim", create: true, after: claimOf("127.0.0.1", "127.0.0.1"), want: "can be routed"},
	"multicast cannot be claimed":     {kind: "AddressClaim", create: true, after: claimOf("224.0.0.9", "224.0.0.9"), want: "can be routed"},
	"broadcast cannot be claimed": {
		kind: "AddressClaim", create: true, after: claimOf("255.255.255.255", "255.255.255.255"),
		want: "can be routed",
	},
	"an IPv4 claim has the address as its name":            {kind: "AddressClaim", create: true, after: claimOf("203.0.113.10", "203.0.113.10")},
	"a trailing double colon is padded":                    {kind: "AddressClaim", create: true, after: claimOf("2001-db8--0", "2001:db8::")},
	"a leading double colon is padded":                     {kind: "AddressClaim", create: true, after: claimOf("0--5-0-1", "::5:0:1")},
	"a claim with another name is refused":                 {kind: "AddressClaim", create: true, after: claimOf("lb-1", "203.0.113.10"), want: "metadata.name must be the address"},
	"a claim in expanded spelling is refused":              {kind: "AddressClaim", create: true, after: claimOf("2001-db8-0-0-0-0-0-1", "2001:db8::1"), want: "metadata.name must be the address"},
	"the address of a claim never changes":                 {kind: "AddressClaim", after: set("2001:db8::51", "spec", "address"), want: "address is immutable"},
	"the entry point of a claim never changes":             {kind: "AddressClaim", after: set("other", "spec", "entryPoint"), want: "entryPoint is immutable"},
	"the holders of a claim may change":                    {kind: "AddressClaim", after: set([]any{}, "spec", "holders")},
	"a claim may be shared":                                {kind: "AddressClaim", create: true, after: sharedBy("shop-web-5f1c9a2e", "shop-api-00000001")},
	"a claim that is held alone may be shared from now on": {kind: "AddressClaim", after: sharedBy("shop-web-5f1c9a2e", "shop-api-00000001")},
	"the first of those who share must be one of them": {
		kind: "AddressClaim", create: true, after: sharedBy("shop-api-00000001"), want: "shares must hold the entryPoint too",
	},
	"a shared claim passes to one that shared it": {
		kind: "AddressClaim", before: sharedBy("shop-web-5f1c9a2e", "shop-api-00000001"),
		after: both(sharedBy("shop-api-00000001"), set("shop-api-00000001", "spec", "entryPoint")),
	},
	"a shared claim passes to nobody else": {
		kind: "AddressClaim", before: sharedBy("shop-web-5f1c9a2e", "shop-api-00000001"),
		after: both(sharedBy("evil"), set("evil", "spec", "entryPoint")), want: "passes to one that shared it before",
	},
	"an old address is not shared": {
		kind: "AddressClaim", create: true, after: both(sharedBy("shop-web-5f1c9a2e"), set("Old", "spec", "role")), want: "shares go with role New",
	},
	"an entry point has one share":                   {kind: "AddressClaim", create: true, after: sharedBy("shop-web-5f1c9a2e", "shop-web-5f1c9a2e"), want: "Duplicate value"},
	"a share serves something":                       {kind: "AddressClaim", create: true, after: shared([]any{}, "shop-web-5f1c9a2e"), want: "listeners"},
	"a hostname is written lower case":               {kind: "AddressClaim", create: true, after: shared(serving("TCP/80", "HTTP", "Shop.example.com"), "shop-web-5f1c9a2e"), want: "hostnames"},
	"a listener speaks what is known":                {kind: "AddressClaim", create: true, after: shared(serving("TCP/80", "QUIC", "shop.example.com"), "shop-web-5f1c9a2e"), want: "Unsupported value"},
	"a wildcard is a hostname":                       {kind: "AddressClaim", create: true, after: shared(serving("TCP/443", "TLS", "*.shop.example.com"), "shop-web-5f1c9a2e")},
	"a listener names its port in full":              {kind: "AddressClaim", create: true, after: shared(serving("80", "HTTP", "shop.example.com"), "shop-web-5f1c9a2e"), want: "port"},
	"mode RRset needs a key":                         {kind: "DNSZone", create: true, after: unset("spec", "keySecret"), want: "mode RRset needs keySecret"},
	"an empty key is no key":                         {kind: "DNSZone", create: true, after: set("", "spec", "keySecret"), want: "mode RRset needs keySecret"},
	"mode Manual needs no key":                       {kind: "DNSZone", create: true, after: both(unset("spec", "keySecret"), set("Manual", "spec", "mode"))},
	"a suffix outside the zone is refused":           {kind: "DNSZone", create: true, after: domains("shop.example.org"), want: "every suffix in domains"},
	"a suffix that only ends alike is refused":       {kind: "DNSZone", create: true, after: domains("badexample.com"), want: "every suffix in domains"},
	"the zone itself is a suffix":                    {kind: "DNSZone", create: true, after: domains("example.com")},
	"a trailing dot is refused":                      {kind: "DNSZone", create: true, after: set("example.com.", "spec", "zone"), want: "spec.zone"},
	"a primary without a port is refused":            {kind: "DNSZone", create: true, after: set("192.0.2.53", "spec", "primary"), want: "spec.primary"},
	"the zone never changes":                         {kind: "DNSZone", after: both(set("com", "spec", "zone")), want: "zone is immutable"},
	"attempt never falls":                            {kind: "EntryPoint", before: set(int64(3), "spec", "attempt"), after: set(int64(2), "spec", "attempt"), want: "attempt never falls"},
	"a retention moves forward":                      {kind: "EntryPoint", before: retained("2027-01-01T00:00:00Z"), after: retained("2027-02-01T00:00:00Z")},
	"a retention never moves back":                   {kind: "EntryPoint", before: retained("2027-02-01T00:00:00Z"), after: retained("2027-01-01T00:00:00Z"), want: "only moves forward"},
	"a retention is never taken away":                {kind: "EntryPoint", before: retained("2027-02-01T00:00:00Z"), after: unset("spec", "retention"), want: "it cannot be taken away"},
	"a retention is signed":                          {kind: "EntryPoint", after: both(retained("2027-02-01T00:00:00Z"), set("", "spec", "retention", "requester")), want: "spec.retention.requester"},
	"a policy keeps no longer than it allows":        {kind: "MigrationPolicy", create: true, after: set(map[string]any{"seconds": int64(100), "maxSeconds": int64(50)}, "spec", "retention"), want: "must not be more than retention.maxSeconds"},
	"a year is the most where the policy is silent":  {kind: "MigrationPolicy", create: true, after: set(map[string]any{"seconds": int64(31536001)}, "spec", "retention"), want: "default 31536000"},
	"attempt may grow":                               {kind: "EntryPoint", after: set(int64(2), "spec", "attempt")},
	"attempt starts at one":                          {kind: "EntryPoint", create: true, after: set(int64(0), "spec", "attempt"), want: "spec.attempt"},
	"goal Release needs an approved plan":            {kind: "EntryPoint", after: set("Release", "spec", "goal"), want: "goal Release needs approvedPlan"},
	"an empty approval approves nothing":             {kind: "EntryPoint", after: both(set("Release", "spec", "goal"), set("", "spec", "approvedPlan")), want: "goal Release needs approvedPlan"},
	"goal Stage needs no approved plan":              {kind: "EntryPoint", after: both(unset("spec", "approvedPlan"), set("Stage", "spec", "goal"))},
	"an entry point begins at Report":                {kind: "EntryPoint", create: true, after: set("Stage", "spec", "goal"), want: "goal begins at Report"},
	"an approval is a SHA-256":                       {kind: "EntryPoint", after: set("yes", "spec", "approvedPlan"), want: "spec.approvedPlan"},
	"the policy never changes":                       {kind: "EntryPoint", after: set("other", "spec", "policy"), want: "policy is immutable"},
	"strategy None is no wish":                       {kind: "EntryPoint", after: set("None", "spec", "strategy"), want: "strategy None is what the inventory finds"},
	"a member is named once":                         {kind: "EntryPoint", after: members(2, "web"), want: "Duplicate value"},
	"an entry point has members":                     {kind: "EntryPoint", after: members(0, ""), want: "spec.members"},
	"an entry point without spec is refused":         {kind: "EntryPoint", after: unset("spec"), want: "Required value"},
	"shares end with 100":                            {kind: "MigrationPolicy", create: true, after: shares(50), want: "end with 100"},
	"shares grow":                                    {kind: "MigrationPolicy", create: true, after: shares(100, 50), want: "must grow"},
	"one step of 100 is enough":                      {kind: "MigrationPolicy", create: true, after: shares(100)},
	"shares below 50 are offered":                    {kind: "MigrationPolicy", create: true, after: shares(10, 25, 50, 100)},
	"a share of 75 is not offered":                   {kind: "MigrationPolicy", create: true, after: shares(75, 100), want: "a share is 1 to 50, or 100"},
	"a share of nothing is not offered":              {kind: "MigrationPolicy", create: true, after: shares(0, 100), want: "spec.dns.sharePercents[0]"},
	"a low TTL of zero is refused":                   {kind: "MigrationPolicy", create: true, after: set(int64(0), "spec", "dns", "lowTTLSeconds"), want: "lowTTLSeconds"},
	"profile StaticService needs its Service":        {kind: "MigrationPolicy", create: true, after: set("StaticService", "spec", "gateway", "profile"), want: "staticService goes with profile"},
	"a static Service needs its profile":             {kind: "MigrationPolicy", create: true, after: set(map[string]any{"namespace": "edge", "name": "gw"}, "spec", "gateway", "staticService"), want: "staticService goes with profile"},
	"strategy Gateway needs its settings":            {kind: "MigrationPolicy", create: true, after: unset("spec", "gateway"), want: "strategies names Gateway"},
	"a freeze ends after it starts":                  {kind: "MigrationPolicy", create: true, after: freeze("2027-01-02T00:00:00Z", "2027-01-01T00:00:00Z"), want: "end must be after start"},
	"a freeze across time zones is compared by time": {kind: "MigrationPolicy", create: true, after: freeze("2027-01-01T01:00:00+02:00", "2027-01-01T00:00:00Z")},
	"autoAdvance stops at CutOver":                   {kind: "MigrationPolicy", create: true, after: set("Release", "spec", "autoAdvance"), want: "release and forget stay a human's decision"},
	"a stamp may be added":                           {kind: "MigrationRecord", before: journal("Recorded"), after: journal("Recorded", "Intent")},
	"a stamp may not be edited":                      {kind: "MigrationRecord", before: journal("Recorded", "Intent"), after: journal("Recorded", "Seen"), want: "journal is append-only"},
	"stamps may not be swapped":                      {kind: "MigrationRecord", before: journal("Recorded", "Intent"), after: journal("Intent", "Recorded"), want: "journal is append-only"},
	"a stamp may not be inserted":                    {kind: "MigrationRecord", before: journal("Recorded", "Seen"), after: journal("Recorded", "Intent", "Seen"), want: "journal is append-only"},
	"stamps may not be cut off":                      {kind: "MigrationRecord", before: journal("Recorded", "Intent"), after: journal("Recorded"), want: "journal is append-only"},
	"the journal may not be removed":                 {kind: "MigrationRecord", after: unset("spec", "journal"), want: "spec.journal: Required value"},
	"a journal has room for 64 stamps":               {kind: "MigrationRecord", create: true, after: journal(repeat("Seen", 64)...)},
	"the 65th stamp is refused":                      {kind: "MigrationRecord", create: true, after: journal(repeat("Seen", 65)...), want: "must have at most 64 items"},
	"the snapshot never changes":                     {kind: "MigrationRecord", after: set(map[string]any(document(2)), "spec", "snapshot"), want: "snapshot is immutable"},
	"the snapshot stays while it may be needed":      {kind: "MigrationRecord", after: unset("spec", "snapshot"), want: "only be removed beside a Forgotten stamp"},
	"the snapshot goes beside the Forgotten stamp":   {kind: "MigrationRecord", before: journal("Recorded"), after: both(journal("Recorded", "Forgotten"), unset("spec", "snapshot"))},
	"a forgotten snapshot does not come back":        {kind: "MigrationRecord", before: both(journal("Forgotten"), unset("spec", "snapshot")), after: both(journal("Forgotten"), set(document(2), "spec", "snapshot")), want: "cannot come back"},
	"a plan may be added":                            {kind: "MigrationRecord", before: plans(plan(1, "{}")), after: plans(plan(1, "{}"), plan(2, "{}"))},
	"a plan may not be edited":                       {kind: "MigrationRecord", before: plans(plan(1, "{}")), after: plans(plan(1, "[]")), want: "plans is append-only"},
	"plans may not be removed":                       {kind: "MigrationRecord", after: unset("spec", "plans"), want: "plans is append-only"},
	"the entry point of a record never changes":      {kind: "MigrationRecord", after: set("other", "spec", "entryPoint"), want: "entryPoint is immutable"},
	"a record that would not fit is refused": {
		kind: "MigrationRecord", create: true,
		after: both(set(document(500000), "spec", "snapshot"), plans(plan(1, strings.Repeat("x", 450000)))), want: "larger than 900000 characters",
	},
	"an observation of a node names the node":      {kind: "Observation", after: unset("status", "node"), want: "source Node needs node"},
	"an observation of a node has the node's name": {kind: "Observation", after: set("node-2", "status", "node"), want: "has the name of the node"},
	"an external prober has a name of its own":     {kind: "Observation", after: both(set("External", "status", "source"), unset("status", "node"))},
	"an observation may be created before it is":   {kind: "Observation", create: true, after: unset("status")},
	"an observation has room for 500 tuples":       {kind: "Observation", after: traffic(500)},
	"the 501st tuple is refused":                   {kind: "Observation", after: traffic(501), want: "must have at most 500 items"},
	"a report that is never stale is refused":      {kind: "Observation", after: set(int64(0), "status", "staleAfterSeconds"), want: "staleAfterSeconds"},
}

func claimOf(name, address string) edit {
	return both(set(name, "metadata", "name"), set(address, "spec", "address"))
}

func sharedBy(entryPoints ...string) edit {
	return shared(serving("TCP/80", "HTTP", "shop.example.com"), entryPoints...)
}

// shared makes entry points share the claim, each with the same listeners.
func shared(listeners []any, entryPoints ...string) edit {
	list := []any{}
	for _, name := range entryPoints {
		holder := map[string]any{"namespace": "edge", "name": "gateway", "ports": []any{"TCP/80"}}
		list = append(list, map[string]any{"entryPoint": name, "holders": []any{holder}, "listeners": listeners})
	}
	return set(list, "spec", "shares")
}

func serving(port, protocol, hostname string) []any {
	return []any{map[string]any{"port": port, "protocol": protocol, "hostnames": []any{hostname}}}
}

func domains(suffix string) edit {
	return set([]any{map[string]any{"namespace": "shop", "suffixes": []any{suffix}}}, "spec", "domains")
}

func members(n int, name string) edit {
	list := []any{}
	for range n {
		list = append(list, map[string]any{"namespace": "shop", "name": name})
	}
	return set(list, "spec", "members")
}

func shares(percents ...int64) edit {
	list := []any{}
	for _, p := range percents {
		list = append(list, p)
	}
	return set(list, "spec", "dns", "sharePercents")
}

func freeze(start, end string) edit {
	return set([]any{map[string]any{"start": start, "end": end, "reason": "a test"}}, "spec", "freezeWindows")
}

func journal(kinds ...string) edit {
	list := []any{}
	for _, k := range kinds {
		list = append(list, stamp(k))
	}
	return set(list, "spec", "journal")
}

func plans(list ...any) edit { return set(list, "spec", "plans") }

func traffic(n int) edit {
	list := []any{}
	for i := range n {
		row := map[string]any{"address": "203.0.113.10", "port": int64(i + 1), "protocol": "TCP", "established": int64(0)}
		list = append(list, row)
	}
	return set(list, "status", "traffic")
}

func repeat(kind string, n int) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(kind+",", n), ","), ",")
}

func TestTheAPIServerHoldsTheRulesOfTheKindsAndSaysTheWayOut(t *testing.T) {
	t.Parallel()
	for name, c := range ruleCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := sample(t, c.kind)
			if c.before != nil {
				c.before(t, live)
			}
			object := runtime.DeepCopyJSON(live)
			c.after(t, object)
			if c.create {
				live = nil
			}
			answer := newKind(t, c.kind).validate(object, live).ToAggregate()
			switch {
			case c.want == "" && answer != nil:
				t.Errorf("refused: %v", answer)
			case c.want != "" && (answer == nil || !strings.Contains(answer.Error(), c.want)):
				t.Errorf("got %v, want a message with %q", answer, c.want)
			}
		})
	}
}
