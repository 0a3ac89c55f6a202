// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// recordFile is the name of the order record among the files of a stored chart.
const recordFile = ".ordered-helm/record.json"

// TestRecovery checks that the operation after one that was killed takes over the release,
// prints which operation was interrupted, and does not rewrite objects that are as declared.
func TestRecovery(t *testing.T) {
	t.Parallel()
	upgraded := slices.Clip([]string{"upgrade", "rel", "--wait=ordered"})
	for name, tt := range map[string]struct {
		killed   func(*testing.T, *harness.Helm)
		next     []string // with the chart of value 2, if it is an upgrade
		statuses string
		said     string
		// untouched contains the objects that the second operation must not write, because the
		// killed operation had already written them.
		untouched []string
	}{
		"install, then upgrade --install": {killInstall, append(upgraded, "--install"), "superseded deployed", "is pending-install, but helm install on ", []string{"ConfigMap/first"}},
		"install, then uninstall":         {killInstall, []string{"uninstall", "rel"}, "", "is pending-install, but helm install on ", nil},
		"upgrade, then upgrade":           {killUpgrade, upgraded, "superseded failed deployed", "is pending-upgrade, but helm upgrade on ", []string{"ConfigMap/first"}},
		"upgrade, then a preview":         {killUpgrade, append(upgraded, "--dry-run=server"), "deployed pending-upgrade", "", nil},
		"upgrade, then rollback":          {killUpgrade, []string{"rollback", "rel"}, "superseded failed deployed", "is pending-upgrade, but helm upgrade on ", []string{"ConfigMap/last"}},
		"upgrade, then uninstall":         {killUpgrade, []string{"uninstall", "rel"}, "", "is pending-upgrade, but helm upgrade on ", nil},
		"plain upgrade, then upgrade":     {killPlainUpgrade, upgraded, "superseded failed deployed", "is pending-upgrade, but helm upgrade on ", []string{"ConfigMap/first"}},
		"uninstall, then uninstall":       {killUninstall, []string{"uninstall", "rel"}, "", "is uninstalling, but helm uninstall on ", nil},
		"uninstall, then upgrade":         {killUninstall, upgraded, "superseded deployed", "is uninstalling, but helm uninstall on ", nil},
		"uninstall, then rollback":        {killUninstall, []string{"rollback", "rel", "1"}, "failed deployed", "is uninstalling, but helm uninstall on ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			tt.killed(t, h)
			if slices.Contains(tt.next, "upgrade") {
				tt.next = append(slices.Clone(tt.next), charts.ThreeLayers(t, "2"))
			}
			h.Started = harness.Now()
			harness.ExpectContains(t, h.MustRun(tt.next...).Stderr, tt.said)
			done := h.ReadTrace(t).Since(h.Started)
			if runs := h.ReadTrace(t).HelmWrites("Job/once", "create"); len(runs) > 1 {
				t.Errorf("a hook that had succeeded ran again: %+v", runs)
			}
			for _, id := range tt.untouched {
				if writes := done.HelmWrites(id, harness.ChangeVerbs...); len(writes) > 0 {
					t.Errorf("%s was written again: %+v", id, writes)
				}
			}
			if tt.statuses == "" {
				h.ExpectObjects(t, "rel")
				h.ExpectEmptyNamespace(t)
				return
			}
			h.ExpectStatuses(t, "rel", tt.statuses)
			if tt.said != "" {
				h.ExpectManifestObjects(t, "rel")
			}
			for _, rel := range h.History(t, "rel") {
				if held := strings.Contains(string(harness.Record(rel)), `"lease"`); held != (tt.said == "") && rel.Version > 1 {
					t.Errorf("revision %d is held: %v", rel.Version, held)
				}
			}
		})
	}
}

func killInstall(t *testing.T, h *harness.Helm) {
	t.Helper()
	h.KillAt(t, "app:app applied", "install", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait=ordered")
	expectLocked(t, h, "pending-install", "install")
}

func killUpgrade(t *testing.T, h *harness.Helm) {
	t.Helper()
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.KillAt(t, "app:app applied", "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait=ordered")
	expectLocked(t, h, "pending-upgrade", "upgrade")
}

func killPlainUpgrade(t *testing.T, h *harness.Helm) {
	t.Helper()
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.KillAt(t, "to become ready", "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait")
	expectLocked(t, h, "pending-upgrade", "upgrade")
}

func killUninstall(t *testing.T, h *harness.Helm) {
	t.Helper()
	dir := charts.ThreeLayers(t, "1")
	charts.AddFinalizer(t, dir, "last")
	hook := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, annotations: {helm.sh/hook: pre-delete, helm.sh/hook-delete-policy: hook-succeeded}}\n" +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
	harness.NoError(t, os.WriteFile(filepath.Join(dir, "templates", "hooks.yaml"), []byte(hook), 0o600))
	h.MustRun("install", "rel", dir, "--wait=ordered")
	h.KillAt(t, "app:last ConfigMap/last: Terminating", "uninstall", "rel")
	expectLocked(t, h, "uninstalling", "uninstall")
	h.RemoveFinalizers(t, "ConfigMap/last")
}

// expectLocked checks what `helm status` prints about a release whose operation was killed,
// and that stock Helm can read the release.
func expectLocked(tb testing.TB, h *harness.Helm, status, operation string) {
	tb.Helper()
	harness.ExpectContains(tb, h.MustRun("status", "rel").Stdout, "STATUS: "+status, "LOCK HOLDER: helm "+operation+" on ", "it is no longer alive")
	var printed struct {
		Info   release.Info
		Holder struct {
			Operation string
			PID       int
			Dead      bool
		}
	}
	harness.NoError(tb, json.Unmarshal([]byte(h.MustRun("status", "rel", "-o", "json").Stdout), &printed))
	if who := printed.Holder; who.Operation != operation || who.PID == 0 || !who.Dead || printed.Info.Status.String() != status {
		tb.Errorf("status prints %+v", printed)
	}
	for _, args := range [][]string{{"status", "rel"}, {"get", "all", "rel"}, {"list", "--all", "-o", "json"}} {
		if r := h.RunStock(tb, args...); !strings.Contains(r.Stdout, status) && args[0] != "get" || r.ExitCode != 0 || strings.Contains(r.Stdout, "lease") {
			tb.Errorf("stock helm %v: exit code %d\n%s%s", args, r.ExitCode, r.Stdout, r.Stderr)
		}
	}
}

// rewriteRecord changes the stored order record of the last revision.
func rewriteRecord(tb testing.TB, h *harness.Helm, name string, change func(record map[string]any)) {
	tb.Helper()
	rel := h.LastRevision(tb, name)
	var record map[string]any
	harness.NoError(tb, json.Unmarshal(harness.Record(rel), &record))
	change(record)
	data, err := json.Marshal(record)
	harness.NoError(tb, err)
	rel.Chart.Files = append(slices.DeleteFunc(rel.Chart.Files, func(f *chart.File) bool { return f.Name == recordFile }), &chart.File{Name: recordFile, Data: data})
	harness.NoError(tb, h.Storage().Update(rel))
}

// moveHolderToOtherMachine changes the lock holder in an order record to a process on another
// machine.
func moveHolderToOtherMachine(record map[string]any) {
	lease, _ := record["lease"].(map[string]any)
	lease["birth"], lease["host"] = "another start of another machine", "elsewhere"
}

// TestTakeoverFromOtherMachine checks that a release is taken over from a lock holder on
// another machine if the lock holder sends no heartbeat for the duration of its lease.
func TestTakeoverFromOtherMachine(t *testing.T) {
	t.Parallel()
	harness.RequireSecrets(t, "the test rewrites the lock in the order record")
	h := harness.New(t)
	killUpgrade(t, h)
	rewriteRecord(t, h, "rel", moveHolderToOtherMachine)
	said := h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered", "--timeout", "2m").Stderr
	harness.ExpectContains(t, said, "release rel is locked by helm upgrade on elsewhere", "checking for up to ", "is pending-upgrade, but helm upgrade on elsewhere", "taking over the release")
	h.ExpectStatuses(t, "rel", "superseded failed deployed")
	h.ExpectManifestObjects(t, "rel")
}

// TestLiveLockIsNotTakenOver checks that a release is not taken over while its lock holder is
// alive, with any value of --takeover, and that the operation of the lock holder succeeds.
func TestLiveLockIsNotTakenOver(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	p := h.Start(t, "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait=ordered")
	p.AwaitLine(t, "app:app applied")
	before := h.ReleaseObjects(t, "rel")
	var others []*harness.Process
	for _, takeover := range []string{"auto", "never", "force"} {
		for _, args := range [][]string{{"upgrade", "rel", charts.ThreeLayers(t, "3")}, {"rollback", "rel"}, {"uninstall", "rel"}} {
			others = append(others, h.Start(t, append(args, "--takeover="+takeover)...))
		}
	}
	for _, other := range others {
		other.ExpectExit(t, 1, "revision 2 of release rel is pending-upgrade; locked by helm upgrade on ", "wait for it to finish, or stop that process")
	}
	harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
	p.Signal(t, syscall.SIGTERM)
	p.ExpectExit(t, 1)
	h.ExpectStatuses(t, "rel", "deployed failed")
}

// TestSuspendedLockHolder suspends a process until another one has taken over its release. It
// checks that the process, when it resumes, detects that it has lost the lock, and neither
// changes nor records anything.
func TestSuspendedLockHolder(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	p := h.Start(t, "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait=ordered", "--atomic")
	p.AwaitLine(t, "app:app applied")
	p.Signal(t, syscall.SIGSTOP)
	harness.ExpectContains(t, h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered", "--timeout", "2m").Stderr, "taking over the release")
	before := h.ReleaseObjects(t, "rel")
	p.Signal(t, syscall.SIGCONT)
	p.ExpectExit(t, 1, "release rel was taken over by ", "this operation stopped at revision 2: it records nothing more, and does not roll back or clean up")
	harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
	h.ExpectStatuses(t, "rel", "superseded failed deployed")
}

// TestStockHelmChangesLockedRelease lets stock Helm, which ignores locks, change a release
// during an operation. It checks that the operation stops, and that the next one succeeds.
func TestStockHelmChangesLockedRelease(t *testing.T) {
	t.Parallel()
	for verb, says := range map[string]string{
		"rollback":  "release rel was taken over by another operation; this operation stopped at revision 2",
		"uninstall": "the stored release rel, revision 2, no longer exists",
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.ExpectFailureWhile(t, "app:app applied", func() {
				args := map[string][]string{"rollback": {"rollback", "rel", "1"}, "uninstall": {"uninstall", "rel"}}[verb]
				if r := h.RunStock(t, args...); r.ExitCode != 0 {
					t.Errorf("stock helm %s: exit code %d\n%s", verb, r.ExitCode, r.Stderr)
				}
			}, []string{"upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait=ordered", "--atomic"}, says)
			if verb == "uninstall" {
				h.ExpectObjects(t, "rel")
				h.ExpectEmptyNamespace(t)
				return
			}
			h.ExpectStatuses(t, "rel", "superseded failed deployed")
			h.Repair(t, "upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
		})
	}
}

// TestPendingReleaseOfStockHelm checks that a release that stock Helm has left pending is
// taken over only with --takeover=force, because stock Helm may still be running.
func TestPendingReleaseOfStockHelm(t *testing.T) {
	t.Parallel()
	next := func(t *testing.T) map[string][]string {
		return map[string][]string{
			"upgrade": {"upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered"}, "upgrade --install": {"upgrade", "rel", charts.ThreeLayers(t, "2"), "--install"},
			"rollback": {"rollback", "rel", "1"}, "uninstall": {"uninstall", "rel"},
		}
	}
	for name := range next(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			p := h.StartStock(t, "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait")
			for h.Get(t, "Deployment/app").GetGeneration() == 1 && t.Context().Err() == nil {
				continue
			}
			p.Kill()
			p.Wait(t)
			args := next(t)[name]
			h.ExpectFailure(t, args, "revision 2 of release rel is pending-upgrade", "--takeover=force")
			h.ExpectStatuses(t, "rel", "deployed pending-upgrade")
			harness.ExpectContains(t, h.MustRun(append(args, "--takeover=force")...).Stderr, "its record names no lock holder; taking over the release")
			if name == "uninstall" {
				h.ExpectEmptyNamespace(t)
				return
			}
			h.ExpectStatuses(t, "rel", "superseded failed deployed")
			h.ExpectManifestObjects(t, "rel")
		})
	}
}
