// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
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

// TestDecide checks what the controller does in each situation.
//   - "When a HelmRequest is created or changed"
//   - "there is no release of the name, or it was uninstalled"
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

// newRequests are HelmRequests whose release is not installed, that are suspended, or that wait for others.
//   - "Suspend or delete the HelmRequest to prevent that"
//   - "A HelmRequest is deployed when all HelmRequests in dependsOn are ready"
//   - "If a dependency becomes unready later, nothing changes for those that depend on it"
//   - "When their interval passes, their drift is corrected"
//   - "After a change of a HelmRequest, or a failure, its dependencies must be ready again"
//   - "When suspend is removed, the HelmRequest is compared with its release"
func newRequests() []decisionCase {
	return []decisionCase{
		{name: "new request", state: newState(request(func(r *v1alpha1.HelmRequest) { r.Finalizers = nil })), action: AddFinalizer},
		{name: "new request with finalizer", state: newState(), action: ReadRelease},
		{name: "no release", state: newState(stored(0, "")), action: LoadChart},
		{name: "no release, chart read", state: newState(stored(0, ""), desired("a", false)), action: Install},
		{name: "release that was uninstalled with its history kept", state: newState(stored(2, release.StatusUninstalled), desired("a", false)), action: Install},
		{name: "suspended", state: newState(spec(func(s *v1alpha1.HelmRequestSpec) { s.Suspend = true })), action: Report, phase: Suspended, reason: ReasonSuspended},
		{name: "suspended although due", state: newState(deployed, annotated, spec(func(s *v1alpha1.HelmRequestSpec) { s.Suspend = true })), action: Report, phase: Suspended, reason: ReasonSuspended},
		{name: "suspended, release uninstalled by hand", state: newState(deployed, known(0), spec(func(s *v1alpha1.HelmRequestSpec) { s.Suspend = true })), action: Report, phase: Suspended, reason: ReasonSuspended},
		{name: "resumed", state: newState(deployed, func(s *State) { setCondition(s, v1alpha1.ConditionSuspended, "True", ReasonSuspended) }), action: ReadRelease},
		{name: "dependency does not exist", state: newState(dependsOn("db"), dependency("db", Dependency{})), action: Report, phase: Waiting, reason: ReasonDependencyNotReady, says: "db (does not exist)"},
		{name: "dependency is not ready", state: newState(dependsOn("db", "mq"), dependency("db", Dependency{Exists: true, Ready: true}), dependency("mq", Dependency{Exists: true})), action: Report, phase: Waiting, reason: ReasonDependencyNotReady, says: "ready: mq"},
		{name: "dependency is not ready any more", state: newState(deployed, interval(time.Minute, time.Hour), dependsOn("db"), dependency("db", Dependency{Exists: true})), action: ReadRelease},
		{name: "changed while a dependency is not ready", state: newState(deployed, changed, dependsOn("db"), dependency("db", Dependency{Exists: true})), action: Report, phase: Waiting, reason: ReasonDependencyNotReady},
		{name: "failed, and a dependency is not ready any more", state: newState(failing, func(s *State) { s.Now = s.Now.Add(time.Minute) }, dependsOn("db"), dependency("db", Dependency{Exists: true})), action: Report, phase: Waiting, reason: ReasonDependencyNotReady},
		{name: "dependencies are ready", state: newState(dependsOn("db"), dependency("db", Dependency{Exists: true, Ready: true})), action: ReadRelease},
	}
}

// unchangedRequests are HelmRequests that were deployed or have stalled, and may have to be compared again.
//   - "the newest revision was deployed from the same package of the chart with the same values and the same order, and its status is deployed"
//   - "A stalled HelmRequest is not tried again by itself"
//   - "a change of the spec or of the annotation;"
//   - "with an interval: when it has passed, the controller reads the chart and the values"
//   - "With an interval, the controller compares the HelmRequest with its release whenever the interval has passed"
//   - "Without an interval, nothing of this happens by itself"
//   - "asks for one such comparison, including the correction of drift, when its value changes"
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

// revisions are HelmRequests whose release exists.
//   - "the newest revision has another chart, other values or another order, or is not deployed"
//   - "another program, or another HelmRequest, has installed the release"
//   - "If the package of the deployed version has another digest than when it was deployed"
//   - "The rule does not apply if digest is set"
func revisions() []decisionCase {
	owner := func(name string) change { return func(s *State) { s.Release.Request = name } }
	adopt := spec(func(s *v1alpha1.HelmRequestSpec) { s.Adopt = true })
	otherDigest := func(s *State) { s.Desired.Chart.Digest = "sha256:bb" }
	return []decisionCase{
		{name: "as desired", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("a", true)), action: Report, phase: Ready, reason: ReasonDeployed, says: "revision 3 of release shop is deployed with chart shop-1.0.0"},
		{name: "other chart, values or order", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false)), action: Upgrade},
		{name: "as desired, but failed", state: newState(deployed, changed, stored(3, release.StatusFailed), desired("a", true)), action: Upgrade},
		{name: "as desired, but the operation was killed", state: newState(deployed, func(s *State) { setCondition(s, v1alpha1.ConditionReady, "Unknown", "Upgrading") }, stored(3, release.StatusPendingUpgrade), desired("a", true)), action: Upgrade},
		{name: "killed before the status was written", state: newState(deployed, func(s *State) {
			s.Request.Status.Release.Revision = 2
			setCondition(s, v1alpha1.ConditionReady, "Unknown", "Upgrading")
		}, stored(3, release.StatusDeployed), desired("a", true)), action: Report, phase: Ready, reason: ReasonDeployed},
		{name: "release of another program", state: newState(stored(1, release.StatusDeployed), owner("")), action: Report, phase: Stalled, reason: ReasonReleaseNotOwned, says: "another program has installed it"},
		{name: "release of another request", state: newState(stored(1, release.StatusDeployed), owner("other")), action: Report, phase: Stalled, reason: ReasonReleaseNotOwned, says: "HelmRequest other"},
		{name: "release of another program, rolled back as the first operation", state: newState(stored(2, release.StatusDeployed), owner(""), adopt, rollbackTo(1, RollbackTarget{Exists: true})), action: Rollback},
		{name: "release of another program, adopted", state: newState(stored(1, release.StatusDeployed), owner(""), adopt, desired("a", false)), action: Upgrade},
		{name: "digest of the chart changed", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest), action: Report, phase: Stalled, reason: ReasonChartDigestChanged, says: "their digest was sha256:aa, and is sha256:bb"},
		{name: "digest of the chart changed, and accepted", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest, spec(func(s *v1alpha1.HelmRequestSpec) { s.Chart.Digest = "sha256:bb" })), action: Upgrade},
		{name: "digest of a chart in a ConfigMap changed", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest, spec(func(s *v1alpha1.HelmRequestSpec) {
			s.Chart = v1alpha1.ChartSource{ConfigMap: &v1alpha1.KeyReference{}}
		})), action: Upgrade},
		{name: "digest of a chart that the controller has not deployed", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest, status(func(s *v1alpha1.HelmRequestStatus) { s.Chart.Digest = "" })), action: Upgrade},
		{name: "digest of another version", state: newState(deployed, changed, stored(3, release.StatusDeployed), desired("b", false), otherDigest, func(s *State) { s.Desired.Chart.FullName = "shop-1.1.0" }), action: Upgrade},
	}
}

// byHand are HelmRequests on whose release another program has worked.
//   - "somebody else has created the newest revision"
//   - "If the newest revision is another one, somebody has upgraded or rolled back by hand"
//   - "The controller looks again every 15 seconds"
//   - "With an interval, drift is corrected to the revision that was deployed by hand"
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

// rollbacks are HelmRequests with spec.rollbackTo.
//   - "rollbackTo is set, and the newest revision does not have the content of that revision"
//   - "rollbackTo is set, and the newest revision has the content of that revision"
//   - "A revision that does not exist stalls the HelmRequest, and so does rollbackTo before the first installation"
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
