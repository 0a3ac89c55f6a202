// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
)

// who runs a step: ours, or unmodified Helm.
type who bool

func (w who) String() string {
	if w {
		return "ours"
	}
	return "stock"
}

// by runs a step by whoever's turn it is; ours in order where that is asked for.
func (h *helm) by(tb testing.TB, w who, args ...string) string {
	tb.Helper()
	if !w {
		return h.stock(tb, args...)
	}
	if args[0] == "install" || args[0] == "upgrade" {
		args = append(args, "--wait=ordered")
	}
	return h.ok(args...).stdout
}

// stock runs unmodified Helm, which must succeed.
func (h *helm) stock(tb testing.TB, args ...string) string {
	tb.Helper()
	r := h.runStock(tb, args...)
	if r.code != 0 {
		tb.Fatalf("stock helm %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

func (h *helm) runStock(tb testing.TB, args ...string) result {
	tb.Helper()
	return h.startStock(tb, args...).wait(tb)
}

// TestInterop has ours and stock Helm take turns over the life of one release, in
// every combination: each sees what the other has made, and both leave the same.
func TestInterop(t *testing.T) {
	t.Parallel()
	for turn := range 16 {
		install, upgrade, rollback, uninstall := who(turn&8 > 0), who(turn&4 > 0), who(turn&2 > 0), who(turn&1 > 0)
		name := strings.Join([]string{install.String(), upgrade.String(), rollback.String(), uninstall.String()}, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.by(t, install, "install", "rel", three(t, "1"))
			// Who uninstalls makes no difference before.
			see := func(value string, statuses ...string) {
				if uninstall {
					h.expectSeen(t, value, statuses...)
				}
			}
			see("1", "deployed")
			first := h.objectsOf(t, "rel")

			h.from = mark()
			h.by(t, upgrade, "upgrade", "rel", charts.Write(t, oddParts("2")...))
			see("2", "superseded", "deployed")
			if upgrade {
				h.proveOrderOf(t, "rel", h.readTrace(t))
			}

			h.from = mark()
			odd := h.last(t, "rel").Manifest
			h.by(t, rollback, "rollback", "rel", "1", "--timeout", "1m")
			see("1", "superseded", "superseded", "deployed")
			h.expectObjects(t, "rel")
			h.expectValue(t, "1")
			expectSame(t, first, h.objectsOf(t, "rel"), "ConfigMap/first", "Deployment/app", "ConfigMap/last")
			if rollback && install {
				h.proveOrderOf(t, "rel", h.readTrace(t))
			}
			if rollback && install && upgrade {
				h.proveOddGone(t, odd, h.readTrace(t))
			}

			h.from = mark()
			manifest := h.last(t, "rel").Manifest
			h.by(t, uninstall, "uninstall", "rel")
			if uninstall && rollback && install {
				h.proveReverse(t, manifest)
			}
			h.expectOnly(t, "rel")
			h.expectNoSecrets(t)
		})
	}
}

// expectSeen checks that both programs, and the server, tell the same of the
// release, whose objects have a value and whose revisions have these statuses.
func (h *helm) expectSeen(tb testing.TB, value string, statuses ...string) {
	tb.Helper()
	h.expectObjects(tb, "rel")
	h.expectValue(tb, value)
	if got, want := h.statuses(tb, "rel"), strings.Join(statuses, " "); got != want {
		tb.Errorf("the revisions are %s, want %s", got, want)
	}
	for _, args := range [][]string{{"get", "all", "rel"}, {"status", "rel"}, {"status", "rel", "-o", "json"}, {"history", "rel", "-o", "json"}} {
		ours, theirs := h.ok(args...).stdout, h.stock(tb, args...)
		what := strings.Join(args, " ")
		for _, text := range []string{ours, theirs} {
			if strings.Contains(text, "ordered-helm") || strings.Contains(text, "record.json") {
				tb.Errorf("%s prints the record:\n%s", what, text)
			}
		}
		switch what {
		case "history rel -o json":
			ours = string(without(tb, ours, "ordered"))
			theirs = string(without(tb, theirs, "ordered"))
		case "status rel -o json":
			ours = string(without(tb, ours, "order"))
			theirs = string(without(tb, theirs, "order"))
		}
		if strip(ours) != strip(theirs) {
			tb.Errorf("helm %s: ours says\n%s\nstock Helm says\n%s", what, ours, theirs)
		}
	}
}

// strip takes out what ours says beyond stock Helm.
func strip(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "ORDER: ") }), "\n")
}

// without reads JSON and leaves out a key of the object, or of those in the list.
func without(tb testing.TB, text, key string) []byte {
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
	if err != nil {
		tb.Fatal(err)
	}
	return text2
}

// expectNoSecrets checks that nothing of any release is stored in the namespace.
func (h *helm) expectNoSecrets(tb testing.TB) {
	tb.Helper()
	secrets, err := h.cluster.Client().CoreV1().Secrets(h.namespace).List(tb.Context(), metav1.ListOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range secrets.Items {
		tb.Errorf("Secret/%s is left", s.Name)
	}
}

// TestInteropAfterFailures has each program go on where the other one failed.
func TestInteropAfterFailures(t *testing.T) {
	t.Parallel()
	broken := func(tb testing.TB) string {
		tb.Helper()
		return charts.Write(tb, append(oddParts("2"), charts.Object{Name: "Not_A_Name", Layer: "end", DependsOn: "odder"})...)
	}
	for _, failing := range []who{true, false} {
		for _, mending := range []string{"upgrade", "rollback", "uninstall"} {
			t.Run(failing.String()+" fails, the other's "+mending, func(t *testing.T) {
				t.Parallel()
				h := newHelm(t)
				h.by(t, !failing, "install", "rel", three(t, "1"))
				if failing {
					h.fails(t, []string{"upgrade", "rel", broken(t), "--wait=ordered"}, "Not_A_Name")
				} else if r := h.runStock(t, "upgrade", "rel", broken(t)); r.code != 1 {
					t.Fatalf("exit code %d\n%s", r.code, r.stderr)
				}
				switch mending {
				case "upgrade":
					h.by(t, !failing, "upgrade", "rel", three(t, "3"))
					h.expectValue(t, "3")
				case "rollback":
					h.by(t, !failing, "rollback", "rel", "1")
					h.expectValue(t, "1")
				case "uninstall":
					h.by(t, !failing, "uninstall", "rel")
					h.expectNoSecrets(t)
				}
				if !failing {
					if mending == "uninstall" {
						h.expectOnly(t, "rel")
					} else {
						h.expectObjects(t, "rel")
					}
				}
			})
		}
	}
}
