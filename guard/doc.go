// Package guard is the product's half of the admission policies in config/guard: the names by which controller and
// policies refer to each other, and the data of the policies' parameter object. It is pure. The policies themselves are
// manifests, evaluated in tests by the API server's own evaluator (module celtest).
package guard
