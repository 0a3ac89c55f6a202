// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

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
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/test/charts"
)

// recordFile is the file of a stored chart that has the record.
const recordFile = ".ordered-helm/record.json"

// TestRecovery kills an operation in its middle. The next one takes the release over,
// says so and by whom it was left, and does not write again what is as it should be.
func TestRecovery(t *testing.T) {
	t.Parallel()
	upgraded := slices.Clip([]string{"upgrade", "rel", "--wait=ordered"})
	for name, tt := range map[string]struct {
		killed   func(*testing.T, *helm)
		next     []string // with the chart of value 2, if it is an upgrade
		statuses string
		said     string
		// untouched is what the killed operation had done already.
		untouched []string
	}{
		"install, then upgrade --install": {killInstall, append(upgraded, "--install"), "superseded deployed", "left pending-install: helm install on ", []string{"ConfigMap/first"}},
		"install, then uninstall":         {killInstall, []string{"uninstall", "rel"}, "", "left pending-install: helm install on ", nil},
		"upgrade, then upgrade":           {killUpgrade, upgraded, "superseded failed deployed", "left pending-upgrade: helm upgrade on ", []string{"ConfigMap/first"}},
		"upgrade, then a preview":         {killUpgrade, append(upgraded, "--dry-run=server"), "deployed pending-upgrade", "", nil},
		"upgrade, then rollback":          {killUpgrade, []string{"rollback", "rel"}, "superseded failed deployed", "left pending-upgrade: helm upgrade on ", []string{"ConfigMap/last"}},
		"upgrade, then uninstall":         {killUpgrade, []string{"uninstall", "rel"}, "", "left pending-upgrade: helm upgrade on ", nil},
		"plain upgrade, then upgrade":     {killPlainUpgrade, upgraded, "superseded failed deployed", "left pending-upgrade: helm upgrade on ", []string{"ConfigMap/first"}},
		"uninstall, then uninstall":       {killUninstall, []string{"uninstall", "rel"}, "", "left uninstalling: helm uninstall on ", nil},
		"uninstall, then upgrade":         {killUninstall, upgraded, "superseded deployed", "left uninstalling: helm uninstall on ", nil},
		"uninstall, then rollback":        {killUninstall, []string{"rollback", "rel", "1"}, "failed deployed", "left uninstalling: helm uninstall on ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			tt.killed(t, h)
			if slices.Contains(tt.next, "upgrade") {
				tt.next = append(slices.Clone(tt.next), three(t, "2"))
			}
			h.from = mark()
			expectSaid(t, h.ok(tt.next...).stderr, tt.said)
			done := h.readTrace(t).since(h.from)
			if runs := h.readTrace(t).helms("Job/once", "create"); len(runs) > 1 {
				t.Errorf("a hook that had succeeded ran again: %+v", runs)
			}
			for _, id := range tt.untouched {
				if writes := done.helms(id, changing...); len(writes) > 0 {
					t.Errorf("%s was written again: %+v", id, writes)
				}
			}
			if tt.statuses == "" {
				h.expectOnly(t, "rel")
				h.empty(t)
				return
			}
			h.expectStatuses(t, "rel", tt.statuses)
			if tt.said != "" {
				h.expectObjects(t, "rel")
			}
			for _, rel := range h.history(t, "rel") {
				if held := strings.Contains(string(recordOf(rel)), `"lease"`); held != (tt.said == "") && rel.Version > 1 {
					t.Errorf("revision %d is held: %v", rel.Version, held)
				}
			}
		})
	}
}

func killInstall(t *testing.T, h *helm) {
	t.Helper()
	h.kill(t, "app:app applied", "install", "rel", charts.Write(t, slowParts("2")...), "--wait=ordered")
	h.expectHeld(t, "pending-install", "install")
}

func killUpgrade(t *testing.T, h *helm) {
	t.Helper()
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.kill(t, "app:app applied", "upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait=ordered")
	h.expectHeld(t, "pending-upgrade", "upgrade")
}

func killPlainUpgrade(t *testing.T, h *helm) {
	t.Helper()
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.kill(t, "waiting until", "upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait")
	h.expectHeld(t, "pending-upgrade", "upgrade")
}

func killUninstall(t *testing.T, h *helm) {
	t.Helper()
	dir := three(t, "1")
	charts.Edit(t, dir, "templates/all.yaml", "{name: last,", "{name: last, finalizers: [ordered.example/hold],")
	hook := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, annotations: {helm.sh/hook: pre-delete, helm.sh/hook-delete-policy: hook-succeeded}}\n" +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
	if err := os.WriteFile(filepath.Join(dir, "templates", "hooks.yaml"), []byte(hook), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ok("install", "rel", dir, "--wait=ordered")
	h.kill(t, "app:last ConfigMap/last: Terminating", "uninstall", "rel")
	h.expectHeld(t, "uninstalling", "uninstall")
	h.patch(t, "ConfigMap/last", `{"metadata":{"finalizers":null}}`)
}

// expectHeld checks what helm status says of a release whose operation was killed, and
// that stock Helm sees nothing odd in it.
func (h *helm) expectHeld(tb testing.TB, status, operation string) {
	tb.Helper()
	expectSaid(tb, h.ok("status", "rel").stdout, "STATUS: "+status, "HOLDER: helm "+operation+" on ", "it is dead")
	var printed struct {
		Info   release.Info
		Holder struct {
			Operation string
			PID       int
			Dead      bool
		}
	}
	if err := json.Unmarshal([]byte(h.ok("status", "rel", "-o", "json").stdout), &printed); err != nil {
		tb.Fatal(err)
	}
	if who := printed.Holder; who.Operation != operation || who.PID == 0 || !who.Dead || printed.Info.Status.String() != status {
		tb.Errorf("status prints %+v", printed)
	}
	for _, args := range [][]string{{"status", "rel"}, {"get", "all", "rel"}, {"list", "--all", "-o", "json"}} {
		if r := h.runStock(tb, args...); !strings.Contains(r.stdout, status) && args[0] != "get" || r.code != 0 || strings.Contains(r.stdout, "lease") {
			tb.Errorf("stock helm %v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
		}
	}
}

// rewriteRecord changes the record of the newest revision as it is stored.
func (h *helm) rewriteRecord(tb testing.TB, name string, change func(record map[string]any)) {
	tb.Helper()
	rel := h.last(tb, name)
	var record map[string]any
	if err := json.Unmarshal(recordOf(rel), &record); err != nil {
		tb.Fatal(err)
	}
	change(record)
	data, err := json.Marshal(record)
	if err != nil {
		tb.Fatal(err)
	}
	rel.Chart.Files = append(slices.DeleteFunc(rel.Chart.Files, func(f *chart.File) bool { return f.Name == recordFile }), &chart.File{Name: recordFile, Data: data})
	if err := storage.Init(driver.NewSecrets(h.cluster.Client().CoreV1().Secrets(h.namespace))).Update(rel); err != nil {
		tb.Fatal(err)
	}
}

// movedAway has the holder of a release be one of another machine.
func movedAway(record map[string]any) {
	lease, _ := record["lease"].(map[string]any)
	lease["birth"], lease["host"] = "another start of another machine", "elsewhere"
}

// TestTakeoverOfAnotherMachine: of a holder elsewhere nobody knows that it is dead. It
// is, when it gives no sign of life for as long as its lease holds.
func TestTakeoverOfAnotherMachine(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	killUpgrade(t, h)
	h.rewriteRecord(t, "rel", movedAway)
	said := h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered", "--timeout", "2m").stderr
	expectSaid(t, said, "release rel is held by helm upgrade on elsewhere", "looking for ", "left pending-upgrade: helm upgrade on elsewhere", "the release is taken over")
	h.expectStatuses(t, "rel", "superseded failed deployed")
	h.expectObjects(t, "rel")
}

// TestLiveHolderIsNotRobbed: while an operation lives, no other one begins, whatever it
// is asked to do, and the first one comes to its end.
func TestLiveHolderIsNotRobbed(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	p := h.start(t, "upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait=ordered")
	p.awaitLine(t, "app:app applied")
	before := h.objectsOf(t, "rel")
	var others []*process
	for _, takeover := range []string{"auto", "never", "force"} {
		for _, args := range [][]string{{"upgrade", "rel", three(t, "3")}, {"rollback", "rel"}, {"uninstall", "rel"}} {
			others = append(others, h.start(t, append(args, "--takeover="+takeover)...))
		}
	}
	for _, other := range others {
		other.expectEnd(t, 1, "revision 2 of release rel is pending-upgrade, by helm upgrade on ", "wait for its end, or end it there")
	}
	expectDeclared(t, before, h.objectsOf(t, "rel"))
	p.signal(t, syscall.SIGTERM)
	p.expectEnd(t, 1)
	h.expectStatuses(t, "rel", "deployed failed")
}

// TestHolderThatWasAway stops a process for so long that it has to be taken for dead.
// When it goes on it finds that out, and neither changes nor records anything.
func TestHolderThatWasAway(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	p := h.start(t, "upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait=ordered", "--atomic")
	p.awaitLine(t, "app:app applied")
	p.signal(t, syscall.SIGSTOP)
	expectSaid(t, h.ok("upgrade", "rel", three(t, "3"), "--wait=ordered", "--timeout", "2m").stderr, "the release is taken over")
	before := h.objectsOf(t, "rel")
	p.signal(t, syscall.SIGCONT)
	p.expectEnd(t, 1, "release rel was taken over by ", "this operation has stopped at revision 2, and records and undoes nothing more")
	expectDeclared(t, before, h.objectsOf(t, "rel"))
	h.expectStatuses(t, "rel", "superseded failed deployed")
}

// TestStockInterferes: stock Helm does not ask who holds a release. The operation that did
// stops, and the next one carries on from what stock Helm has left.
func TestStockInterferes(t *testing.T) {
	t.Parallel()
	for verb, says := range map[string]string{
		"rollback":  "release rel was taken over by another operation: this operation has stopped at revision 2",
		"uninstall": "the record of revision 2 of release rel is gone",
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.failsMeanwhile(t, "app:app applied", func() {
				args := map[string][]string{"rollback": {"rollback", "rel", "1"}, "uninstall": {"uninstall", "rel"}}[verb]
				if r := h.runStock(t, args...); r.code != 0 {
					t.Errorf("stock helm %s: exit code %d\n%s", verb, r.code, r.stderr)
				}
			}, []string{"upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait=ordered", "--atomic"}, says)
			if verb == "uninstall" {
				h.expectOnly(t, "rel")
				h.empty(t)
				return
			}
			h.expectStatuses(t, "rel", "superseded failed deployed")
			h.repair(t, "upgrade", "rel", three(t, "3"), "--wait=ordered")
		})
	}
}

// TestStockHoldsARelease: of what stock Helm has begun nobody knows whether it goes on.
// It is only taken over by those who say that they know.
func TestStockHoldsARelease(t *testing.T) {
	t.Parallel()
	next := func(t *testing.T) map[string][]string {
		return map[string][]string{
			"upgrade": {"upgrade", "rel", three(t, "2"), "--wait=ordered"}, "upgrade --install": {"upgrade", "rel", three(t, "2"), "--install"},
			"rollback": {"rollback", "rel", "1"}, "uninstall": {"uninstall", "rel"},
		}
	}
	for name := range next(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			p := h.startStock(t, "upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait")
			for h.get(t, "Deployment/app").GetGeneration() == 1 && t.Context().Err() == nil {
				continue
			}
			p.kill()
			p.wait(t)
			args := next(t)[name]
			h.fails(t, args, "revision 2 of release rel is pending-upgrade", "--takeover=force")
			h.expectStatuses(t, "rel", "deployed pending-upgrade")
			expectSaid(t, h.ok(append(args, "--takeover=force")...).stderr, "its record does not say by whom; the release is taken over")
			if name == "uninstall" {
				h.empty(t)
				return
			}
			h.expectStatuses(t, "rel", "superseded failed deployed")
			h.expectObjects(t, "rel")
		})
	}
}
