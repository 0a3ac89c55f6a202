// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// atomicRun runs an operation through a proxy. When the operation begins to roll back,
// uninstall or clean up after its failure, it records what was printed and stored before.
type atomicRun struct {
	*harness.Helm
	proxy *fault.Proxy
	// isRecoveryRequest matches the first request of the rollback, uninstall or cleanup.
	isRecoveryRequest func(fault.Request) bool

	mu     sync.Mutex
	began  bool
	stderr string
	// stored contains the descriptions of the release that were stored before that request,
	// stderr the output before it. began is true if the request was received.
	stored []string
}

// secondRevision returns a function that matches the request with which an operation creates
// its second revision: that of the rollback of --atomic.
func secondRevision() func(fault.Request) bool {
	made := 0
	return func(what fault.Request) bool {
		if harness.CreatesRevision(what) {
			made++
		}
		return made == 2
	}
}

// isDelete matches the first request that deletes an object of the release.
func isDelete(what fault.Request) bool {
	return what.Verb == "delete" && !harness.IsStorageObject(what.Resource, what.Name)
}

// run runs helm with the arguments through the proxy.
func (u *atomicRun) run(t *testing.T, args ...string) harness.Result {
	t.Helper()
	u.proxy = u.UseProxy(t)
	path := filepath.Join(t.TempDir(), "stderr")
	stderr, err := os.Create(path)
	harness.NoError(t, err)
	defer func() { _ = stderr.Close() }()
	read := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	u.proxy.Intercept(func(_ http.ResponseWriter, _ *http.Request, what fault.Request) bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		undo := u.isRecoveryRequest(what)
		if u.began || !undo && !harness.UpdatesRevision(what) {
			return false
		}
		u.stored = append(u.stored, u.LastRevision(t, "rel").Info.Description)
		u.began, u.stderr = undo, read()
		return false
	})
	cmd := exec.CommandContext(t.Context(), binaries.Get(t).Helm, append(args, "--namespace", u.Namespace)...)
	cmd.Env, cmd.Stderr = u.Env, stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return harness.Result{Stderr: read(), ExitCode: cmd.ProcessState.ExitCode()}
}

// expectCauseFirst checks that the cause of the failure was printed and stored before the
// rollback, uninstall or cleanup began.
func (u *atomicRun) expectCauseFirst(t *testing.T, cause string) {
	t.Helper()
	if !u.began {
		t.Fatal("there was no rollback, uninstall or cleanup, so this test checks nothing")
	}
	if !strings.Contains(u.stderr, cause) {
		t.Errorf("before anything was undone, only this was said:\n%s", u.stderr)
	}
	if !slices.ContainsFunc(u.stored, func(text string) bool { return strings.Contains(text, cause) }) {
		t.Errorf("before anything was undone, only this was stored: %q", u.stored)
	}
}

// TestLifecycleAtomicUpgrade makes upgrades with --atomic fail in every phase. It checks that
// the cause is printed and stored before the rollback, and that the objects are as before the
// upgrade afterwards.
func TestLifecycleAtomicUpgrade(t *testing.T) {
	t.Parallel()
	hook := func(event string) charts.Object {
		return charts.Object{Kind: "Job", Name: "hook", Annotations: []string{"helm.sh/hook: " + event}, PodAnnotations: []string{"devcluster/pod: fail"}}
	}
	extra := []charts.Object{{Name: "marked", Layer: "extra"}, {Name: "extra", Layer: "extra"}, {Kind: "Deployment", Name: "over", Layer: "over", DependsOn: "extra", Annotations: charts.LongTimeout}, {Name: "top", Layer: "top", DependsOn: "over"}}
	for _, tt := range []struct {
		name  string
		parts []charts.Object
		cause string
		// pairs is the number of pairs of objects, one of which depends on the other, that the
		// rollback deletes.
		pairs int
	}{
		{"not ready", append(charts.FailingObjects("y"), extra[3:]...), "Deployment/app was not ready within 1s", 3},
		{"refused", append(append(charts.ThreeLayerObjects("y"), extra...), charts.Object{Name: "Not_A_Name", Layer: "end", DependsOn: "last, top"}), "Not_A_Name", 3},
		{"hook after it", append(append(charts.ThreeLayerObjects("y"), extra...), hook("post-upgrade")), "post-upgrade hooks failed", 3},
		{"hook before it", append(append(charts.ThreeLayerObjects("y"), extra...), hook("pre-upgrade")), "pre-upgrade hooks failed", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", firstRevision(t, "x"), "--wait=ordered")
			before := h.ReleaseObjects(t, "rel")
			u := &atomicRun{Helm: h, isRecoveryRequest: secondRevision()}
			h.Started = harness.Now()
			args := []string{"upgrade", "rel", charts.Write(t, tt.parts...), "--wait=ordered", "--atomic", "--timeout", "30s"}
			r := u.run(t, args...)
			if r.ExitCode != 1 {
				t.Errorf("exit code %d, want 1", r.ExitCode)
			}
			harness.ExpectContains(t, r.Stderr, tt.cause, "release rel failed, and has been rolled back due to atomic being set")
			u.expectCauseFirst(t, tt.cause)
			harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
			h.ExpectStatuses(t, "rel", "superseded failed deployed")
			if description := h.History(t, "rel")[1].Info.Description; !strings.Contains(description, tt.cause) {
				t.Errorf("the failed revision says %q", description)
			}
			if pairs := checkDeletedInReverse(t, h); pairs != tt.pairs {
				t.Errorf("%d pairs of deleted objects had an order, want %d", pairs, tt.pairs)
			}
			h.MustRun("uninstall", "rel")
		})
	}
}

// checkDeletedInReverse checks that the objects that the second revision created were deleted
// in reverse order. It returns the number of pairs of objects, one of which depends on the
// other, that it compared.
func checkDeletedInReverse(tb testing.TB, h *harness.Helm) int {
	tb.Helper()
	late := h.ReadTrace(tb).Since(h.Started)
	created := late.WrittenByHelm("create")
	failed := &harness.Order{}
	failed.AddManifest(tb, h.History(tb, "rel")[1].Manifest)
	return failed.CheckDeletions(tb, late, func(o harness.OrderedObject) bool { return slices.Contains(created, o.String()) && o.Name != "last" })
}

// TestLifecycleAtomicSkipsFailedRevision checks that --atomic rolls back to the last
// successful revision, even if a failed revision came after it.
func TestLifecycleAtomicSkipsFailedRevision(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", firstRevision(t, "1"), "--wait=ordered")
	before := h.ReleaseObjects(t, "rel")
	for _, args := range [][]string{nil, {"--atomic"}} {
		h.ExpectFailure(t, append([]string{"upgrade", "rel", charts.Write(t, charts.FailingObjects("2")...), "--wait=ordered"}, args...), "Deployment/app was not ready within 1s")
	}
	harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
	h.ExpectStatuses(t, "rel", "superseded failed failed deployed")
}

// TestLifecycleAtomicInstall checks that a failed install with --atomic prints and stores the
// cause before it uninstalls the release.
func TestLifecycleAtomicInstall(t *testing.T) {
	t.Parallel()
	u := &atomicRun{Helm: harness.New(t), isRecoveryRequest: isDelete}
	r := u.run(t, "install", "rel", charts.Write(t, charts.FailingObjects("x")...), "--wait=ordered", "--atomic")
	harness.ExpectContains(t, r.Stderr, "has been uninstalled due to atomic being set", "Deployment/app was not ready within 1s")
	u.expectCauseFirst(t, "Deployment/app was not ready within 1s")
	u.ExpectObjects(t, "rel")
	if list := u.MustRun("list", "--all", "--short").Stdout; list != "" {
		t.Errorf("there is still %s", list)
	}
}

// TestLifecycleCleanupOnFail checks that a failed upgrade with --cleanup-on-fail prints and
// stores the cause before the cleanup.
func TestLifecycleCleanupOnFail(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", firstRevision(t, "x"), "--wait=ordered")
	u := &atomicRun{Helm: h, isRecoveryRequest: isDelete}
	u.run(t, "upgrade", "rel", charts.Write(t, charts.FailingObjects("y")...), "--wait=ordered", "--cleanup-on-fail")
	u.expectCauseFirst(t, "Deployment/app was not ready within 1s")
}

// TestLifecycleAtomicRollbackFails makes an operation fail, and then its rollback, uninstall
// or cleanup too. It checks that both failures are reported, and that the release can be
// repaired.
func TestLifecycleAtomicRollbackFails(t *testing.T) {
	t.Parallel()
	chart := func(tb testing.TB) string {
		tb.Helper()
		dir := charts.Write(tb, append(charts.FailingObjects("y"), charts.Object{Name: "held", Layer: "held", DependsOn: "extra"})...)
		charts.Edit(tb, dir, "templates/all.yaml", "first, over", "first, over, held")
		charts.AddFinalizer(tb, dir, "held")
		return dir
	}
	const cause = "Deployment/app was not ready within 1s"
	for name, tt := range map[string]struct {
		args []string
		undo string
		want string
	}{
		"upgrade": {[]string{"upgrade", "--atomic"}, "an error occurred while rolling back the release", "deployed failed failed"},
		"cleanup": {[]string{"upgrade", "--cleanup-on-fail"}, "an error occurred while cleaning up resources", "deployed failed"},
		"install": {[]string{"install", "--atomic"}, "an error occurred while uninstalling the release", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			if tt.args[0] == "upgrade" {
				h.MustRun("install", "rel", firstRevision(t, "x"), "--wait=ordered")
			}
			r := h.ExpectFailure(t, append(tt.args, "rel", chart(t), "--wait=ordered", "--timeout", "20s"), cause, tt.undo, "ConfigMap/held", "ordered.example/hold")
			if first, second := strings.Index(r.Stderr, cause), strings.LastIndex(r.Stderr, "ordered.example/hold"); second < first {
				t.Errorf("the cause does not come first:\n%s", r.Stderr)
			}
			h.ExpectStatuses(t, "rel", tt.want)
			h.RemoveFinalizers(t, "ConfigMap/held")
			h.MustRun("upgrade", "--install", "rel", firstRevision(t, "z"), "--wait=ordered")
			h.ExpectManifestObjects(t, "rel")
			checkCleanedUp(t, h, "z", true)
		})
	}
}

// TestLifecycleAtomicDeleteForbidden checks the error if the account is not allowed to delete
// the objects that a failed upgrade with --atomic has created.
func TestLifecycleAtomicDeleteForbidden(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", firstRevision(t, "x"), "--wait=ordered")
	parts := append(charts.FailingObjects("y"), charts.Object{Name: "last", Layer: "end", DependsOn: "app"})
	as := h.Grant(t, "get", "list", "watch", "create", "update", "patch")
	h.ExpectFailure(t, append([]string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--atomic", "--timeout", "10s"}, as...),
		"Deployment/app was not ready within 1s", "an error occurred while rolling back the release", "is not allowed to delete ConfigMap")
	h.ExpectStatuses(t, "rel", "deployed failed")
	h.MustRun("rollback", "rel", "1")
	h.ExpectManifestObjects(t, "rel")
}
