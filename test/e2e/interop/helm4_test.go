// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// sharedChart writes a chart in which the objects have a value, and the ConfigMap fields has a
// field that only this value has. If apiVersion is v2, every version of Helm can install it.
func sharedChart(tb testing.TB, apiVersion, value string) string {
	tb.Helper()
	return charts.Chart{
		APIVersion: apiVersion, Metadata: "annotations: {helm.sh/sequencing: enabled}\n",
		Template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fields, labels: {only-" + value + ": a}}\ndata: {only-" + value + ": b}\n",
		Objects:  append(charts.ThreeLayerObjects(value), charts.Object{Name: "of-" + value, Layer: "last", DependsOn: "app"}),
	}.Write(tb)
}

// releaseStep is an operation on a release that Ordered Helm and Helm 4 share.
type releaseStep struct {
	// by is "ordered", for Ordered Helm, or "4", for Helm 4.
	by string
	// command is the name of the command, followed by flags.
	command string
	// value is the value of the chart to install or upgrade to. The chart is of apiVersion v2,
	// unless v3 is set.
	value string
	v3    bool
	// revision is the number of the revision to roll back to, if it is not zero.
	revision int
	// result is the value that the objects have afterwards, or empty if there are none.
	result string
	// methods contains the apply_method of each revision afterwards, or - if it has none.
	methods string
}

// TestHelm4 checks that Ordered Helm and Helm 4 continue with the releases of each other in every
// operation: without conflicts about fields, without leaving fields or objects behind, and such
// that each stored revision still says how it was applied.
func TestHelm4(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]releaseStep{
		"from Helm 4 to Ordered Helm": {
			{by: "4", command: "install", value: "1", result: "1", methods: "ssa"},
			{by: "ordered", command: "upgrade --wait=ordered", value: "2", result: "2", methods: "ssa -"},
			{by: "ordered", command: "rollback", revision: 1, result: "1", methods: "ssa - -"},
			{by: "ordered", command: "uninstall --keep-history", methods: "ssa - -"},
			{by: "ordered", command: "rollback", revision: 2, result: "2", methods: "ssa - - -"},
		},
		"from Ordered Helm to Helm 4": {
			{by: "ordered", command: "install --wait=ordered", value: "1", v3: true, result: "1", methods: "-"},
			{by: "4", command: "upgrade", value: "2", result: "2", methods: "- csa"},
			{by: "4", command: "rollback", revision: 1, result: "1", methods: "- csa csa"},
			{by: "4", command: "uninstall --keep-history", methods: "- csa csa"},
			{by: "ordered", command: "rollback --wait=ordered", revision: 1, result: "1", methods: "- csa csa -"},
		},
		"in turn": {
			{by: "4", command: "install", value: "1", result: "1", methods: "ssa"},
			{by: "ordered", command: "upgrade --wait=ordered", value: "2", result: "2", methods: "ssa -"},
			{by: "4", command: "upgrade", value: "3", result: "3", methods: "ssa - csa"},
			{by: "4", command: "rollback", revision: 1, result: "1", methods: "ssa - csa ssa"},
			{by: "ordered", command: "rollback", revision: 2, result: "2", methods: "ssa - csa ssa -"},
			{by: "4", command: "upgrade --server-side=true", value: "6", result: "6", methods: "ssa - csa ssa - ssa"},
			{by: "4", command: "upgrade", value: "7", result: "7", methods: "ssa - csa ssa - ssa ssa"},
			{by: "ordered", command: "uninstall"},
		},
		"from Ordered Helm to Helm 4 on the server": {
			{by: "ordered", command: "install --wait=ordered", value: "1", result: "1", methods: "-"},
			{by: "4", command: "upgrade --server-side=true", value: "2", result: "2", methods: "- ssa"},
			{by: "ordered", command: "upgrade", value: "3", result: "3", methods: "- ssa -"},
			{by: "4", command: "rollback", revision: 2, result: "2", methods: "- ssa - ssa"},
			{by: "4", command: "uninstall"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			for _, s := range steps {
				h.Started = harness.Now()
				s.run(t, h)
				s.check(t, h)
			}
		})
	}
}

func (s releaseStep) run(t *testing.T, h *harness.Helm) {
	t.Helper()
	words := strings.Fields(s.command)
	args := []string{words[0], "rel"}
	apiVersion := "v2"
	if s.v3 {
		apiVersion = "v3"
	}
	if s.value != "" {
		args = append(args, sharedChart(t, apiVersion, s.value))
	}
	if s.revision != 0 {
		args = append(args, strconv.Itoa(s.revision))
	}
	args = append(args, words[1:]...)
	if s.by == "4" {
		h.MustRunHelm4(t, args...)
	} else {
		h.MustRun(args...)
	}
}

func (s releaseStep) check(t *testing.T, h *harness.Helm) {
	t.Helper()
	if s.methods == "" {
		h.ExpectNoReleases(t)
	} else if got := applyMethods(t, h); got != s.methods {
		t.Errorf("after %s by %s, the revisions were applied as %q, want %q", s.command, s.by, got, s.methods)
	}
	if s.result == "" {
		h.ExpectObjects(t, "rel")
		return
	}
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, s.result)
	fields := h.Get(t, "ConfigMap/fields")
	data, _, err := unstructured.NestedStringMap(fields.Object, "data")
	harness.NoError(t, err)
	names := append(slices.Collect(maps.Keys(data)), slices.DeleteFunc(slices.Collect(maps.Keys(fields.GetLabels())), func(label string) bool {
		return !strings.HasPrefix(label, "only-")
	})...)
	if want := []string{"only-" + s.result, "only-" + s.result}; !slices.Equal(names, want) {
		t.Errorf("after %s by %s, ConfigMap/fields has the fields %q, want %q", s.command, s.by, names, want)
	}
	if strings.Contains(s.command, "--wait=ordered") {
		h.CheckOrder(t, "rel", h.ReadTrace(t))
	}
	if theirs, ours := h.MustRunHelm4(t, "get", "manifest", "rel"), h.MustRun("get", "manifest", "rel").Stdout; theirs != ours {
		t.Errorf("Helm 4 reads the manifest\n%s\nOrdered Helm\n%s", theirs, ours)
	}
}

// applyMethods returns the apply_method of all stored revisions of the release, as Helm 4 reads
// it, or - if there is none.
func applyMethods(t *testing.T, h *harness.Helm) string {
	t.Helper()
	var revisions []struct{ Revision int }
	decode(t, h.MustRunHelm4(t, "history", "rel", "--output", "json"), &revisions)
	var methods []string
	for _, r := range revisions {
		var metadata struct{ ApplyMethod string }
		decode(t, h.MustRunHelm4(t, "get", "metadata", "rel", "--revision", strconv.Itoa(r.Revision), "--output", "json"), &metadata)
		if metadata.ApplyMethod == "" {
			metadata.ApplyMethod = "-"
		}
		methods = append(methods, metadata.ApplyMethod)
	}
	return strings.Join(methods, " ")
}

// checkFieldsSurvive checks with the storage driver in the environment of h that a revision of
// Helm 4 keeps its fields when Ordered Helm updates it.
func checkFieldsSurvive(t *testing.T, h *harness.Helm) {
	t.Helper()
	for _, s := range []releaseStep{
		{by: "4", command: "install", value: "1", methods: "ssa"},
		{by: "ordered", command: "upgrade --wait=ordered", value: "2", methods: "ssa -"},
		{by: "4", command: "rollback", revision: 1, methods: "ssa - ssa"},
		{by: "ordered", command: "uninstall --keep-history", methods: "ssa - ssa"},
	} {
		s.run(t, h)
		if got := applyMethods(t, h); got != s.methods {
			t.Errorf("after %s by %s, the revisions were applied as %q, want %q", s.command, s.by, got, s.methods)
		}
	}
	h.MustRun("uninstall", "rel")
}

// TestHelm4Locks checks that Ordered Helm and Helm 4 do not start an upgrade while the other one
// works on the release, and that each can continue after the other one was killed.
func TestHelm4Locks(t *testing.T) {
	t.Parallel()
	hangs := charts.Chart{
		APIVersion: "v2", Objects: charts.ThreeLayerObjects("2"),
		Template: charts.Object{Kind: "Job", Name: "hangs", Hook: "pre-upgrade", PodAnnotations: charts.NeverReady}.Manifest(),
	}.Write(t)
	h := harness.New(t)
	h.MustRun("install", "rel", sharedChart(t, "v2", "1"))
	programs := binaries.Get(t)
	interrupt := func(program, other, want string) {
		t.Helper()
		p := h.StartBinary(t, program, h.Namespace, "upgrade", "rel", hangs)
		harness.Eventually(t, "the hook", func() bool { return h.Get(t, "Job/hangs") != nil })
		h.StartBinary(t, other, h.Namespace, "upgrade", "rel", sharedChart(t, "v2", "3")).ExpectExit(t, 1, want)
		p.Kill()
		p.Wait(t)
		h.Delete(t, "Job/hangs") // Ordered Helm would wait for it
	}
	interrupt(programs.Helm4, programs.Helm, "--takeover=force")
	h.MustRun("upgrade", "rel", sharedChart(t, "v2", "4"), "--takeover=force")
	h.ExpectValues(t, "4")
	interrupt(programs.Helm, programs.Helm4, "another operation (install/upgrade/rollback) is in progress")
	h.MustRunHelm4(t, "rollback", "rel", "1")
	h.ExpectValues(t, "1")
}
