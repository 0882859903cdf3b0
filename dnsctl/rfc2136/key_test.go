package rfc2136_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"offramp.dev/dnsctl/rfc2136"
)

func TestAKeyNeverPrintsItsSecret(t *testing.T) {
	t.Parallel()
	before := rfc2136.Key{Name: "j", Algorithm: "hmac-sha256", Secret: "c2VjcmV0IG9mIG9sZA=="}
	key := rfc2136.Key{Name: "k", Algorithm: "hmac-sha256", Secret: "c2VjcmV0IHNlY3JldA==", Previous: &before}
	raw, err := json.Marshal(map[string]any{"key": key, "pointer": &key})
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("Writing", "key", key)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("Writing", "key", key)
	for how, text := range map[string]string{
		"String": key.String(), "%v": fmt.Sprintf("%v", key), "%+v": fmt.Sprintf("%+v", key), "%#v": fmt.Sprintf("%#v", key),
		"%x": fmt.Sprintf("%x", key), "%q": fmt.Sprintf("%q", key), "%s of a pointer": fmt.Sprintf("%s", &key),
		"%v of a slice": fmt.Sprintf("%v", []rfc2136.Key{key}), "JSON": string(raw), "slog": logged.String(),
	} {
		if strings.Contains(text, "c2Vj") || strings.Contains(text, fmt.Sprintf("%x", "c2Vj")) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
		if how == "String" && !strings.Contains(text, "hmac-sha256") {
			t.Errorf("String does not show the algorithm: %s", text)
		}
	}
}

func TestTheDataOfASecretBecomesAKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data  map[string]string
		wants string // part of the error; empty: a key
	}{
		"name, algorithm and secret":        {data: map[string]string{"name": "k.example", "algorithm": "hmac-sha512", "secret": "YWJj"}},
		"a line feed at the end is dropped": {data: map[string]string{"name": "k\n", "algorithm": "hmac-sha384\n", "secret": "YWJj\n"}},
		"no algorithm means hmac-sha256":    {data: map[string]string{"name": "k", "secret": "YWJj"}},
		"no name":                           {data: map[string]string{"secret": "YWJj"}, wants: `"name"`},
		"a name with a blank":               {data: map[string]string{"name": "a b", "secret": "YWJj"}, wants: `"name"`},
		"no secret":                         {data: map[string]string{"name": "k"}, wants: `"secret"`},
		"a secret that is no base64":        {data: map[string]string{"name": "k", "secret": "hunter2!"}, wants: `"secret"`},
		"the key before it too":             {data: map[string]string{"name": "k", "secret": "YWJj", "previous-name": "j", "previous-secret": "YWJj"}},
		"half of the key before it": {
			data: map[string]string{"name": "k", "secret": "YWJj", "previous-name": "j"}, wants: `previous key: key field "secret"`,
		},
		"MD5": {
			data:  map[string]string{"name": "k", "algorithm": "hmac-md5", "secret": "YWJj"},
			wants: `"algorithm"`,
		},
		"SHA-1": {
			data:  map[string]string{"name": "k", "algorithm": "hmac-sha1", "secret": "YWJj"},
			wants: `"algorithm"`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := map[string][]byte{}
			for k, v := range tt.data {
				data[k] = []byte(v)
			}
			key, err := rfc2136.KeyFromData(data)
			if tt.wants == "" {
				if err != nil || key.Name == "" || key.Algorithm == "" || key.Secret != "YWJj" {
					t.Fatalf("got %v (%v)", key, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wants) || strings.Contains(err.Error(), "hunter2") {
				t.Fatalf("got %v, want an error that names %s and no value", err, tt.wants)
			}
		})
	}
}
