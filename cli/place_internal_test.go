package cli

import "testing"

func TestTheLineOfAFieldIsToldOnlyWhereItIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	l := &fieldLines{hits: []int{4, 12, 14, 25}, marks: []int{6, 10, 20}}
	for name, tc := range map[string]struct{ from, want int }{
		"the first document":                           {1, 4},
		"a document without the field":                 {6, 0},
		"a document with several":                      {10, 0},
		"the last document":                            {20, 25},
		"an object behind the last field":              {26, 0},
		"an object in the middle sees only what comes": {13, 14},
	} {
		if got := l.within(tc.from); got != tc.want {
			t.Errorf("%s: line %d, want %d", name, got, tc.want)
		}
	}
	if (*fieldLines)(nil).within(1) != 0 || lastKey("spec.listeners[0].externalIPs") != "externalIPs" || lastKey("spec.externalIPs[3]") != "externalIPs" {
		t.Error("a field is not told by its last key")
	}
}
