// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

// deletions are HelmRequests that are being deleted.
//   - "the HelmRequest is deleted | uninstall"
//   - "A HelmRequest is uninstalled after those that depend on it, if these are being deleted, too"
//   - "so the controller waits up to 2 seconds for the deletion of those that depend on it to begin"
//   - "If they are not deleted by then, the HelmRequest is uninstalled, and the others stay as they are"
//   - "Cycles are uninstalled without an order"
//   - "If no operation on a release was ever started, the HelmRequest is deleted immediately"
//   - "A HelmRequest whose acceptPermissions are refused stays until they are removed"
//   - "If the uninstall is then forbidden, or the service account is gone, the finalizer is removed"
func deletions() []decisionCase {
	forbidden := Failure{Reason: "Forbidden", Message: "may not", IsForbidden: true}
	terminating := func(s *State) { s.NamespaceTerminating = true }
	suspended := spec(func(s *v1alpha1.HelmRequestSpec) { s.Suspend = true })
	return []decisionCase{
		{name: "deleted", state: newState(deployed, deleting), action: ReadRelease},
		{name: "deleted, release read", state: newState(deployed, deleting, stored(3, release.StatusDeployed)), action: Uninstall},
		{name: "deleted, operation was killed", state: newState(deployed, deleting, stored(3, release.StatusUninstalling)), action: Uninstall},
		{name: "deleted without finalizer", state: newState(deployed, deleting, request(func(r *v1alpha1.HelmRequest) { r.Finalizers = nil })), action: Report},
		{name: "deleted before anything was tried", state: newState(deleting), action: RemoveFinalizer},
		{name: "deleted after only the preparation was tried", state: newState(deleting, status(func(s *v1alpha1.HelmRequestStatus) { s.LastAttempt = &v1alpha1.Attempt{Operation: "prepare"} })), action: RemoveFinalizer},
		{name: "deleted with the permission filesystem", state: newState(deployed, deleting, spec(func(s *v1alpha1.HelmRequestSpec) { s.AcceptPermissions = []string{"filesystem"} })), action: Report, phase: Stalled, reason: ReasonPermissionRefused, says: "spec.suspend"},
		{name: "deleted while suspended", state: newState(deployed, deleting, suspended), action: RemoveFinalizer},
		{name: "deleted, release is gone", state: newState(deployed, deleting, stored(0, "")), action: Uninstall},
		{name: "deleted, uninstalled", state: newState(deployed, deleting, stored(0, ""), func(s *State) { s.IsUninstalled = true }), action: RemoveFinalizer},
		{name: "deleted, release is uninstalled", state: newState(deployed, deleting, stored(3, release.StatusUninstalled)), action: RemoveFinalizer},
		{name: "deleted, release belongs to another request", state: newState(deployed, deleting, stored(3, release.StatusDeployed), func(s *State) { s.Release.Request = "other" }), action: RemoveFinalizer},
		{name: "deleted, no service account", state: newState(deployed, deleting, func(s *State) { s.Account = "" }), action: Report, phase: Stalled, reason: ReasonNoServiceAccount, says: "spec.suspend"},
		{name: "deleted with its dependents", state: newState(deployed, deleting, func(s *State) { s.Dependents = []Dependent{{"web", true}, {"api", false}} }), action: Report, phase: Waiting, reason: ReasonDependentNotUninstalled, says: "web"},
		{name: "deleted with its dependents in a cycle", state: newState(deployed, deleting, dependsOn("web"), dependency("web", Dependency{Exists: true, DependsOn: []string{"shop"}}), func(s *State) { s.Dependents = []Dependent{{"web", true}} }), action: ReadRelease},
		{name: "deleted before its dependents", state: newState(deployed, deleting, func(s *State) { s.Dependents = []Dependent{{"web", false}} }), action: Report, after: dependentsGracePeriod},
		{name: "deleted without its dependents", state: newState(deployed, deleting, func(s *State) { s.Dependents, s.Now = []Dependent{{"web", false}}, s.Now.Add(dependentsGracePeriod) }), action: ReadRelease},
		{name: "deleted, failed", state: newState(deployed, deleting, failed(forbidden)), action: Report, phase: Failing, reason: "Forbidden", after: 5 * time.Second, says: "spec.suspend"},
		{name: "deleted, failed with its namespace", state: newState(deployed, deleting, failed(forbidden), terminating), action: RemoveFinalizer},
		{name: "deleted, failed otherwise with its namespace", state: newState(deployed, deleting, failed(Failure{Reason: "HookFailed"}), terminating), action: Report, phase: Failing, reason: "HookFailed", after: 5 * time.Second},
		{name: "deleted, permanent failure", state: newState(deployed, deleting, failed(Failure{Reason: "ScriptPermissionMissing", IsPermanent: true})), action: Report, phase: Stalled, reason: "ScriptPermissionMissing"},
		{name: "deleted during a back-off of an upgrade", state: newState(failing, deleting), action: ReadRelease},
		{name: "deleted during a back-off of the uninstall", state: newState(deleting, failing, status(func(s *v1alpha1.HelmRequestStatus) { s.LastAttempt.Operation = string(Uninstall) })), action: Report, after: 20 * time.Second},
	}
}
