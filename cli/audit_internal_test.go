package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"offramp.dev/inventory"
)

// auditLineOf is one event of a write of shop/web by ann, with parts replaced.
func auditLineOf(edits ...string) string {
	line := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete",` +
		`"requestURI":"/api/v1/namespaces/shop/services/web","verb":"update","user":{"username":"ann"},` +
		`"objectRef":{"resource":"services","namespace":"shop","name":"web","apiVersion":"v1"},"responseStatus":{"code":200},` +
		`"requestObject":{"spec":{"externalIPs":["192.0.2.1"]}},"requestReceivedTimestamp":"2026-02-01T10:00:00.000001Z"}` + "\n"
	return strings.NewReplacer(edits...).Replace(line)
}

// auditOf reads one log and returns its writes, what it cannot tell and what is wrong with it, each as text.
func auditOf(t *testing.T, in string) (writes, unseen, problems []string) {
	t.Helper()
	var messages bytes.Buffer
	a := &app{IOStreams: IOStreams{In: strings.NewReader(in), Err: &messages}}
	c := &collection{}
	if err := a.readAudit(t.Context(), c, []string{"-"}); err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Audited {
		writes = append(writes, describe(w))
	}
	for _, u := range c.Unseen {
		unseen = append(unseen, u.Why)
	}
	problems = strings.Split(strings.TrimSuffix(messages.String(), "\n"), "\n")
	if problems[0] == "" {
		problems = nil
	}
	if c.failed != (problems != nil) {
		t.Errorf("failed is %t with problems %q", c.failed, problems)
	}
	return writes, unseen, problems
}

func describe(w inventory.Audited) string {
	verb := "wrote"
	if w.Denied {
		verb = "was refused"
	}
	return fmt.Sprintf("%s %s %s %s at %s", w.User, verb, w.Service, strings.Join(w.Addresses, " "), w.At.Format("15:04:05"))
}

func TestAnAuditLogTellsWhoWroteWhichAddress(t *testing.T) {
	t.Parallel()
	const ann = "ann wrote shop/web 192.0.2.1 at 10:00:00"
	tests := map[string]struct {
		in                       string
		writes, unseen, problems []string
	}{
		"an empty log tells nothing": {},
		"an update":                  {in: auditLineOf(), writes: []string{ann}},
		"a create is named by its body": {
			in: auditLineOf(`"verb":"update"`, `"verb":"create"`, `"name":"web",`, ``, `{"spec"`, `{"metadata":{"name":"web"},"spec"`), writes: []string{ann},
		},
		"a create that asked for a generated name and got one": {
			in: auditLineOf(`"verb":"update"`, `"verb":"create"`, `"name":"web",`, ``, `"requestObject":{`, `"responseObject":{"metadata":{"name":"web"}},"requestObject":{"metadata":{"generateName":"w-"},`), writes: []string{ann},
		},
		"a create that asked for a generated name and was refused": {
			in:     auditLineOf(`"verb":"update"`, `"verb":"create"`, `200`, `403`, `"name":"web",`, ``, `{"spec"`, `{"metadata":{"generateName":"w-"},"spec"`),
			writes: []string{"ann was refused shop/w-* 192.0.2.1 at 10:00:00"},
		},
		"a merge patch":                   {in: auditLineOf(`"verb":"update"`, `"verb":"patch"`), writes: []string{ann}},
		"a merge patch of something else": {in: auditLineOf(`"verb":"update"`, `"verb":"patch"`, `"externalIPs":["192.0.2.1"]`, `"type":"NodePort"`)},
		"a response to a patch proves no writer of the addresses in it": {
			in: auditLineOf(`"verb":"update"`, `"verb":"patch"`, `"requestObject"`, `"responseObject"`), unseen: []string{"1 of 1 requests"},
		},
		"a JSON patch of the list":                          {in: auditLineOf(`"verb":"update"`, `"verb":"patch"`, `{"spec":{"externalIPs":["192.0.2.1"]}}`, `[{"op":"add","path":"/spec/externalIPs","value":["192.0.2.1"]}]`), writes: []string{ann}},
		"a JSON patch of one member":                        {in: auditLineOf(`"verb":"update"`, `"verb":"patch"`, `{"spec":{"externalIPs":["192.0.2.1"]}}`, `[{"op":"replace","path":"/spec/externalIPs/0","value":"192.0.2.1"}]`), writes: []string{ann}},
		"a JSON patch of the spec":                          {in: auditLineOf(`"verb":"update"`, `"verb":"patch"`, `{"spec":{"externalIPs":["192.0.2.1"]}}`, `[{"op":"replace","path":"/spec","value":{"externalIPs":["192.0.2.1"]}}]`), writes: []string{ann}},
		"a JSON patch that takes away":                      {in: auditLineOf(`"verb":"update"`, `"verb":"patch"`, `{"spec":{"externalIPs":["192.0.2.1"]}}`, `[{"op":"remove","path":"/spec/externalIPs/0"}]`)},
		"a response stands for a request that is not there": {in: auditLineOf(`"requestObject"`, `"responseObject"`), writes: []string{ann}},
		"a response does not stand for a request refused":   {in: auditLineOf(`"requestObject"`, `"responseObject"`, `200`, `403`), unseen: []string{"1 of 1 requests"}},
		"a refusal by a policy":                             {in: auditLineOf(`"code":200`, `"code":422`), writes: []string{"ann was refused shop/web 192.0.2.1 at 10:00:00"}},
		"a conflict is neither a write nor a refusal":       {in: auditLineOf(`"code":200`, `"code":409`)},
		"a server that fails is neither":                    {in: auditLineOf(`"code":200`, `"code":500`)},
		"a dry run writes nothing":                          {in: auditLineOf(`/services/web"`, `/services/web?dryRun=All"`)},
		"a status carries no addresses":                     {in: auditLineOf(`"name":"web"`, `"name":"web","subresource":"status"`)},
		"a Service of another group is none":                {in: auditLineOf(`"name":"web"`, `"name":"web","apiGroup":"serving.knative.dev"`)},
		"a request is counted once, when it is complete":    {in: auditLineOf(`ResponseComplete`, `RequestReceived`) + auditLineOf(), writes: []string{ann}},
		"whoever is impersonated wrote it, and who did is told": {
			in: auditLineOf(`"user":{`, `"impersonatedUser":{"username":"bob"},"user":{`), writes: []string{"bob (impersonated by ann) wrote shop/web 192.0.2.1 at 10:00:00"},
		},
		"an event without body is counted": {in: auditLineOf(`"requestObject":{"spec":{"externalIPs":["192.0.2.1"]}},`, ``) + auditLineOf(), writes: []string{ann}, unseen: []string{"1 of 2 requests"}},
		"of equal writes the first and the last stand": {
			in:     auditLineOf("10:00", "12:00") + auditLineOf("10:00", "11:00") + auditLineOf(),
			writes: []string{ann, "ann wrote shop/web 192.0.2.1 at 12:00:00"},
		},
		"writes come in the order of time, whatever the order of the files": {
			in: auditLineOf("10:00", "09:00", "ann", "zoe") + auditLineOf("10:00", "08:00", "ann", "bob"), writes: []string{"bob wrote shop/web 192.0.2.1 at 08:00:00", "zoe wrote shop/web 192.0.2.1 at 09:00:00"},
		},
		"the list that a webhook gets":         {in: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + strings.TrimSpace(auditLineOf()) + "]}\n", writes: []string{ann}},
		"the last line without its line break": {in: strings.TrimSpace(auditLineOf()), writes: []string{ann}},
		"a cut line does not hide the next":    {in: auditLineOf()[:200] + "\n" + auditLineOf(), writes: []string{ann}, problems: []string{"error: stdin: line 1: is no JSON object on one line"}},
		"a line that is no JSON":               {in: auditLineOf(`"stage":`, `"stage"`) + auditLineOf(), writes: []string{ann}, problems: []string{"error: stdin: line 1: does not decode"}},
		"a line of another kind":               {in: "{\"kind\":\"Service\"}\n" + auditLineOf(), writes: []string{ann}, problems: []string{"error: stdin: line 1: is no Event of audit.k8s.io"}},
		"a line longer than any event":         {in: "{" + strings.Repeat(" ", maxAuditLine) + "\n" + auditLineOf(), writes: []string{ann}, problems: []string{"error: stdin: line 1: is longer than 16 MiB"}},
		"addresses that are no texts":          {in: auditLineOf(`"192.0.2.1"`, `7`)},
		"a file that is no log is not told line by line": {
			in: strings.Repeat("hello\n", 100), problems: append(slicesRepeat("error: stdin: line", maxAuditProblems), "error: stdin: 80 more lines cannot be read"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes, unseen, problems := auditOf(t, tc.in)
			same(t, "writes", writes, tc.writes)
			same(t, "unseen", unseen, tc.unseen)
			same(t, "problems", problems, tc.problems)
		})
	}
}

func slicesRepeat(text string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = text
	}
	return out
}

// same wants every text to begin as it should.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%s %q, want each to begin as in %q", what, got, want)
	}
}

func TestATruncatedAuditLogIsUsedUpToWhereItEnds(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for range 5 {
		_, _ = io.WriteString(z, auditLineOf())
		_ = z.Flush()
	}
	writes, _, problems := auditOf(t, zipped.String()[:zipped.Len()-3])
	same(t, "writes", writes, []string{"ann wrote shop/web"})
	same(t, "problems", problems, []string{"error: stdin: line 6: cannot be read any further"})
}

func TestRotatedFilesOfADirectoryAreOneLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"audit.log": auditLineOf("10:00", "12:00", "ann", "bob"), "audit-2026.log": auditLineOf()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, c := &app{IOStreams: IOStreams{Err: io.Discard}}, &collection{}
	if err := a.readAudit(t.Context(), c, []string{dir, filepath.Join(dir, "absent")}); err != nil {
		t.Fatal(err)
	}
	if len(c.Audited) != 2 || c.Audited[0].User != "ann" || c.Audited[1].User != "bob" || !c.failed {
		t.Errorf("got %+v, failed %t; want ann before bob, and the absent file told", c.Audited, c.failed)
	}
}

func FuzzAuditLog(f *testing.F) {
	for _, seed := range []string{"", auditLineOf(), auditLineOf()[:150], "{}\n", auditLineOf(`"spec"`, `"spec":[],"spec"`), "\x1f\x8b\x08", "{\"services\":\"audit.k8s.io/\"}\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		a, c := &app{IOStreams: IOStreams{In: strings.NewReader(in), Err: io.Discard}}, &collection{}
		if err := a.readAudit(t.Context(), c, []string{"-"}); err != nil {
			t.Fatal(err)
		}
		for i, w := range c.Audited {
			if len(w.Addresses) == 0 || !strings.Contains(w.Service, "/") || i > 0 && w.At.Before(c.Audited[i-1].At) {
				t.Errorf("write %d of %+v has no address or no Service, or comes out of order", i, c.Audited)
			}
		}
	})
}
