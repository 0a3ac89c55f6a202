// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"slices"
	"testing"
	"time"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

// refusedRequests are HelmRequests for which the controller must not do anything.
//   - "for NoServiceAccount, PermissionRefused, ReleaseNameChanged, ReleaseClaimed, ReleaseNotOwned and DependencyCycle"
//   - "it belongs to the one that has deployed it or, if none has, to the oldest"
//   - "HelmRequests that depend on each other in a cycle are stalled, and the message names the cycle"
//   - "Without the flag, it is refused (NoServiceAccount)"
//   - "network is refused unless --allow-script-network names the namespace"
func refusedRequests() []decisionCase {
	permissions := func(names ...string) change {
		return spec(func(s *v1alpha1.HelmRequestSpec) { s.AcceptPermissions = names })
	}
	claim := func(c Claim) change { return func(s *State) { s.Claims = append(s.Claims, c) } }
	return []decisionCase{
		{name: "no service account", state: newState(func(s *State) { s.Account = "" }), action: Report, phase: Stalled, reason: ReasonNoServiceAccount},
		{name: "no finalizer for refused requests", state: newState(func(s *State) { s.Account, s.Request.Finalizers = "", nil }), action: Report, phase: Stalled, reason: ReasonNoServiceAccount},
		{name: "permission filesystem", state: newState(permissions("cluster", "filesystem")), action: Report, phase: Stalled, reason: ReasonPermissionRefused, says: `"filesystem"`},
		{name: "permission environment", state: newState(permissions("environment")), action: Report, phase: Stalled, reason: ReasonPermissionRefused, says: `"environment"`},
		{name: "permission network", state: newState(permissions("network")), action: Report, phase: Stalled, reason: ReasonPermissionRefused, says: "--allow-script-network"},
		{name: "permission network where allowed", state: newState(permissions("network"), func(s *State) { s.AllowsNetwork = true }), action: ReadRelease},
		{name: "permission cluster", state: newState(permissions("cluster")), action: ReadRelease},
		{name: "release name changed", state: newState(deployed, changed, spec(func(s *v1alpha1.HelmRequestSpec) { s.ReleaseName = "other" })), action: Report, phase: Stalled, reason: ReasonReleaseNameChanged, says: "release shop is installed"},
		{name: "release name changed before the installation", state: newState(changed, spec(func(s *v1alpha1.HelmRequestSpec) { s.ReleaseName = "other" })), action: ReadRelease},
		{name: "older request for the same release", state: newState(claim(Claim{Name: "old", Created: now().Add(-2 * time.Hour)})), action: Report, phase: Stalled, reason: ReasonReleaseClaimed, says: "HelmRequest old"},
		{name: "younger request for the same release", state: newState(claim(Claim{Name: "young", Created: now()})), action: ReadRelease},
		{name: "request of the same age with a smaller name", state: newState(claim(Claim{Name: "a", Created: now().Add(-time.Hour)})), action: Report, phase: Stalled, reason: ReasonReleaseClaimed},
		{name: "request of the same age with a larger name", state: newState(claim(Claim{Name: "z", Created: now().Add(-time.Hour)})), action: ReadRelease},
		{name: "younger request that has the release", state: newState(claim(Claim{Name: "young", Created: now(), HasRelease: true})), action: Report, phase: Stalled, reason: ReasonReleaseClaimed},
		{name: "older request, but this one has the release", state: newState(deployed, claim(Claim{Name: "old", Created: now().Add(-2 * time.Hour)})), action: Report},
		{name: "depends on itself", state: newState(dependsOn("shop")), action: Report, phase: Stalled, reason: ReasonDependencyCycle, says: "shop → shop"},
		{name: "cycle", state: newState(dependsOn("a"), dependency("a", Dependency{Exists: true, DependsOn: []string{"x", "b"}}), dependency("x", Dependency{}), dependency("b", Dependency{Exists: true, DependsOn: []string{"shop"}})), action: Report, phase: Stalled, reason: ReasonDependencyCycle, says: "shop → a → b → shop"},
		{name: "cycle of others", state: newState(dependsOn("a"), dependency("a", Dependency{Exists: true, Ready: true, DependsOn: []string{"b"}}), dependency("b", Dependency{Exists: true, DependsOn: []string{"a"}})), action: ReadRelease},
	}
}

// TestPermissions checks which permissions scripts get.
//   - "The permissions filesystem and environment are always refused"
func TestPermissions(t *testing.T) {
	for name, c := range map[string]struct {
		accepted, want []string
		network        bool
	}{
		"none":               {},
		"cluster":            {accepted: []string{"cluster"}, want: []string{"cluster"}},
		"never allowed":      {accepted: []string{"filesystem", "cluster", "environment"}, want: []string{"cluster"}, network: true},
		"network":            {accepted: []string{"network"}, want: []string{"network"}, network: true},
		"network is refused": {accepted: []string{"network"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(func(s *State) { s.Request.Spec.AcceptPermissions, s.AllowsNetwork = c.accepted, c.network })
			if got := s.Permissions(); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
