// Package v1alpha1 holds Offramp's kinds. It imports apimachinery only, so that anybody may use it.
//
// +kubebuilder:object:generate=true
// +groupName=offramp.dev
package v1alpha1
