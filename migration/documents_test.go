package migration

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

func TestADocumentDecodesToWhatWasEncoded(t *testing.T) {
	t.Parallel()
	svc := service(func(s *corev1.Service) { s.Labels = map[string]string{"z": "1", "a": "<&>"} })
	want := TakeSnapshot([]*corev1.Service{svc}, nil, time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.FixedZone("x", 3600)))
	doc, err := EncodeDocument(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &Snapshot{}
	if err := DecodeDocument(doc, got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	again, err := EncodeDocument(got)
	if err != nil || again != doc {
		t.Errorf("encoded again: %+v %v, want %+v", again, err, doc)
	}
}

func TestDecodeDocumentNamesWhatIsCorrupt(t *testing.T) {
	t.Parallel()
	text := func(s string) v1alpha1.Document { return v1alpha1.Document{JSON: s, SHA256: digest([]byte(s))} }
	for name, c := range map[string]struct {
		doc  v1alpha1.Document
		want string
	}{
		"an empty document":     {v1alpha1.Document{}, "json of the document is empty"},
		"no hash":               {v1alpha1.Document{JSON: "{}"}, "want 64 hex digits"},
		"a hash that is no hex": {v1alpha1.Document{JSON: "{}", SHA256: strings.Repeat("z", 64)}, "want 64 hex digits"},
		"a short hash":          {v1alpha1.Document{JSON: "{}", SHA256: "ab"}, "want 64 hex digits"},
		"one changed byte": {
			v1alpha1.Document{JSON: `{"why":"b"}`, SHA256: digest([]byte(`{"why":"a"}`))}, "document is corrupt: its json (11 bytes) has sha256",
		},
		"an upper-case hash": {
			v1alpha1.Document{JSON: "{}", SHA256: strings.ToUpper(digest([]byte("{}")))}, "document is corrupt",
		},
		"a field that this version lacks":    {text(`{"later":1}`), `unknown field "later"`},
		"a nested field this version lacks":  {text(`{"settings":{"later":1}}`), `unknown field "later"`},
		"a value of another type":            {text(`{"why":1}`), "cannot unmarshal number"},
		"a bad address":                      {text(`{"oldAddresses":["x"]}`), "unable to parse IP"},
		"truncated text":                     {text(`{"why":"a`), "unexpected EOF"},
		"a second value behind the first":    {text(`{} {}`), "goes on behind"},
		"a closing bracket behind the value": {text(`{}]`), "goes on behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := DecodeDocument(c.doc, &Plan{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestHashPlanChangesWithThePlan(t *testing.T) {
	t.Parallel()
	a, b := &Plan{Why: "a"}, &Plan{Why: "b"}
	if HashPlan(a) == HashPlan(b) || HashPlan(a) != HashPlan(&Plan{Why: "a"}) || len(HashPlan(a)) != 64 {
		t.Errorf("hashes %s and %s", HashPlan(a), HashPlan(b))
	}
	if got := HashPlan(&Plan{Objects: []json.RawMessage{json.RawMessage("{")}}); got != "" {
		t.Errorf("a plan without JSON hashes to %q, want none", got)
	}
}

func FuzzDecodeDocument(f *testing.F) {
	doc, err := EncodeDocument(&Plan{Why: "seed", Objects: []json.RawMessage{json.RawMessage(`{"a":1}`)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc.JSON, doc.SHA256)
	f.Add(`{"names":[{"name":"a","snapshot":{"a":{"addresses":["192.0.2.1"],"ttl":1}}}]}`, "")
	f.Add(`{"objects":[null,1,"x"],"claims":[{"Address":"::1"}]}`, "")
	f.Add("[[[[", "00")
	f.Fuzz(func(t *testing.T, text, hash string) {
		if err := DecodeDocument(v1alpha1.Document{JSON: text, SHA256: hash}, &Plan{}); err == nil && hash != digest([]byte(text)) {
			t.Fatalf("decoded %q under the hash %q", text, hash)
		}
		plan := &Plan{}
		if DecodeDocument(v1alpha1.Document{JSON: text, SHA256: digest([]byte(text))}, plan) != nil {
			return
		}
		doc, err := EncodeDocument(plan)
		if err != nil {
			t.Fatalf("what decoded does not encode: %v", err)
		}
		again := &Plan{}
		if err := DecodeDocument(doc, again); err != nil || HashPlan(again) != doc.SHA256 {
			t.Fatalf("round trip of %s: %v", doc.JSON, err)
		}
	})
}
