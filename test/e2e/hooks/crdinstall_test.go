// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// crdHook is a CRD that is a crd-install hook, as in charts for Helm 2.
type crdHook struct {
	h             *harness.Helm
	plural, group string
	api           dynamic.ResourceInterface
}

// newCRDHook returns a crdHook whose group is named after the namespace. The CRD is deleted at
// the end of the test.
func newCRDHook(tb testing.TB, h *harness.Helm, plural string) crdHook {
	tb.Helper()
	d := crdHook{h: h, plural: plural, group: h.Namespace + ".example"}
	d.api = h.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	h.DeleteAfter(tb, harness.ParseManifest(tb, d.manifest()))
	return d
}

func (d crdHook) name() string { return d.plural + "." + d.group }

func (d crdHook) kind() string { return strings.ToUpper(d.plural[:1]) + d.plural[1:len(d.plural)-1] }

// manifest returns the manifest of the CRD, with additional annotations.
func (d crdHook) manifest(more ...string) string {
	definition := charts.Definition(d.group, d.kind())
	definition.Hook, definition.Annotations = "crd-install", more
	return definition.Manifest()
}

// resource returns the manifest of an object of the kind that the CRD defines.
func (d crdHook) resource(name string) string {
	return charts.CustomResource(d.group, d.kind(), name).Manifest()
}

func (d crdHook) get(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	list, err := d.api.List(tb.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + d.name()})
	harness.NoError(tb, err)
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// expectNone checks that the CRD does not exist and was never created.
func (d crdHook) expectNone(tb testing.TB) {
	tb.Helper()
	if d.get(tb) != nil {
		tb.Errorf("%s is there", d.name())
	}
	for _, e := range d.h.Cluster.Audit(tb) {
		if e.Verb == "create" && e.Resource == "customresourcedefinitions" && e.Name == d.name() && e.Code < 300 && !strings.Contains(e.URI, "dryRun") {
			tb.Errorf("%s was created", d.name())
		}
	}
}

// times returns when the CRD was created, when it was established, and when the first object
// of its kind was created.
func (d crdHook) times(tb testing.TB) (created, established, used time.Time) {
	tb.Helper()
	for _, e := range d.h.Cluster.Audit(tb) {
		if e.Stage != cluster.StageComplete || e.Code >= 300 || len(e.Response) == 0 {
			continue
		}
		switch {
		case e.Resource == "customresourcedefinitions" && e.Name == d.name():
			if e.Verb == "create" {
				created = e.Received
			}
			var stored harness.Snapshot
			harness.NoError(tb, json.Unmarshal(e.Response, &stored))
			if stored.Condition("Established") && established.IsZero() {
				established = e.Received
			}
		case e.Resource == d.plural && e.Group == d.group && e.Verb == "create" && used.IsZero():
			used = e.Received
		}
	}
	return created, established, used
}

// expectFirst checks that the CRD was created before all other objects of the release, and
// that objects of its kind were created after it was established.
func (d crdHook) expectFirst(tb testing.TB) {
	tb.Helper()
	created, established, used := d.times(tb)
	if created.IsZero() || established.IsZero() || used.Before(established) {
		tb.Errorf("it was created at %s, established at %s, and used at %s", created, established, used)
	}
	for id, writes := range d.h.ReadTrace(tb).Since(d.h.Started) {
		for _, w := range writes {
			if w.ByHelm && w.Received.Before(created) {
				tb.Errorf("%s of %s at %s, before it was created at %s", w.Verb, id, w.Received, created)
			}
		}
	}
}

func TestCRDInstallHook(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"--wait=false", "--wait=ordered"} {
		t.Run("install "+wait, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			d := newCRDHook(t, h, "widgets")
			hook := charts.Object{Kind: "ConfigMap", Name: "early", Hook: "pre-install", Weight: -5}
			h.Started = harness.Now()
			h.MustRun("install", "rel", charts.WriteTemplate(t, d.manifest()+d.resource("one")+"---\n"+hook.Manifest()+charts.OwnConfigMap("1")), wait)
			d.expectFirst(t)
			h.MustRun("uninstall", "rel")
			if d.get(t) == nil {
				t.Error("it was uninstalled")
			}
		})
		t.Run("upgrade "+wait, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			d, added := newCRDHook(t, h, "widgets"), newCRDHook(t, h, "gadgets")
			h.MustRun("install", "rel", charts.WriteTemplate(t, d.manifest()+d.resource("one")), wait)
			before := d.get(t)
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", charts.WriteTemplate(t, d.manifest("new: \"yes\"")+d.resource("one")+added.manifest()+added.resource("two")), wait)
			added.expectFirst(t)
			expectUnchanged(t, before, d.get(t))
		})
		t.Run("one that exists "+wait, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			d := newCRDHook(t, h, "widgets")
			h.Apply(t, strings.TrimPrefix(d.manifest("by: somebody"), "---\n"))
			d.awaitEstablished(t)
			before := d.get(t)
			h.MustRun("install", "rel", charts.WriteTemplate(t, d.manifest("helm.sh/hook-delete-policy: before-hook-creation")+d.resource("one")), wait)
			expectUnchanged(t, before, d.get(t))
			h.MustRun("uninstall", "rel")
			expectUnchanged(t, before, d.get(t))
		})
	}
}

func (d crdHook) awaitEstablished(tb testing.TB) {
	tb.Helper()
	established := harness.HasCondition("Established", "True", "")
	harness.Eventually(tb, "the establishment of "+d.name(), func() bool { o := d.get(tb); return o != nil && established(o) })
}

// expectUnchanged checks that before and after are the same version of an object.
func expectUnchanged(tb testing.TB, before, after *unstructured.Unstructured) {
	tb.Helper()
	if after == nil || before.GetUID() != after.GetUID() || before.GetResourceVersion() != after.GetResourceVersion() {
		tb.Errorf("before:\n%+v\nafter:\n%+v", before, after)
	}
}

// TestCRDInstallHookIsNotCreated checks operations that must not create a CRD that is a
// crd-install hook.
func TestCRDInstallHookIsNotCreated(t *testing.T) {
	t.Parallel()
	const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd, annotations: {helm.sh/hook: crd-install}}\n"
	for name, tt := range map[string]struct {
		// more is additional text of the chart's template. before is the name of a release of
		// this chart that is installed before the operation.
		more, before string
		args         []string
		// says is a text that the error contains, or empty if the operation succeeds.
		says string
	}{
		"--skip-crds":            {more: charts.OwnConfigMap("1"), args: []string{"--skip-crds"}},
		"--no-hooks":             {more: charts.OwnConfigMap("1"), args: []string{"--no-hooks"}},
		"--dry-run=client":       {more: charts.OwnConfigMap("1"), args: []string{"--dry-run=client"}},
		"--dry-run=server":       {more: charts.OwnConfigMap("1"), args: []string{"--dry-run=server"}},
		"a template that fails":  {more: "{{ fail \"no luck\" }}", says: "no luck"},
		"YAML that cannot be":    {more: "---\na: b: c\n", says: "YAML parse error"},
		"a name in use":          {before: "rel", says: "cannot re-use a name"},
		"an order that is wrong": {more: charts.ConfigMap("a", "helm.sh/layer: a", "helm.sh/depends-on/layers: a"), args: []string{"--wait=ordered"}, says: "dependency cycle"},
		"no definition":          {more: "---\n" + other, says: "crd-install"},
		"a number that is none":  {more: charts.Object{Kind: "Job", Name: "hook", Hook: "pre-install", Annotations: []string{`helm.sh/hook-delete-timeout: "soon"`}}.Manifest(), says: "helm.sh/hook-delete-timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			d := newCRDHook(t, h, "widgets")
			if tt.before != "" {
				h.MustRun("install", tt.before, charts.WriteTemplate(t, charts.OwnConfigMap("1")))
			}
			r := h.Run(append([]string{"install", "rel", charts.WriteTemplate(t, d.manifest()+tt.more)}, tt.args...)...)
			if (r.ExitCode != 0) != (tt.says != "") {
				t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
			}
			harness.ExpectContains(t, r.Stderr, tt.says)
			d.expectNone(t)
		})
	}
	t.Run("upgrade", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		d := newCRDHook(t, h, "widgets")
		h.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("1")))
		chart := charts.WriteTemplate(t, d.manifest()+charts.OwnConfigMap("2"))
		for _, arg := range []string{"--skip-crds", "--no-hooks", "--dry-run"} {
			h.MustRun("upgrade", "rel", chart, arg)
			d.expectNone(t)
		}
		h.ExpectFailure(t, []string{"upgrade", "rel", charts.WriteTemplate(t, d.manifest()+"{{ fail \"no luck\" }}")}, "no luck")
		d.expectNone(t)
	})
}

// TestHookDeleteTimeout checks how long Helm waits for deleted hooks that a finalizer keeps in
// the cluster.
func TestHookDeleteTimeout(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "true"} {
		for name, tt := range map[string]struct {
			annotation, policy string
			args               []string
			// says contains texts that the error contains. It is empty if the operation
			// succeeds.
			says []string
		}{
			"0":                  {annotation: "0", policy: "hook-succeeded"},
			"1":                  {annotation: "1", policy: "hook-succeeded", says: []string{"ConfigMap/held", "helm.sh/hook-delete-timeout", "ordered.example/hold"}},
			"1, before the next": {annotation: "1", policy: "before-hook-creation", says: []string{"ConfigMap/held", "helm.sh/hook-delete-timeout"}},
			"none":               {policy: "hook-succeeded", args: []string{"--timeout", "1s"}, says: []string{"/held", "ordered.example/hold"}},
		} {
			t.Run(name+", mode "+mode, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				held := charts.Object{Kind: "ConfigMap", Name: "held", Hook: "pre-install", DeletePolicy: tt.policy}
				if tt.annotation != "" {
					held.Annotations = []string{fmt.Sprintf("helm.sh/hook-delete-timeout: %q", tt.annotation)}
				}
				manifest := strings.Replace(held.Manifest(), "{name: held,", "{name: held, finalizers: [ordered.example/hold],", 1)
				if tt.policy == "before-hook-creation" {
					h.Apply(t, manifest)
				}
				chart := writeHooked(t, charts.Chart{Name: "app", HookMode: mode, Templates: map[string]string{"held.yaml": manifest, "own.yaml": charts.OwnConfigMap("1")}})
				r := h.Run(append([]string{"install", "rel", chart}, tt.args...)...)
				if (r.ExitCode != 0) != (len(tt.says) > 0) {
					t.Errorf("exit code %d\n%s", r.ExitCode, r.Stderr)
				}
				harness.ExpectContains(t, r.Stderr, tt.says...)
				if left := h.Get(t, "ConfigMap/held"); left == nil || left.GetDeletionTimestamp() == nil {
					t.Error("the hook is not the one that was held")
				}
				if own := h.Get(t, "ConfigMap/own") != nil; own != (len(tt.says) == 0) {
					t.Errorf("the release's own resource is there: %v", own)
				}
				h.RemoveFinalizers(t, "ConfigMap/held")
			})
		}
	}
	for _, value := range []string{"soon", "-1", "1.5", "1s", ""} {
		t.Run("value "+value, func(t *testing.T) {
			t.Parallel()
			hook := charts.Object{Kind: "Job", Name: "hook", Hook: "pre-install", Annotations: []string{fmt.Sprintf("helm.sh/hook-delete-timeout: %q", value)}}
			chart := writeHooked(t, charts.Chart{Name: "app", Objects: []charts.Object{hook}})
			h := harness.New(t)
			h.ExpectRejected(t, h.Run("install", "rel", chart), "app/templates/hook.yaml", "Job/hook", "helm.sh/hook-delete-timeout", fmt.Sprintf("%q", value), "seconds")
			if value != "soon" {
				return
			}
			h.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("1")))
			h.Started = harness.Now()
			h.ExpectFailure(t, []string{"upgrade", "rel", chart}, "helm.sh/hook-delete-timeout")
			if touched := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(touched) > 0 || h.Statuses(t, "rel") != "deployed" {
				t.Errorf("%s was changed, the revisions are %s", touched, h.Statuses(t, "rel"))
			}
		})
	}
}
