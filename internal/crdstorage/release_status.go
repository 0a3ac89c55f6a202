// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"reflect"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/render"
)

// Reasons of conditions, next to those of the phases.
const (
	reasonInProgress = "InProgress"
	reasonNotReady   = "NotReady"
	reasonWaited     = "Waited"
)

// setNewest makes v the newest version of a Release. versions is the number of its versions.
func (d *Driver) setNewest(r *releaseapi.Release, v *releaseapi.ReleaseVersion, rel *release.Release, versions int) {
	s := &r.Status
	s.LatestVersion, s.Revision = v.Name, v.Spec.Revision
	s.Counts.Versions = int64(versions)
	d.setChanged(r, v, rel)
}

// setChanged stores in a Release what has changed in one of its versions, and reports whether it differs.
func (d *Driver) setChanged(r *releaseapi.Release, v *releaseapi.ReleaseVersion, rel *release.Release) bool {
	before := r.Status
	s := &r.Status
	switch {
	case v.Status.Phase == release.StatusDeployed:
		s.CurrentVersion = v.Name
	case v.Status.Phase == release.StatusSuperseded: // by a version that becomes the current one
	case s.CurrentVersion == v.Name && v.Status.Phase != release.StatusUninstalling:
		s.CurrentVersion = ""
	}
	if v.Name == s.LatestVersion {
		s.Chart, s.Phase, s.Description = v.Spec.Chart, v.Status.Phase, v.Status.Description
		s.FirstDeployed, s.LastDeployed = v.Status.FirstDeployed, v.Status.LastDeployed
		s.Counts.Resources, s.Counts.Hooks = int64(len(render.Split(rel.Manifest))), int64(len(rel.Hooks))
		s.Conditions = slices.Clone(s.Conditions)
		setConditions(s, d.hasWaited(versionKey{v.Spec.ReleaseName, int(v.Spec.Revision)}))
	}
	return !reflect.DeepEqual(before, *s)
}

// setConditions sets the conditions for the phase of a release. waited says whether the operation has waited until the
// resources were ready.
func setConditions(s *releaseapi.ReleaseStatus, waited bool) {
	deployed := metav1.Condition{Type: releaseapi.ConditionDeployed, Status: metav1.ConditionFalse, Reason: reasonOf(s.Phase), Message: s.Description}
	ready := metav1.Condition{Type: releaseapi.ConditionReady, Status: metav1.ConditionUnknown, Reason: reasonInProgress}
	switch s.Phase {
	case release.StatusDeployed:
		deployed.Status = metav1.ConditionTrue
		ready.Reason, ready.Message = releaseapi.ReasonNotWaited, "the operation did not wait until the resources were ready"
		if waited {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, reasonWaited, "the resources were ready when the operation ended"
		}
	case release.StatusPendingInstall, release.StatusPendingUpgrade, release.StatusPendingRollback, release.StatusUninstalling:
		deployed.Status = metav1.ConditionUnknown
	default:
		ready.Status, ready.Reason = metav1.ConditionFalse, reasonNotReady
	}
	meta.SetStatusCondition(&s.Conditions, deployed)
	meta.SetStatusCondition(&s.Conditions, ready)
}

// reasonOf returns the reason of a condition for a phase, as in "PendingUpgrade".
func reasonOf(phase release.Status) string {
	var reason []byte
	upper := true
	for _, c := range []byte(phase.String()) {
		switch {
		case c == '-':
			upper = true
		case upper && 'a' <= c && c <= 'z':
			reason, upper = append(reason, c-'a'+'A'), false
		default:
			reason, upper = append(reason, c), false
		}
	}
	return string(reason)
}
