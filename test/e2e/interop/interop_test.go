// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// helmBinary is the program that runs a step: Ordered Helm, or stock Helm.
type helmBinary bool

func (w helmBinary) String() string {
	if w {
		return "ours"
	}
	return "stock"
}

// runBy runs a step with one of the programs. Ordered Helm installs and upgrades with
// --wait=ordered.
func runBy(tb testing.TB, h *harness.Helm, w helmBinary, args ...string) {
	tb.Helper()
	switch {
	case !bool(w):
		h.MustRunStock(tb, args...)
	case args[0] == "install" || args[0] == "upgrade":
		h.MustRun(append(args, "--wait=ordered")...)
	default:
		h.MustRun(args...)
	}
}

// TestInterop runs an install, an upgrade, a rollback and an uninstall, each with Ordered Helm
// or with stock Helm, in every combination. It checks that each program reads what the other
// one has stored, and that the result does not depend on the program.
func TestInterop(t *testing.T) {
	t.Parallel()
	for turn := range 16 {
		install, upgrade, rollback, uninstall := helmBinary(turn&8 > 0), helmBinary(turn&4 > 0), helmBinary(turn&2 > 0), helmBinary(turn&1 > 0)
		name := strings.Join([]string{install.String(), upgrade.String(), rollback.String(), uninstall.String()}, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			runBy(t, h, install, "install", "rel", charts.ThreeLayers(t, "1"))
			// The steps before the uninstall need to be checked only once.
			see := func(value string, statuses ...string) {
				if uninstall {
					expectSeen(t, h, value, statuses...)
				}
			}
			see("1", "deployed")
			first := h.ReleaseObjects(t, "rel")

			h.Started = harness.Now()
			runBy(t, h, upgrade, "upgrade", "rel", charts.Write(t, charts.OddObjects("2")...))
			see("2", "superseded", "deployed")
			if upgrade {
				h.CheckOrder(t, "rel", h.ReadTrace(t))
			}

			h.Started = harness.Now()
			odd := h.LastRevision(t, "rel").Manifest
			runBy(t, h, rollback, "rollback", "rel", "1", "--timeout", "1m")
			see("1", "superseded", "superseded", "deployed")
			h.ExpectManifestObjects(t, "rel")
			h.ExpectValues(t, "1")
			harness.ExpectSameObjects(t, first, h.ReleaseObjects(t, "rel"), "ConfigMap/first", "Deployment/app", "ConfigMap/last")
			if rollback && install {
				h.CheckOrder(t, "rel", h.ReadTrace(t))
			}
			if rollback && install && upgrade {
				h.CheckOddObjectsDeleted(t, odd, h.ReadTrace(t))
			}

			h.Started = harness.Now()
			manifest := h.LastRevision(t, "rel").Manifest
			runBy(t, h, uninstall, "uninstall", "rel")
			if uninstall && rollback && install {
				h.CheckUninstallOrder(t, manifest)
			}
			h.ExpectObjects(t, "rel")
			h.ExpectNoReleases(t)
		})
	}
}

// expectSeen checks that both programs report the given statuses of the revisions, and that
// the objects in the cluster have the value.
func expectSeen(tb testing.TB, h *harness.Helm, value string, statuses ...string) {
	tb.Helper()
	h.ExpectManifestObjects(tb, "rel")
	h.ExpectValues(tb, value)
	if got, want := h.Statuses(tb, "rel"), strings.Join(statuses, " "); got != want {
		tb.Errorf("the revisions are %s, want %s", got, want)
	}
	for _, args := range [][]string{{"get", "all", "rel"}, {"status", "rel"}, {"status", "rel", "-o", "json"}, {"history", "rel", "-o", "json"}} {
		ours, theirs := h.MustRun(args...).Stdout, h.MustRunStock(tb, args...)
		what := strings.Join(args, " ")
		for _, text := range []string{ours, theirs} {
			if strings.Contains(text, "ordered-helm") || strings.Contains(text, "record.json") {
				tb.Errorf("%s prints the record:\n%s", what, text)
			}
		}
		switch what {
		case "history rel -o json":
			ours = string(withoutKey(tb, string(withoutKey(tb, ours, "ordered")), "orderIgnored"))
			theirs = string(withoutKey(tb, theirs, "ordered"))
		case "status rel -o json":
			ours = string(withoutKey(tb, ours, "order"))
			theirs = string(withoutKey(tb, theirs, "order"))
		}
		if withoutField(ours) != withoutField(theirs) {
			tb.Errorf("helm %s: ours says\n%s\nstock Helm says\n%s", what, ours, theirs)
		}
	}
}

// withoutField removes the field that only Ordered Helm prints from the output of a command.
func withoutField(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "ORDER: ") }), "\n")
}

// withoutKey parses a JSON object or a list of objects, and returns it without a key.
func withoutKey(tb testing.TB, text, key string) []byte {
	tb.Helper()
	var content any
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		tb.Fatalf("%v in\n%s", err, text)
	}
	list, isList := content.([]any)
	if !isList {
		list = []any{content}
	}
	for _, entry := range list {
		delete(entry.(map[string]any), key)
	}
	text2, err := json.Marshal(content)
	harness.NoError(tb, err)
	return text2
}

// TestInteropAfterFailures checks that each program can continue after an operation of the
// other one has failed.
func TestInteropAfterFailures(t *testing.T) {
	t.Parallel()
	broken := func(tb testing.TB) string {
		tb.Helper()
		return charts.Write(tb, append(charts.OddObjects("2"), charts.Object{Name: "Not_A_Name", Layer: "end", DependsOn: "odder"})...)
	}
	for _, failing := range []helmBinary{true, false} {
		for _, mending := range []string{"upgrade", "rollback", "uninstall"} {
			t.Run(failing.String()+" fails, the other's "+mending, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				runBy(t, h, !failing, "install", "rel", charts.ThreeLayers(t, "1"))
				if failing {
					h.ExpectFailure(t, []string{"upgrade", "rel", broken(t), "--wait=ordered"}, "Not_A_Name")
				} else if r := h.RunStock(t, "upgrade", "rel", broken(t)); r.ExitCode != 1 {
					t.Fatalf("exit code %d\n%s", r.ExitCode, r.Stderr)
				}
				switch mending {
				case "upgrade":
					runBy(t, h, !failing, "upgrade", "rel", charts.ThreeLayers(t, "3"))
					h.ExpectValues(t, "3")
				case "rollback":
					runBy(t, h, !failing, "rollback", "rel", "1")
					h.ExpectValues(t, "1")
				case "uninstall":
					runBy(t, h, !failing, "uninstall", "rel")
					h.ExpectNoReleases(t)
				}
				if !failing {
					if mending == "uninstall" {
						h.ExpectObjects(t, "rel")
					} else {
						h.ExpectManifestObjects(t, "rel")
					}
				}
			})
		}
	}
}
