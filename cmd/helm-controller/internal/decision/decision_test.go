// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

func now() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }

// change changes a State that newState returned.
type change func(*State)

// newState returns the state of a request "shop" that has a finalizer, and was not processed yet.
func newState(changes ...change) State {
	s := State{Now: now(), Account: "deployer", Request: &v1alpha1.HelmRequest{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", Namespace: "team-a", Generation: 1, Finalizers: []string{v1alpha1.Finalizer}, CreationTimestamp: metav1.NewTime(now().Add(-time.Hour)),
		},
		Spec: v1alpha1.HelmRequestSpec{Chart: v1alpha1.ChartSource{Repository: "https://charts.example.com", Name: "shop"}},
	}}
	for _, c := range changes {
		c(&s)
	}
	return s
}

func request(f func(*v1alpha1.HelmRequest)) change { return func(s *State) { f(s.Request) } }

func spec(f func(*v1alpha1.HelmRequestSpec)) change { return func(s *State) { f(&s.Request.Spec) } }

func status(f func(*v1alpha1.HelmRequestStatus)) change {
	return func(s *State) { f(&s.Request.Status) }
}

func changed(s *State) { s.Request.Generation++ }

func deleting(s *State) {
	deleted := metav1.NewTime(now())
	s.Request.DeletionTimestamp = &deleted
	s.Request.Generation++
}

func annotated(s *State) {
	s.Request.Annotations = map[string]string{v1alpha1.ReconcileAnnotation: "now"}
}

// deployed is a request that has deployed revision 3.
func deployed(s *State) {
	st := &s.Request.Status
	st.CheckedGeneration, st.ObservedGeneration = s.Request.Generation, s.Request.Generation
	st.Release = &v1alpha1.ReleaseReference{Name: s.Request.ReleaseName(), Revision: 3}
	st.Chart = &v1alpha1.DeployedChart{Name: "shop", Version: "1.0.0", FullName: "shop-1.0.0", Digest: "sha256:aa"}
	st.LastAttempt = &v1alpha1.Attempt{Operation: "upgrade", Generation: s.Request.Generation, Revision: 3, Inputs: "a"}
	setCondition(s, v1alpha1.ConditionReady, "True", ReasonDeployed)
}

func setCondition(s *State, kind string, value metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&s.Request.Status.Conditions, metav1.Condition{Type: kind, Status: value, Reason: reason})
}

// stalled is a request whose last attempt cannot succeed.
func stalled(s *State) {
	deployed(s)
	setCondition(s, v1alpha1.ConditionReady, "False", "RenderFailed")
	setCondition(s, v1alpha1.ConditionStalled, "True", "RenderFailed")
	s.Request.Status.LastAttempt.Failures = 1
}

// failing is a request whose last attempt is repeated 20 seconds later.
func failing(s *State) {
	deployed(s)
	setCondition(s, v1alpha1.ConditionReady, "False", "DeploymentFailed")
	setCondition(s, v1alpha1.ConditionReconciling, "True", "DeploymentFailed")
	retry := metav1.NewTime(now().Add(20 * time.Second))
	s.Request.Status.LastAttempt.Failures, s.Request.Status.LastAttempt.RetryTime = 3, &retry
}

func interval(d, since time.Duration) change {
	return func(s *State) {
		checked := metav1.NewTime(now().Add(-since))
		s.Request.Spec.Interval, s.Request.Status.LastCheckTime = &metav1.Duration{Duration: d}, &checked
	}
}

// stored is the newest revision of the release of the request.
func stored(revision int64, status release.Status) change {
	return func(s *State) {
		s.Release = &Release{Revision: revision, Status: status, Request: "shop"}
	}
}

func desired(inputs string, isNewest bool) change {
	return func(s *State) {
		s.Desired = &Desired{Chart: v1alpha1.DeployedChart{FullName: "shop-1.0.0", Digest: "sha256:aa"}, Inputs: inputs, IsNewest: isNewest}
	}
}

func known(revision int64) change { return func(s *State) { s.KnownRevision = &revision } }

func dependsOn(names ...string) change {
	return spec(func(s *v1alpha1.HelmRequestSpec) { s.DependsOn = names })
}

func dependency(name string, d Dependency) change {
	return func(s *State) {
		if s.Dependencies == nil {
			s.Dependencies = map[string]Dependency{}
		}
		s.Dependencies[name] = d
	}
}

func rollbackTo(revision int64, t RollbackTarget) change {
	return func(s *State) {
		s.Request.Spec.RollbackTo = &revision
		if s.Release != nil {
			s.Release.Target = &t
		}
	}
}

func failed(f Failure) change { return func(s *State) { s.Failure = &f } }

func atomic(s *State) { s.Request.Spec.Atomic = true }

// decisionCase is a case of TestDecide. Without a reason, no status is written.
type decisionCase struct {
	name   string
	state  State
	action Action
	phase  Phase
	reason string
	after  time.Duration
	// says is part of the message.
	says string
}

func TestDecide(t *testing.T) {
	for _, cases := range [][]decisionCase{newRequests(), unchangedRequests(), refusedRequests(), revisions(), byHand(), rollbacks(), failures(), deletions()} {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.check(t) })
		}
	}
}

func (c decisionCase) check(t *testing.T) {
	before := c.state.Request.DeepCopy()
	got := Decide(c.state)
	if got.Action != c.action || got.After != c.after {
		t.Errorf("got %s after %s, want %s after %s", got.Action, got.After, c.action, c.after)
	}
	switch {
	case c.reason == "" && got.Status == nil:
	case c.reason == "" || got.Status == nil:
		t.Errorf("got status %+v, want reason %q", got.Status, c.reason)
	case got.Status.Reason != c.reason || got.Status.Phase != c.phase || !strings.Contains(got.Status.Message, c.says):
		t.Errorf("got status %+v, want phase %d, reason %s and %q", *got.Status, c.phase, c.reason, c.says)
	}
	if !equality.Semantic.DeepEqual(before, c.state.Request) {
		t.Error("Decide has changed the request")
	}
}

func newRequests() []decisionCase {
	return []decisionCase{
		{name: "new request", state: newState(request(func(r *v1alpha1.HelmRequest) { r.Finalizers = nil })), action: AddFinalizer},
		{name: "new request with finalizer", state: newState(), action: ReadRelease},
		{name: "no release", state: newState(stored(0, "")), action: LoadChart},
		{name: "no release, chart read", state: newState(stored(0, ""), desired("a", false)), action: Install},
		{name: "release that was uninstalled with its history kept", state: newState(stored(2, release.StatusUninstalled), desired("a", false)), action: Install},
		{name: "suspended", state: newState(spec(func(s *v1alpha1.HelmRequestSpec) { s.Suspend = true })), action: Report, phase: Suspended, reason: ReasonSuspended},
		{name: "suspended although due", state: newState(deployed, annotated, spec(func(s *v1alpha1.HelmRequestSpec) { s.Suspend = true })), action: Report, phase: Suspended, reason: ReasonSuspended},
		{name: "resumed", state: newState(deployed, func(s *State) { setCondition(s, v1alpha1.ConditionSuspended, "True", ReasonSuspended) }), action: ReadRelease},
		{name: "dependency does not exist", state: newState(dependsOn("db"), dependency("db", Dependency{})), action: Report, phase: Waiting, reason: ReasonDependencyNotReady, says: "db (does not exist)"},
		{name: "dependency is not ready", state: newState(dependsOn("db", "mq"), dependency("db", Dependency{Exists: true, Ready: true}), dependency("mq", Dependency{Exists: true})), action: Report, phase: Waiting, reason: ReasonDependencyNotReady, says: "ready: mq"},
		{name: "dependency is not ready any more", state: newState(deployed, interval(time.Minute, time.Hour), dependsOn("db"), dependency("db", Dependency{Exists: true})), action: ReadRelease},
		{name: "changed while a dependency is not ready", state: newState(deployed, changed, dependsOn("db"), dependency("db", Dependency{Exists: true})), action: Report, phase: Waiting, reason: ReasonDependencyNotReady},
		{name: "dependencies are ready", state: newState(dependsOn("db"), dependency("db", Dependency{Exists: true, Ready: true})), action: ReadRelease},
	}
}

func unchangedRequests() []decisionCase {
	return []decisionCase{
		{name: "unchanged", state: newState(deployed), action: Report},
		{name: "unchanged, revision known", state: newState(deployed, known(3)), action: Report},
		{name: "unchanged, but the revision is new", state: newState(deployed, known(4)), action: ReadRelease},
		{name: "unchanged, but the release is gone", state: newState(deployed, known(0)), action: ReadRelease},
		{name: "changed", state: newState(deployed, changed), action: ReadRelease},
		{name: "annotated", state: newState(deployed, annotated), action: ReadRelease},
		{name: "annotation was handled", state: newState(deployed, annotated, status(func(s *v1alpha1.HelmRequestStatus) { s.HandledRequest = "now" })), action: Report},
		{name: "interval has not passed", state: newState(deployed, interval(time.Minute, 45*time.Second)), action: Report, after: 15 * time.Second},
		{name: "interval has passed", state: newState(deployed, interval(time.Minute, time.Minute)), action: ReadRelease},
		{name: "interval of a request that was never checked", state: newState(deployed, spec(func(s *v1alpha1.HelmRequestSpec) { s.Interval = &metav1.Duration{Duration: time.Minute} })), action: ReadRelease},
		{name: "interval has passed, chart and values unchanged", state: newState(deployed, interval(time.Minute, time.Hour), stored(3, release.StatusDeployed), desired("a", true)), action: CorrectDrift, phase: Ready, reason: ReasonDeployed, after: time.Minute},
		{name: "interval has passed, new chart", state: newState(deployed, interval(time.Minute, time.Hour), stored(3, release.StatusDeployed), desired("b", false)), action: Upgrade},
		{name: "annotated, chart and values unchanged", state: newState(deployed, annotated, stored(3, release.StatusDeployed), desired("a", true)), action: CorrectDrift, phase: Ready, reason: ReasonDeployed},
		{name: "stalled", state: newState(stalled), action: Report},
		{name: "stalled, changed", state: newState(stalled, changed), action: ReadRelease},
		{name: "stalled, interval has passed", state: newState(stalled, interval(time.Minute, time.Hour)), action: ReadRelease},
		{name: "stalled, interval has passed, chart and values unchanged", state: newState(stalled, interval(time.Minute, time.Hour), stored(3, release.StatusDeployed), desired("a", false)), action: Report, after: time.Minute},
		{name: "stalled, interval has passed, new chart", state: newState(stalled, interval(time.Minute, time.Hour), stored(3, release.StatusDeployed), desired("b", false)), action: Upgrade},
		{name: "refused for a reason that is gone", state: newState(func(s *State) { setCondition(s, v1alpha1.ConditionStalled, "True", ReasonDependencyCycle) }), action: ReadRelease},
	}
}

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

func revisions() []decisionCase {
	owner := func(name string) change { return func(s *State) { s.Release.Request = name } }
	adopt := spec(func(s *v1alpha1.HelmRequestSpec) { s.Adopt = true })
	otherDigest := func(s *State) { s.Desired.Chart.Digest = "sha256:bb" }
	return []decisionCase{
		{name: "as desired", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("a", true)), action: Report, phase: Ready, reason: ReasonDeployed, says: "revision 3 of release shop is deployed with chart shop-1.0.0"},
		{name: "other chart or values", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false)), action: Upgrade},
		{name: "as desired, but failed", state: newState(deployed, changed, stored(3, release.StatusFailed), desired("a", true)), action: Upgrade},
		{name: "as desired, but the operation was killed", state: newState(deployed, func(s *State) { setCondition(s, v1alpha1.ConditionReady, "Unknown", "Upgrading") }, stored(3, release.StatusPendingUpgrade), desired("a", true)), action: Upgrade},
		{name: "killed before the status was written", state: newState(deployed, func(s *State) {
			s.Request.Status.Release.Revision = 2
			setCondition(s, v1alpha1.ConditionReady, "Unknown", "Upgrading")
		}, stored(3, release.StatusDeployed), desired("a", true)), action: Report, phase: Ready, reason: ReasonDeployed},
		{name: "release of another program", state: newState(stored(1, release.StatusDeployed), owner("")), action: Report, phase: Stalled, reason: ReasonReleaseNotOwned, says: "another program has installed it"},
		{name: "release of another request", state: newState(stored(1, release.StatusDeployed), owner("other")), action: Report, phase: Stalled, reason: ReasonReleaseNotOwned, says: "HelmRequest other"},
		{name: "release of another program, adopted", state: newState(stored(1, release.StatusDeployed), owner(""), adopt, desired("a", false)), action: Upgrade},
		{name: "digest of the chart changed", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest), action: Report, phase: Stalled, reason: ReasonChartDigestChanged, says: "sha256:bb"},
		{name: "digest of the chart changed, and accepted", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest, spec(func(s *v1alpha1.HelmRequestSpec) { s.Chart.Digest = "sha256:bb" })), action: Upgrade},
		{name: "digest of a chart in a ConfigMap changed", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest, spec(func(s *v1alpha1.HelmRequestSpec) {
			s.Chart = v1alpha1.ChartSource{ConfigMap: &v1alpha1.KeyReference{}}
		})), action: Upgrade},
		{name: "digest of another version", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest, func(s *State) { s.Desired.Chart.FullName = "shop-1.1.0" }), action: Upgrade},
	}
}

func byHand() []decisionCase {
	return []decisionCase{
		{name: "upgraded by hand", state: newState(deployed, known(4), stored(4, release.StatusDeployed)), action: Report, phase: Ready, reason: ReasonDeployedByHand, says: "revision 4"},
		{name: "upgraded by hand, then changed", state: newState(deployed, changed, stored(4, release.StatusDeployed), desired("b", false)), action: Upgrade},
		{name: "upgraded by hand, then annotated", state: newState(deployed, annotated, stored(4, release.StatusDeployed), desired("b", false)), action: Upgrade},
		{name: "upgraded by hand, interval has passed", state: newState(deployed, interval(time.Minute, time.Hour), stored(4, release.StatusDeployed)), action: CorrectDrift, phase: Ready, reason: ReasonDeployedByHand, after: time.Minute},
		{name: "failed by hand", state: newState(deployed, known(4), stored(4, release.StatusFailed)), action: Report, phase: Stalled, reason: ReasonFailedByHand},
		{name: "operation by hand is running", state: newState(deployed, known(4), stored(4, release.StatusPendingUpgrade)), action: Report, phase: Waiting, reason: ReasonOperationByHand, after: pollInterval},
		{name: "uninstalled by hand", state: newState(deployed, known(0), stored(0, "")), action: LoadChart},
		{name: "uninstalled by hand, chart read", state: newState(deployed, known(0), stored(0, ""), desired("a", false)), action: Install},
		{name: "upgraded by hand with atomic", state: newState(deployed, atomic, known(4), stored(4, release.StatusDeployed)), action: Report, phase: Ready, reason: ReasonDeployedByHand},
		{name: "rolled back because of atomic", state: newState(deployed, atomic, func(s *State) {
			s.Request.Status.Release.Revision, s.Request.Status.LastAttempt.Failures = 2, 1
			setCondition(s, v1alpha1.ConditionReady, "Unknown", "Upgrading")
		}, stored(4, release.StatusDeployed), desired("b", false)), action: Upgrade},
	}
}

func rollbacks() []decisionCase {
	return []decisionCase{
		{name: "roll back", state: newState(deployed, changed, stored(3, release.StatusDeployed), rollbackTo(1, RollbackTarget{Exists: true})), action: Rollback},
		{name: "rolled back", state: newState(deployed, changed, stored(4, release.StatusDeployed), rollbackTo(1, RollbackTarget{Exists: true, IsNewest: true})), action: Report, phase: Ready, reason: ReasonRolledBack, says: "revision 4 has the content of revision 1"},
		{name: "rollback has failed", state: newState(deployed, changed, stored(4, release.StatusFailed), rollbackTo(1, RollbackTarget{Exists: true, IsNewest: true})), action: Rollback},
		{name: "no such revision", state: newState(deployed, changed, stored(3, release.StatusDeployed), rollbackTo(9, RollbackTarget{Revisions: []int64{2, 3}})), action: Report, phase: Stalled, reason: ReasonRevisionNotFound, says: "it has 2, 3"},
		{name: "no release to roll back", state: newState(stored(0, ""), rollbackTo(1, RollbackTarget{})), action: Report, phase: Stalled, reason: ReasonRevisionNotFound, says: "it has none"},
		{name: "rolled back, then upgraded by hand", state: newState(deployed, known(5), stored(5, release.StatusDeployed), rollbackTo(1, RollbackTarget{Exists: true})), action: Report, phase: Ready, reason: ReasonDeployedByHand},
		{name: "rolled back, interval has passed", state: newState(deployed, interval(time.Minute, time.Hour), stored(3, release.StatusDeployed), rollbackTo(1, RollbackTarget{Exists: true, IsNewest: true})), action: CorrectDrift, phase: Ready, reason: ReasonRolledBack, after: time.Minute},
	}
}

func failures() []decisionCase {
	temporary := Failure{Reason: "DeploymentFailed", Message: "not ready"}
	permanent := Failure{Reason: "RenderFailed", Message: "nil pointer", IsPermanent: true}
	return []decisionCase{
		{name: "first failure", state: newState(failed(temporary)), action: Report, phase: Failing, reason: "DeploymentFailed", after: 5 * time.Second, says: "not ready"},
		{name: "fourth failure", state: newState(failing, failed(temporary)), action: Report, phase: Failing, reason: "DeploymentFailed", after: 40 * time.Second},
		{name: "first failure after a change", state: newState(failing, changed, failed(temporary)), action: Report, phase: Failing, reason: "DeploymentFailed", after: 5 * time.Second},
		{name: "permanent failure", state: newState(failed(permanent)), action: Report, phase: Stalled, reason: "RenderFailed"},
		{name: "permanent failure with interval", state: newState(interval(time.Minute, 0), failed(permanent)), action: Report, phase: Stalled, reason: "RenderFailed", after: time.Minute},
		{name: "back-off", state: newState(failing), action: Report, after: 20 * time.Second},
		{name: "back-off ends with a change", state: newState(failing, changed), action: ReadRelease},
		{name: "back-off ends with the annotation", state: newState(failing, annotated), action: ReadRelease},
		{name: "interval does not end a back-off", state: newState(failing, interval(10*time.Second, time.Hour)), action: Report, after: 20 * time.Second},
		{name: "back-off is over", state: newState(failing, func(s *State) { s.Now = s.Now.Add(20 * time.Second) }), action: ReadRelease},
		{name: "correcting drift has failed", state: newState(failing, interval(time.Hour, time.Minute), func(s *State) {
			s.Request.Status.LastAttempt.Operation, s.Now = string(CorrectDrift), s.Now.Add(20*time.Second)
		}, stored(3, release.StatusDeployed), desired("a", true)), action: CorrectDrift, phase: Ready, reason: ReasonDeployed, after: time.Hour},
	}
}

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

func TestBackoff(t *testing.T) {
	var last time.Duration
	for failures := int64(1); failures < 100; failures++ {
		got := Backoff(failures)
		if got < last || got < minBackoff || got > maxBackoff {
			t.Errorf("%d failures: %s after %s", failures, got, last)
		}
		last = got
	}
	if last != maxBackoff {
		t.Errorf("got %s at last, want %s", last, maxBackoff)
	}
}

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
