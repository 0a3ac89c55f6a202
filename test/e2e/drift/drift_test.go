// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// TestCorrection checks what a correction changes and creates.
//   - "it re-applies the manifest of the deployed revision"
//   - "It creates no revision, runs no hooks, and the stored release stays as it is"
//   - "An object that does not exist is created again"
//   - "Declared fields with other values are set back"
//   - "Fields that the manifest does not declare stay as they are"
//   - "An object that is as declared gets no request that could change it"
//   - "If nothing has drifted, CorrectDrift only reads"
//   - "Values that the server stores in another form"
//   - "what depends on a changed object is changed only when that object is ready again"
//   - "It does not wait for objects that it does not change"
//   - "Otherwise it does not wait"
//   - "a Job with ttlSecondsAfterFinished that no longer exists"
//   - "If an object does not have the label and annotations with which Helm marks the objects of this release"
//   - "If the release is locked at the beginning, the error is a *HeldError"
//   - "Correcting drift leaves it alone, too, if it did not take part in the operation that deployed the revision"
func TestCorrection(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"changed fields":            changedFields,
		"deleted objects":           deletedObjects,
		"without an order":          withoutOrder,
		"custom resources":          customResources,
		"nothing has drifted":       nothingDrifted,
		"values in another form":    valuesInOtherForm,
		"finished Jobs":             finishedJobs,
		"replicas":                  replicas,
		"objects of another owner":  otherOwner,
		"nodes that are not ready":  unreadyNodes,
		"releases not deployed":     notDeployed,
		"objects that must be kept": keptObjects,
		"hooks":                     hooks,
		"helm.sh/deploy-on":         deployOn,
	})
}

func changedFields(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "right"), "--wait=ordered")
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong","foreign":"kept"}}`)
	h.Patch(t, "ConfigMap/last", `{"data":null}`)
	h.Patch(t, "Deployment/app", `{"metadata":{"labels":{"foreign":"kept"}},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"wrong"}]}}}}`)
	newProgram(h).correct(t, "changed ConfigMap/first ConfigMap/last Deployment/app")
	h.ExpectValues(t, "right")
	if foreign, _, _ := unstructured.NestedString(h.Get(t, "ConfigMap/first").Object, "data", "foreign"); foreign != "kept" || h.Get(t, "Deployment/app").GetLabels()["foreign"] != "kept" {
		t.Error("what others have set was removed")
	}
	if available := harness.IntAt(h.Get(t, "Deployment/app"), "status.updatedReplicas"); available != 1 {
		t.Error("the correction has not waited until the Deployment is ready")
	}
	newProgram(h).correct(t, "")
}

func deletedObjects(t *testing.T, h *harness.Helm) {
	objects := charts.ThreeLayerObjects("right")
	objects[1].PodAnnotations = []string{"devcluster/after: 2s"} // so that not waiting is noticed
	h.MustRun("install", "rel", charts.Write(t, append(objects, charts.Object{Name: "unchanged", Layer: "first"})...), "--wait=ordered")
	for _, id := range []string{"ConfigMap/first", "Deployment/app", "ConfigMap/last"} {
		h.Delete(t, id)
	}
	harness.Eventually(t, "the Deployment is deleted", func() bool { return h.Get(t, "Deployment/app") == nil })
	since := harness.Now()
	p := newProgram(h)
	p.correct(t, "created ConfigMap/first ConfigMap/last Deployment/app")
	p.expectWrites(t, 3)
	h.ExpectValues(t, "right")
	trace := h.ReadTrace(t).Since(since)
	if ready := trace.Ready("Deployment/app"); ready.IsZero() || trace.Created("ConfigMap/last").Before(ready) || trace.Created("Deployment/app").Before(trace.Created("ConfigMap/first")) {
		t.Errorf("the order is not that of the release: first was created at %s, app at %s, ready at %s, last at %s",
			trace.Created("ConfigMap/first"), trace.Created("Deployment/app"), ready, trace.Created("ConfigMap/last"))
	}
}

// withoutOrder checks that the correction of a release that was not deployed in order waits for
// nothing.
func withoutOrder(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.Write(t, charts.UnreadyObjects("right")...))
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong"}}`)
	h.Delete(t, "Deployment/app")
	h.Delete(t, "ConfigMap/last")
	harness.Eventually(t, "the Deployment is deleted", func() bool { return h.Get(t, "Deployment/app") == nil })
	newProgram(h).correct(t, "created ConfigMap/last Deployment/app changed ConfigMap/first")
	h.ExpectValues(t, "right")
}

func customResources(t *testing.T, h *harness.Helm) {
	group := h.Namespace + ".example"
	widget := charts.CustomResource(group, "Widget", "w")
	widget.Body = "spec: {size: 1, list: [a, b]}\n"
	definition := charts.Definition(group, "Widget")
	definition.Layer, widget.Layer, widget.DependsOn = "definition", "widget", "definition"
	h.MustRun("install", "rel", charts.Write(t, definition, widget), "--wait=ordered")
	widgets := h.Resource(group+"/v1", "Widget")
	harness.NoError(t, harness.MergePatch(t.Context(), widgets, "w", `{"spec":{"size":2,"foreign":"kept"}}`))
	newProgram(h).correct(t, "changed Widget/w")
	live, err := widgets.Get(t.Context(), "w", metav1.GetOptions{})
	harness.NoError(t, err)
	if spec := live.Object["spec"].(map[string]any); spec["size"] != int64(1) || spec["foreign"] != "kept" {
		t.Errorf("the spec is %v", spec)
	}
	harness.NoError(t, h.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition").Delete(t.Context(), definition.Name, metav1.DeleteOptions{}))
	harness.Eventually(t, "the kind is no longer served", func() bool {
		_, err := h.Cluster.Client().Discovery().ServerResourcesForGroupVersion(group + "/v1")
		return apierrors.IsNotFound(err)
	})
	newProgram(h).correct(t, "created CustomResourceDefinition/"+definition.Name+" Widget/w")
	h.MustRun("uninstall", "rel")
}

func nothingDrifted(t *testing.T, h *harness.Helm) {
	for _, args := range [][]string{{"install", "rel", "--wait=ordered"}, {"upgrade", "rel"}} {
		h.MustRun(append(args, charts.FullChart(t))...)
		p := newProgram(h)
		p.correct(t, "")
		p.expectWrites(t, 0)
	}
}

// valuesInOtherForm checks that values which the server stores in another form are no drift.
func valuesInOtherForm(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.WriteTemplate(t, `
apiVersion: v1
kind: Secret
metadata: {name: s, creationTimestamp: null, annotations: {}}
stringData: {password: correct-horse}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, creationTimestamp: null}
spec:
  replicas: 1
  selector: {matchLabels: {app: d}}
  strategy: {}
  template:
    metadata: {labels: {app: d}, creationTimestamp: null}
    spec:
      hostNetwork: false
      nodeSelector: {}
      tolerations: []
      containers: [{name: c, image: i, env: [{name: E, value: ""}], resources: {limits: {cpu: 1000m, memory: 1024Mi}}}]
status: {}
`))
	p := newProgram(h)
	p.correct(t, "")
	p.expectWrites(t, 0)
	h.Patch(t, "Secret/s", `{"data":{"password":"d3Jvbmc="}}`)
	h.Patch(t, "Deployment/d", `{"spec":{"template":{"spec":{"nodeSelector":{"foreign":"kept"},"hostNetwork":true}}}}`)
	p.correct(t, "changed Deployment/d Secret/s")
	if password, _, _ := unstructured.NestedString(h.Get(t, "Secret/s").Object, "data", "password"); password != "Y29ycmVjdC1ob3JzZQ==" {
		t.Errorf("the password is %s", password)
	}
}

func finishedJobs(t *testing.T, h *harness.Helm) {
	job := func(name string, spec ...string) charts.Object {
		return charts.Object{Kind: "Job", Name: name, Spec: spec, PodAnnotations: []string{"devcluster/after: 0s"}}
	}
	h.MustRun("install", "rel", charts.Write(t, job("expires", "ttlSecondsAfterFinished: 3600"), job("stays"), job("changed", "ttlSecondsAfterFinished: 3600")), "--wait=ordered")
	background := metav1.DeletePropagationBackground
	for _, name := range []string{"expires", "stays"} {
		harness.NoError(t, h.Cluster.Client().BatchV1().Jobs(h.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}))
		harness.Eventually(t, "the Job is deleted", func() bool { return h.Get(t, "Job/"+name) == nil })
	}
	h.Patch(t, "Job/changed", `{"spec":{"ttlSecondsAfterFinished":7200}}`)
	newProgram(h).correct(t, "created Job/stays changed Job/changed")
	if h.Get(t, "Job/expires") != nil {
		t.Error("a Job that had probably finished runs again")
	}
}

// replicas checks that only the replicas that a HorizontalPodAutoscaler has set are not corrected.
func replicas(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.Write(t, charts.Object{Kind: "Deployment", Name: "app", Value: "right", Spec: []string{"replicas: 1"}}))
	scale := func(manager string) {
		_, err := h.Client.Resource(h.ResourceOfKind(t, "Deployment")).Namespace(h.Namespace).
			Patch(t.Context(), "app", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{FieldManager: manager}, "scale")
		harness.NoError(t, err)
	}
	expect := func(want int64) {
		t.Helper()
		if got := harness.IntAt(h.Get(t, "Deployment/app"), "spec.replicas"); got != want {
			t.Errorf("there are %d replicas, want %d", got, want)
		}
	}
	scale("kube-controller-manager")
	p := newProgram(h)
	p.correct(t, "")
	p.expectWrites(t, 0)
	h.Patch(t, "Deployment/app", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"wrong"}]}}}}`)
	p.correct(t, "changed Deployment/app")
	expect(3)
	h.Patch(t, "Deployment/app", `{"spec":{"replicas":5}}`)
	p.correct(t, "changed Deployment/app")
	expect(1)
	scale("kubectl")
	p.correct(t, "changed Deployment/app")
	expect(1)
}

func otherOwner(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "right"), "--wait=ordered")
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong"}}`)
	h.Patch(t, "ConfigMap/last", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}},"data":{"value":"foreign"}}`)
	p := newProgram(h)
	_, err := p.try(t.Context(), t)
	if err == nil || !strings.Contains(err.Error(), `ConfigMap "last"`) || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("got the error %v", err)
	}
	p.expectWrites(t, 0)
	if got := harness.ValueOf(h.Get(t, "ConfigMap/last")); got != "foreign" {
		t.Errorf("the object has the value %q", got)
	}
}

// unreadyNodes checks that a correction does not wait for objects that it does not change, neither in
// nodes of their own nor in those with changed objects.
func unreadyNodes(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "right", charts.Object{Name: "beside", Layer: "app", Value: "right"}), "--wait=ordered")
	h.Patch(t, "Deployment/app", `{"spec":{"template":{"metadata":{"annotations":{"devcluster/pod":"never"}}}}}`)
	h.Patch(t, "ConfigMap/first", `{"data":{"value":"wrong"}}`)
	h.Delete(t, "ConfigMap/last")
	newProgram(h).correct(t, "created ConfigMap/last changed ConfigMap/first")
	h.Patch(t, "ConfigMap/beside", `{"data":{"value":"wrong"}}`)
	newProgram(h).correct(t, "changed ConfigMap/beside")
	h.ExpectValues(t, "right")
}

func notDeployed(t *testing.T, h *harness.Helm) {
	p := newProgram(h)
	if _, err := p.try(t.Context(), t); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("without a release: got the error %v", err)
	}
	h.MustRun("install", "rel", charts.ThreeLayers(t, "right"), "--wait=ordered")
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.HangingChart(t, "1s"), "--wait=ordered"}, "never")
	h.Patch(t, "ConfigMap/last", `{"data":{"value":"wrong"}}`)
	_, err := p.try(t.Context(), t)
	if failed, ok := errors.AsType[*action.NotDeployedError](err); !ok || failed.Revision != 2 || failed.Status != release.StatusFailed {
		t.Errorf("after a failed upgrade: got the error %v", err)
	}
	cfg := p.configuration(t)
	rel, err := cfg.Releases.Get("rel", 2)
	harness.NoError(t, err)
	rel.Info.Status = release.StatusPendingUpgrade
	harness.NoError(t, cfg.Releases.Update(rel))
	before := len(p.writes(t))
	_, err = p.try(t.Context(), t)
	if held, ok := errors.AsType[*action.HeldError](err); !ok || held.Revision != 2 {
		t.Errorf("during an upgrade: got the error %v", err)
	}
	p.expectWrites(t, before)
}

func keptObjects(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.Write(t, charts.Object{Name: "kept", Value: "right", Annotations: []string{"helm.sh/resource-policy: keep"}}))
	h.Patch(t, "ConfigMap/kept", `{"data":{"value":"wrong"}}`)
	newProgram(h).correct(t, "changed ConfigMap/kept")
	h.Delete(t, "ConfigMap/kept")
	newProgram(h).correct(t, "created ConfigMap/kept")
}

// hooks checks that a correction runs no hooks, and does not create their objects.
func hooks(t *testing.T, h *harness.Helm) {
	every := "pre-install,post-install,pre-upgrade,post-upgrade,pre-rollback,post-rollback"
	h.MustRun("install", "rel", charts.Write(t, charts.Object{Name: "own", Value: "right"}, charts.Object{Name: "hook", Hook: every, DeletePolicy: "hook-succeeded"}))
	h.Delete(t, "ConfigMap/own")
	p := newProgram(h)
	p.correct(t, "created ConfigMap/own")
	p.expectWrites(t, 1)
}

// deployOn checks that a correction neither creates nor changes a resource that did not take part in the operation
// that deployed the revision.
func deployOn(t *testing.T, h *harness.Helm) {
	chart := charts.Write(t, charts.Object{Name: "own", Value: "right"}, charts.Object{Name: "upgrades", Value: "right", Annotations: []string{"helm.sh/deploy-on: upgrade"}})
	h.MustRun("install", "rel", chart, "--wait=ordered")
	h.Delete(t, "ConfigMap/own")
	newProgram(h).correct(t, "created ConfigMap/own")
	h.MustRun("upgrade", "rel", chart, "--wait=ordered")
	h.Patch(t, "ConfigMap/upgrades", `{"data":{"value":"wrong"}}`)
	newProgram(h).correct(t, "changed ConfigMap/upgrades")
}

// TestOwnerReferences checks that a correction sets the references to the Release again, with the
// storage driver "crd".
//   - "With the driver crd, it gets its owner reference again"
func TestOwnerReferences(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	harness.InstallDefinitions(t, h.Cluster)
	h.Env = append(h.Env, "HELM_DRIVER="+crdstorage.DriverName)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "right", charts.Object{Name: "kept", Annotations: []string{"helm.sh/resource-policy: keep"}}), "--wait=ordered")
	p := newProgram(h)
	p.driver = crdstorage.DriverName
	want := h.Get(t, "ConfigMap/first").GetOwnerReferences()
	if len(want) != 1 {
		t.Fatalf("the object has the owners %v", want)
	}
	h.Delete(t, "ConfigMap/first")
	h.Delete(t, "ConfigMap/kept")
	h.Patch(t, "ConfigMap/last", `{"metadata":{"ownerReferences":null}}`)
	h.Patch(t, "Deployment/app", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"wrong"}]}}}}`)
	p.correct(t, "created ConfigMap/first ConfigMap/kept changed ConfigMap/last Deployment/app")
	for _, id := range []string{"ConfigMap/first", "ConfigMap/last", "Deployment/app"} {
		if got := h.Get(t, id).GetOwnerReferences(); len(got) != 1 || got[0] != want[0] {
			t.Errorf("%s has the owners %v, want %v", id, got, want)
		}
	}
	if got := h.Get(t, "ConfigMap/kept").GetOwnerReferences(); len(got) != 0 {
		t.Errorf("the object that must be kept has the owners %v", got)
	}
}

// TestSecretsAreHidden checks that the contents of the Secrets of a release are neither in the error
// nor in the events of a correction, even if the server returns them.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const password = "correct-horse-battery"
	for name, flags := range map[string][]string{"in order": {"--wait=ordered"}, "without an order": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			secret := "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: " + password + "}\n"
			h.MustRun(append(flags, "install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("right")+secret))...)
			h.Patch(t, "ConfigMap/own", `{"data":{"value":"wrong"}}`)
			h.UseProxy(t).Intercept(func(w http.ResponseWriter, _ *http.Request, what fault.Request) bool {
				if !ofConfigMap("patch", "own")(what) {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, err := io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"`+password+` is invalid"}`)
				return err == nil
			})
			correct := action.NewCorrectDrift(newProgram(h).configuration(t))
			var events strings.Builder
			correct.OnEvent = func(e action.Event) { fmt.Fprintln(&events, e.Type, e.Node, e.Message, e.Err) }
			_, err := correct.RunWithContext(t.Context(), "rel")
			harness.ExpectContains(t, fmt.Sprint(err), "is invalid")
			harness.ExpectContains(t, events.String(), "started", "finished", "is invalid")
			if strings.Contains(fmt.Sprintf("%v %+v %s", err, err, events.String()), password) {
				t.Errorf("the password is in the error or the events:\n%v\n%s", err, events.String())
			}
		})
	}
}
