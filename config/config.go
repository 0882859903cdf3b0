// Package config carries the manifests as files, for those who install or test without kustomize.
package config

import "embed"

// Files holds crd/*.yaml (one CustomResourceDefinition a file), guard/*.yaml (the admission policies and their
// parameters) and samples/*.yaml (one example of each kind a human writes).
//
//go:embed crd/*.yaml guard/*.yaml samples/*.yaml
var Files embed.FS
