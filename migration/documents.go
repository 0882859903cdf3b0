package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"offramp.dev/api/v1alpha1"
)

// EncodeDocument is the canonical JSON of v with the SHA-256 of that text: struct fields in their order, map keys
// sorted, no white space. The same value always gives the same text.
func EncodeDocument(v any) (v1alpha1.Document, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return v1alpha1.Document{}, fmt.Errorf("encoding %T: %w", v, err)
	}
	return v1alpha1.Document{JSON: string(text), SHA256: digest(text)}, nil
}

// DecodeDocument verifies the hash and decodes into v. It is strict: a hash that does not belong to the text, an unknown
// field (written by a newer version, which this one must not drop) and anything behind the value are errors that name
// what is corrupt. After an error, v is not to be used.
func DecodeDocument(d v1alpha1.Document, v any) error {
	if err := verifyHash(d); err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(d.JSON))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("json of the document does not decode into %T: %w", v, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("json of the document goes on behind the %T at byte %d", v, dec.InputOffset())
	}
	return nil
}

func verifyHash(d v1alpha1.Document) error {
	switch raw, err := hex.DecodeString(d.SHA256); {
	case d.JSON == "":
		return errors.New("json of the document is empty")
	case err != nil || len(raw) != sha256.Size:
		return fmt.Errorf("sha256 of the document is %.80q: want %d hex digits", d.SHA256, 2*sha256.Size)
	}
	if got := digest([]byte(d.JSON)); got != d.SHA256 {
		return fmt.Errorf("document is corrupt: its json (%d bytes) has sha256 %s, recorded is %s", len(d.JSON), got, d.SHA256)
	}
	return nil
}

// HashPlan is the SHA-256 (hex) of the plan's canonical JSON, the hash a human approves. A plan that has no JSON (an
// object in it is no JSON) has no hash: "".
func HashPlan(p *Plan) string {
	d, err := EncodeDocument(p)
	if err != nil {
		return ""
	}
	return d.SHA256
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
