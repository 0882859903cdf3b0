package sim

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed demo.yaml
var demo []byte

// Demo is the bundled cluster: real-shaped, with invented names and documentation addresses.
func Demo() ([]runtime.Object, error) { return decodeAll(demo) }

// decodeAll reads a stream of manifests of kinds that the embedded world knows.
func decodeAll(text []byte) ([]runtime.Object, error) {
	s, err := NewScheme()
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var out []runtime.Object
	for n := 1; ; n++ {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		obj, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		out = append(out, obj)
	}
}
