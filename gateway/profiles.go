package gateway

import (
	"slices"

	"offramp.dev/api/v1alpha1"
)

// Profiles are the built-in profiles by controller name. Each call returns a fresh map.
func Profiles() map[string]Profile {
	all := map[string]Profile{}
	for _, p := range profileTable() {
		all[p.ControllerName] = p
	}
	return all
}

// ProfileFor is the profile of a class's controller as the policy overrides it. It reports false where neither the
// table nor the policy says how the implementation binds: see ReasonUnknownGatewayClass.
func ProfileFor(controllerName string, settings *v1alpha1.GatewaySettings) (Profile, bool) {
	profile := Profiles()[controllerName]
	profile.ControllerName = controllerName
	profile = adjust(profile, settings)
	return profile, profile.Binding != ""
}

// adjust lets the admin's word win, field by field; adjusting twice changes nothing more.
func adjust(profile Profile, settings *v1alpha1.GatewaySettings) Profile {
	if settings == nil {
		return profile
	}
	if settings.Profile != "" {
		profile = rebind(profile, settings.Profile)
	}
	if settings.Override == nil {
		return profile
	}
	o := settings.Override
	replace(&profile.Merges, o.Merges)
	replace(&profile.WritesExternalIPs, o.WritesExternalIPs)
	replace(&profile.PrefersDualStack, o.PrefersDualStack)
	if len(o.Routes) > 0 {
		profile.Routes = slices.Clone(o.Routes)
	}
	if len(o.Ports) > 0 {
		profile.Ports = slices.Clone(o.Ports)
	}
	return profile
}

func replace(field *bool, with *bool) {
	if with != nil {
		*field = *with
	}
}

// rebind lets the admin's word on the binding win. Behind a static Service all Gateways share one data plane.
func rebind(profile Profile, binding v1alpha1.BindingProfile) Profile {
	if profile.Binding != binding {
		profile.Binding = binding
		profile.Source = "MigrationPolicy spec.gateway.profile"
	}
	if binding == v1alpha1.BindingStaticService {
		profile.Merges = true
	}
	return profile
}

// serves reports whether the implementation is known to serve a kind of route, or nothing is known.
func (p Profile) serves(kind string) bool {
	return len(p.Routes) == 0 || slices.Contains(p.Routes, kind)
}
