// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

// keepHint says how to delete a request without uninstalling its release.
const keepHint = "to delete the HelmRequest without uninstalling the release, set spec.suspend"

func decideDeletion(s State) Decision {
	r := s.Request
	switch {
	case !slices.Contains(r.Finalizers, v1alpha1.Finalizer):
		return Decision{Action: Report}
	case r.Spec.Suspend, s.IsUninstalled, s.hasInstalledNothing():
		return Decision{Action: RemoveFinalizer}
	case s.Account == "":
		return report(&Status{Phase: Stalled, Reason: ReasonNoServiceAccount, Message: "the release cannot be uninstalled without a service account: set spec.serviceAccountName; " + keepHint}, 0)
	}
	if refused := s.refusedPermission(); refused != "" { // of the scripts that run before and after an uninstall
		return report(&Status{Phase: Stalled, Reason: ReasonPermissionRefused, Message: refused + "; " + keepHint}, 0)
	}
	if waiting := s.awaitDependents(); waiting != nil {
		return *waiting
	}
	if after := s.timeUntilRetry(); after > 0 && r.Status.LastAttempt.Operation == string(Uninstall) {
		return Decision{Action: Report, After: after}
	}
	if s.Release == nil {
		return Decision{Action: ReadRelease}
	}
	rel := s.Release
	if rel.Revision > 0 && (rel.Status == release.StatusUninstalled || rel.Request != r.Name) {
		return Decision{Action: RemoveFinalizer}
	}
	// Even without a revision, an installation that was killed may have left something.
	return Decision{Action: Uninstall}
}

// hasInstalledNothing reports whether no operation on the release was ever started.
func (s State) hasInstalledNothing() bool {
	a := s.Request.Status.LastAttempt
	return s.Request.Status.Release == nil && (a == nil || a.Revision == 0)
}

// dependentsGracePeriod is the time for which the deletion of a request waits for the deletion of its dependents to
// begin, because "kubectl delete" deletes one object after the other.
const dependentsGracePeriod = 2 * time.Second

// awaitDependents returns the decision to wait for dependents that are uninstalled first; nil if there are none.
func (s State) awaitDependents() *Decision {
	r := s.Request
	if findCycle(r.Name, r.Spec.DependsOn, s.Dependencies) != nil {
		return nil
	}
	var deleted []string
	for _, d := range s.Dependents {
		if d.IsDeleted {
			deleted = append(deleted, d.Name)
		}
	}
	if len(deleted) > 0 {
		d := report(&Status{Phase: Waiting, Reason: ReasonDependentNotUninstalled, Message: "waiting until these HelmRequests, which depend on this one, are uninstalled: " + strings.Join(deleted, ", ")}, 0)
		return &d
	}
	if left := r.DeletionTimestamp.Add(dependentsGracePeriod).Sub(s.Now); len(s.Dependents) > 0 && left > 0 {
		return &Decision{Action: Report, After: left}
	}
	return nil
}

// decideFailedDeletion decides about a request that is being deleted, after its release could not be read or
// uninstalled. If the namespace is being deleted, its roles may be gone already. Then, the namespaced objects of
// the release are deleted with it, and the request must not block that.
func decideFailedDeletion(s State) Decision {
	if s.NamespaceTerminating && s.Failure.IsForbidden {
		return Decision{Action: RemoveFinalizer}
	}
	message := fmt.Sprintf("%s; %s", s.Failure.Message, keepHint)
	if s.Failure.IsPermanent {
		return report(&Status{Phase: Stalled, Reason: s.Failure.Reason, Message: message}, 0)
	}
	return report(&Status{Phase: Failing, Reason: s.Failure.Reason, Message: message}, Backoff(s.failures()+1))
}
