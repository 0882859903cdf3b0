package v1alpha1

// Annotations, labels and names that Offramp reads or writes on other people's objects.
const (
	// AnnotationPolicy opts a Service in and names the MigrationPolicy. Written by the tenant.
	AnnotationPolicy = "offramp.dev/policy"
	// AnnotationStrategy is a tenant's hint; the policy decides.
	AnnotationStrategy = "offramp.dev/strategy"
	// AnnotationHostnames adds candidate names, comma separated. It grants nothing.
	AnnotationHostnames = "offramp.dev/hostnames"
	// AnnotationEntryPoint names the EntryPoint a Service belongs to. Written once by the controller.
	AnnotationEntryPoint = "offramp.dev/entrypoint"
	// AnnotationReleased is the proof that Offramp removed the field: "<record>/<attempt>". Written in the same patch.
	AnnotationReleased = "offramp.dev/released"
	// AnnotationPlan is the hash of the plan a target object was made from.
	AnnotationPlan = "offramp.dev/plan"
	// LabelEntryPoint marks the objects that Offramp created for an entry point (names longer than 63 are hashed).
	LabelEntryPoint = "offramp.dev/entrypoint"
	// ClassAdopted is the loadBalancerClass of Services whose own address was adopted in place.
	ClassAdopted = "offramp.dev/adopted"
	// FieldManager owns what Offramp applies.
	FieldManager = "offramp"
	// Finalizer keeps claims and records until the walk they belong to has ended.
	Finalizer = "offramp.dev/walk"
)
