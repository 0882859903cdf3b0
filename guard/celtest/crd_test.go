package celtest

import (
	"context"
	"math"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"offramp.dev/config"
)

// kinds maps a kind to the file of its CRD and of its sample.
var kinds = map[string]string{
	"AddressClaim":    "addressclaims",
	"DNSZone":         "dnszones",
	"EntryPoint":      "entrypoints",
	"MigrationPolicy": "migrationpolicies",
	"MigrationRecord": "migrationrecords",
	"Observation":     "observations",
}

func TestEveryCRDIsAcceptedByTheAPIServerAndItsRulesAreWithinTheCostBudget(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			crd := internalCRD(t, kind)
			for _, err := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), crd) {
				t.Error(err)
			}
		})
	}
}

func TestEverySampleIsAccepted(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, err := range newKind(t, kind).validate(sample(t, kind), nil) {
				t.Error(err)
			}
		})
	}
}

// a kindValidator does what the API server does with a custom resource: schema, list types and CEL.
type kindValidator struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	cel        *cel.Validator
}

func newKind(t *testing.T, kind string) kindValidator {
	t.Helper()
	crd := internalCRD(t, kind)
	props := crd.Spec.Validation.OpenAPIV3Schema
	structural, err := schema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}
	schemaValidator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	return kindValidator{structural, schemaValidator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

func (k kindValidator) validate(object, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	if old == nil {
		errs = validation.ValidateCustomResource(nil, object, k.schema)
	} else {
		errs = validation.ValidateCustomResourceUpdate(nil, object, old, k.schema)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if len(errs) > 0 {
		return errs
	}
	var before any
	if old != nil {
		before = old
	}
	celErrs, _ := k.cel.Validate(context.Background(), nil, k.structural, object, before, math.MaxInt64)
	return celErrs
}

func internalCRD(t *testing.T, kind string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	parse(t, "crd/offramp.dev_"+kinds[kind]+".yaml", &crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	crd.Status.StoredVersions = []string{"v1alpha1"}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, &internal, nil); err != nil {
		t.Fatal(err)
	}
	return &internal
}

func sample(t *testing.T, kind string) map[string]any {
	t.Helper()
	var object map[string]any
	parse(t, "samples/"+strings.ToLower(kind)+".yaml", &object)
	return object
}

func parse(t *testing.T, name string, into any) {
	t.Helper()
	text, err := config.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	// The API server's decoder: whole numbers are int64, not float64.
	if err := json.Unmarshal(asJSON, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
