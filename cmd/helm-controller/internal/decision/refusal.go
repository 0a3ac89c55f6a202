// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"slices"
	"strings"
)

// The permissions of scripts that need a decision of the administrator, and those that scripts can never
// have in a controller, which serves many users.
const networkPermission = "network"

func neverAllowed() []string { return []string{"environment", "filesystem"} }

// isRefusal reports whether refuse returns statuses with this reason. They depend on other requests and on
// options of the administrator, too, so that they can become obsolete without a change of the request.
func isRefusal(reason string) bool {
	switch reason {
	case ReasonNoServiceAccount, ReasonPermissionRefused, ReasonReleaseNameChanged, ReasonReleaseClaimed, ReasonDependencyCycle, ReasonReleaseNotOwned:
		return true
	}
	return false
}

// refuse returns why the controller must not do anything for a request; nil if it may.
func refuse(s State) *Status {
	r := s.Request
	stalled := func(reason, format string, args ...any) *Status {
		return &Status{Phase: Stalled, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if s.Account == "" {
		return stalled(ReasonNoServiceAccount, "set spec.serviceAccountName: the controller has no default service account")
	}
	if refused := s.refusedPermission(); refused != "" {
		return stalled(ReasonPermissionRefused, "%s", refused)
	}
	if was := r.Status.Release; was != nil && was.Name != r.ReleaseName() {
		return stalled(ReasonReleaseNameChanged, "release %s is installed, and spec.releaseName cannot be changed to %s: restore it, or create another HelmRequest", was.Name, r.ReleaseName())
	}
	if other := s.claimedBy(); other != "" {
		return stalled(ReasonReleaseClaimed, "HelmRequest %s is for the same release %s: choose another spec.releaseName", other, r.ReleaseName())
	}
	if cycle := findCycle(r.Name, r.Spec.DependsOn, s.Dependencies); cycle != nil {
		return stalled(ReasonDependencyCycle, "the dependencies have a cycle: %s; remove one of them from spec.dependsOn", strings.Join(cycle, " → "))
	}
	return nil
}

// refusedPermission returns why one of the accepted permissions is refused; empty if none is.
func (s State) refusedPermission() string {
	for _, p := range s.Request.Spec.AcceptPermissions {
		switch {
		case slices.Contains(neverAllowed(), p):
			return fmt.Sprintf("the controller never gives scripts the permission %q: remove it from spec.acceptPermissions", p)
		case p == networkPermission && !s.AllowsNetwork:
			return fmt.Sprintf("the administrator does not allow the permission %q in this namespace (option --allow-script-network)", p)
		}
	}
	return ""
}

// Permissions returns those of the accepted permissions that scripts can have in a controller.
func (s State) Permissions() []string {
	return slices.DeleteFunc(slices.Clone(s.Request.Spec.AcceptPermissions), func(p string) bool {
		return slices.Contains(neverAllowed(), p) || p == networkPermission && !s.AllowsNetwork
	})
}

// claimedBy returns the name of the request that has a better right to the release: the one that has deployed
// it or, if none has, the oldest one.
func (s State) claimedBy() string {
	r := s.Request
	if r.Status.Release != nil {
		return ""
	}
	for _, c := range s.Claims {
		created := r.CreationTimestamp.Time
		if c.HasRelease || c.Created.Before(created) || c.Created.Equal(created) && c.Name < r.Name {
			return c.Name
		}
	}
	return ""
}

// findCycle returns the names of a cycle of dependencies that contains a request; nil if there is none.
func findCycle(name string, dependsOn []string, all map[string]Dependency) []string {
	visited := map[string]bool{}
	var visit func(path []string, next []string) []string
	visit = func(path, next []string) []string {
		for _, n := range next {
			if n == name {
				return append(path, name)
			}
			if visited[n] {
				continue
			}
			visited[n] = true
			if cycle := visit(append(slices.Clone(path), n), all[n].DependsOn); cycle != nil {
				return cycle
			}
		}
		return nil
	}
	return visit([]string{name}, dependsOn)
}

// awaitDependencies returns which dependencies are not ready; nil if all are.
func (s State) awaitDependencies() *Status {
	var missing []string
	for _, name := range s.Request.Spec.DependsOn {
		switch d := s.Dependencies[name]; {
		case !d.Exists:
			missing = append(missing, name+" (does not exist)")
		case !d.Ready:
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &Status{Phase: Waiting, Reason: ReasonDependencyNotReady, Message: "waiting until these HelmRequests are ready: " + strings.Join(missing, ", ")}
}
