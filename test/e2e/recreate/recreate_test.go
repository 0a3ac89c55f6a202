// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreate

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// onImmutable is the annotation with which a chart allows the recreation of an object.
const onImmutable = "helm.sh/on-immutable: recreate"

// broken is a chart's last object, which never becomes ready.
var broken = []charts.Object{
	{Kind: "Pod", Name: "broken", Layer: "broken", DependsOn: "web", Annotations: append(charts.NeverReady, charts.ShortTimeout...)},
	{Name: "end", Layer: "end", DependsOn: "broken"},
}

// settings returns an immutable ConfigMap.
func settings(value string, annotations ...string) charts.Object {
	return charts.Object{APIVersion: "v1", Name: "settings", Layer: "settings", Body: "immutable: true\ndata: {value: \"" + value + "\"}\n", Annotations: annotations}
}

// service returns a Service. Its cluster IP is assigned by the server in revision 1.
func service(value string) charts.Object {
	spec := "spec: {selector: {app: db}, ports: [{port: 80}]"
	if value != "1" {
		spec += ", clusterIP: None"
	}
	return charts.Object{APIVersion: "v1", Kind: "Service", Name: "web", Layer: "web", DependsOn: "db", Body: spec + "}\n"}
}

// shop returns a chart of objects that cannot be changed in place, each in a layer after the one before it.
func shop(h *harness.Helm, value string, more ...charts.Object) charts.Chart {
	size := value + "Mi"
	return charts.Chart{Objects: append([]charts.Object{
		settings(value, onImmutable),
		{Kind: "Job", Name: "migrate", Layer: "migration", DependsOn: "settings", Value: value, Annotations: []string{onImmutable}},
		{
			Kind: "StatefulSet", Name: "db", Layer: "db", DependsOn: "migration",
			Spec:    []string{"volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: " + h.Namespace + ", accessModes: [ReadWriteOnce], resources: {requests: {storage: " + size + "}}}}]"},
			PodSpec: "terminationGracePeriodSeconds: 0",
		},
		service(value),
		{Name: "app", Layer: "app", DependsOn: "web", Value: value},
	}, more...)}
}

// recreated are the objects of shop that are recreated in an upgrade, in order.
var recreated = []string{"ConfigMap/settings", "Job/migrate", "StatefulSet/db", "Service/web"}

// allow are the flags with which they are recreated.
var allow = []string{"--wait=ordered", "--recreate", "StatefulSet/db", "--recreate=service/w*"}

// newShop installs the chart shop. The claim of its StatefulSet is bound to a volume.
func newShop(t *testing.T) *harness.Helm {
	t.Helper()
	h := harness.New(t)
	volume := charts.Object{APIVersion: "v1", Kind: "PersistentVolume", Name: h.Namespace, Body: "spec: {storageClassName: " + h.Namespace +
		", capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp}}\n"}
	h.Apply(t, volume.Manifest())
	h.DeleteAfter(t, harness.ParseManifest(t, volume.Manifest()))
	h.MustRun("install", "rel", shop(h, "1").Write(t), "--wait=ordered")
	return h
}

// uids returns the UIDs of objects.
func uids(t *testing.T, h *harness.Helm, ids ...string) map[string]types.UID {
	t.Helper()
	found := map[string]types.UID{}
	for _, id := range ids {
		if o := h.Get(t, id); o != nil {
			found[id] = o.GetUID()
		}
	}
	return found
}

// copies returns the Secrets with copies of recreated objects.
func copies(t *testing.T, h *harness.Helm) []string {
	t.Helper()
	out, err := h.Kubectl(t, "get", "secrets", "-l", "helm.sh/recreated-by=rel", "-o", "name")
	harness.NoError(t, err)
	return strings.Fields(out)
}

// expectRecreated checks that Helm has deleted each object and created it again since h.Started, one after the other.
func expectRecreated(t *testing.T, h *harness.Helm, ids ...string) {
	t.Helper()
	recorded := h.ReadTrace(t).Since(h.Started)
	for i, id := range ids {
		writes := recorded.HelmWrites(id)
		var verbs []string
		for _, w := range writes {
			if w.Verb != "patch" { // those that the server rejects are not in the trace
				verbs = append(verbs, w.Verb)
			}
		}
		if !slices.Equal(verbs, []string{"delete", "create"}) {
			t.Fatalf("%s: the writes are %q", id, verbs)
		}
		if i > 0 {
			if before := recorded.Created(ids[i-1]); writes[0].Received.Before(before) {
				t.Errorf("%s was deleted at %s, before %s was created at %s", id, writes[0].Received, ids[i-1], before)
			}
		}
		if _, gone := recorded.Deleted(id); recorded.Created(id).Before(gone) {
			t.Errorf("%s was created before it was gone", id)
		}
	}
}

// TestRecreate checks that objects that cannot be changed in place are deleted and created again.
//   - "helm plan asks the server beforehand, and says in one line which field that is"
//   - "--recreate KIND/NAME of upgrade, plan and rollback"
//   - "It can be given several times, and both parts can contain wildcards"
//   - "The annotation helm.sh/on-immutable: recreate in a template"
//   - "it is deleted, the operation waits until it and its pods no longer exist, and it is created"
//   - "A StatefulSet keeps its pods and claims"
//   - "the new StatefulSet adopts them"
//   - "Before the deletion, the object is stored in a Secret in the namespace of the release"
//   - "These Secrets are deleted when an upgrade or rollback of the release succeeds"
//   - "the rollback after a failed upgrade creates the recreated objects again from these Secrets, in the order"
//   - "A Job is then run again"
func TestRecreate(t *testing.T) {
	t.Parallel()
	t.Run("in order", func(t *testing.T) {
		t.Parallel()
		h := newShop(t)
		kept := uids(t, h, "Pod/db-0", "PersistentVolumeClaim/data-db-0")
		chart := shop(h, "2").Write(t)
		r := h.Run(append([]string{"plan", "rel", chart}, allow...)...)
		harness.ExpectContains(t, r.Stdout, "1 to change, 4 to recreate",
			"± recreate ConfigMap/settings", "(data is immutable)", "± recreate Job/migrate", "(spec.template is immutable)",
			"± recreate StatefulSet/db", "(spec.volumeClaimTemplates is immutable)", "± recreate Service/web", "(spec.clusterIPs[0] is immutable)")
		if r.ExitCode != 2 {
			t.Errorf("the exit code of plan is %d", r.ExitCode)
		}
		h.Started = harness.Now()
		r = h.MustRun(append([]string{"upgrade", "rel", chart, "--progress=plain"}, allow...)...)
		harness.ExpectContains(t, r.Stderr, `StatefulSet "db"`, "is deleted and created again: spec.volumeClaimTemplates is immutable", "1 recreated")
		expectRecreated(t, h, recreated...)
		if left := copies(t, h); len(left) > 0 {
			t.Errorf("the copies %q are left", left)
		}
		if h.Get(t, "Service/web").Object["spec"].(map[string]any)["clusterIP"] != "None" || harness.ValueOf(h.Get(t, "ConfigMap/settings")) != "2" {
			t.Error("the objects are not as declared")
		}
		harness.Eventually(t, "the StatefulSet adopts its pods", func() bool {
			owners := h.Get(t, "Pod/db-0").GetOwnerReferences()
			return len(owners) == 1 && owners[0].UID == h.Get(t, "StatefulSet/db").GetUID()
		})
		if now := uids(t, h, "Pod/db-0", "PersistentVolumeClaim/data-db-0"); now["Pod/db-0"] != kept["Pod/db-0"] || now["PersistentVolumeClaim/data-db-0"] != kept["PersistentVolumeClaim/data-db-0"] {
			t.Errorf("the pod and its claim were %v, and are %v", kept, now)
		}
		h.ExpectStatuses(t, "rel", "superseded deployed")
	})
	t.Run("undone", func(t *testing.T) {
		t.Parallel()
		h := newShop(t)
		h.Patch(t, "ConfigMap/settings", `{"metadata":{"labels":{"by":"others"}}}`)
		before := map[string]*unstructured.Unstructured{}
		for _, id := range append(recreated, "ConfigMap/app") {
			before[id] = h.Get(t, id)
		}
		r := h.Run(append([]string{"upgrade", "rel", shop(h, "2", broken...).Write(t), "--atomic"}, allow...)...)
		harness.ExpectContains(t, r.Stderr, "has been rolled back due to atomic being set")
		for id, was := range before {
			if got, want := content(t, h.Get(t, id)), content(t, was); got != want {
				t.Errorf("%s is\n%s\nwant\n%s", id, got, want)
			}
		}
		if left := copies(t, h); len(left) > 0 {
			t.Errorf("the copies %q are left", left)
		}
		h.ExpectStatuses(t, "rel", "superseded failed deployed")
	})
}

// TestAddressTaken checks that a Service whose address belongs to another one now is created again with another address,
// and that this is said.
//   - "A warning names the fields that could not be set"
func TestAddressTaken(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.Write(t, service("1")), "--wait=ordered")
	address := h.Get(t, "Service/web").Object["spec"].(map[string]any)["clusterIP"].(string)
	failing := append([]charts.Object{service("2")}, broken...)
	r := h.RunWhile(t, "app:broken started", func() {
		h.Apply(t, charts.Object{APIVersion: "v1", Kind: "Service", Name: "thief", Body: "spec: {ports: [{port: 80}], clusterIP: \"" + address + "\"}\n"}.Manifest())
	}, "upgrade", "rel", charts.Write(t, failing...), "--wait=ordered", "--atomic", "--recreate=Service/web")
	harness.ExpectContains(t, r.Stderr, "has been rolled back due to atomic being set", "was created again as it was before, except for spec.clusterIP, which could not be set")
	if now := h.Get(t, "Service/web").Object["spec"].(map[string]any)["clusterIP"]; now == "None" || now == address {
		t.Errorf("the address is %v", now)
	}
}

// content returns what was set in an object, as JSON.
func content(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	if o == nil {
		return "nothing"
	}
	o = o.DeepCopy()
	delete(o.Object, "status")
	metadata := o.Object["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		delete(metadata, field)
	}
	if o.GetKind() == "Job" {
		spec := o.Object["spec"].(map[string]any)
		delete(spec, "selector")
		labels := spec["template"].(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any)
		delete(labels, "batch.kubernetes.io/controller-uid")
		delete(labels, "controller-uid")
	}
	text, err := json.Marshal(o.Object)
	harness.NoError(t, err)
	return string(text)
}

// TestRefused checks what is not recreated.
//   - "An upgrade or rollback that changes such a field fails"
//   - "With another value, or in another object, it is an error before anything is changed"
//   - "An object that can be changed in place is changed in place, even if a pattern matches it"
//   - "A pattern without wildcards that matches no object of the new revision is an error"
//   - "A pattern with wildcards that matches none causes a warning"
//   - "An installation with upgrade --install recreates nothing"
//   - "Objects are recreated with and without an order"
//   - "The rejection by the server remains an error, which also says why the object was not recreated"
//   - "a pattern that names one of these kinds is an error before anything is changed; wildcards do not match them"
//   - "objects that are not labeled as owned by the release, and those that a controller owns"
//   - "objects with helm.sh/resource-policy: keep"
//   - "those that the server would not create as declared, according to a dry run"
//   - "if the new selector does not match the labels of the pods, they could not be adopted"
func TestRefused(t *testing.T) {
	t.Parallel()
	const flag = "--wait=ordered"
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"without permission": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Write(t, settings("1")), flag)
			before := uids(t, h, "ConfigMap/settings")
			changed := charts.Write(t, settings("2"))
			r := h.Run("plan", "rel", changed, flag)
			harness.ExpectContains(t, r.Stdout, "! would fail ConfigMap/settings", "\n      data is immutable: rename the object in the chart, or delete and create it again with --recreate ConfigMap/settings\n")
			h.ExpectFailure(t, []string{"upgrade", "rel", changed, flag}, "field is immutable when `immutable` is set", "or delete and create it again with --recreate ConfigMap/settings")
			if now := uids(t, h, "ConfigMap/settings"); now["ConfigMap/settings"] != before["ConfigMap/settings"] {
				t.Error("it was recreated")
			}
			h.MustRun("upgrade", "rel", changed, flag, "--recreate", "ConfigMap/settings")
			r = h.Run("rollback", "rel", "1")
			harness.ExpectContains(t, r.Stderr, "--recreate ConfigMap/settings")
			h.MustRun("rollback", "rel", "1", "--recreate", "*/settings")
			if value := harness.ValueOf(h.Get(t, "ConfigMap/settings")); value != "1" {
				t.Errorf("after the rollback, the value is %q", value)
			}
		},
		"what can be changed is changed": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Write(t, charts.Object{Name: "plain", Value: "1"}), flag)
			before := uids(t, h, "ConfigMap/plain")
			r := h.MustRun("upgrade", "rel", charts.Write(t, charts.Object{Name: "plain", Value: "2"}), flag, "--recreate=ConfigMap/plain", "--recreate=Job/*")
			if now := uids(t, h, "ConfigMap/plain"); now["ConfigMap/plain"] != before["ConfigMap/plain"] || harness.ValueOf(h.Get(t, "ConfigMap/plain")) != "2" {
				t.Error("it was not changed in place")
			}
			harness.ExpectContains(t, r.Stderr, `WARNING: "Job/*" matches no object of the release, so it recreates none`)
		},
		"invalid patterns": func(t *testing.T, h *harness.Helm) {
			chart := charts.Write(t, settings("1"), charts.Object{Kind: "PersistentVolumeClaim", Name: "data", Layer: "data"})
			for pattern, message := range map[string]string{
				"settings": "must be KIND/NAME, such as StatefulSet/db", "ConfigMap/[": "must be KIND/NAME", "a/b/c": "must be KIND/NAME",
				"Namespace/x": "a Namespace is never recreated", "persistentvolumeclaim/*": "a PersistentVolumeClaim is never recreated",
				"PersistentVolume/x": "a PersistentVolume is never recreated", "CustomResourceDefinition/x": "a CustomResourceDefinition is never recreated",
			} {
				h.ExpectFailure(t, []string{"upgrade", "rel", chart, flag, "--install", "--recreate", pattern}, message)
			}
			h.ExpectNoReleases(t)
			h.MustRun("install", "rel", chart, flag)
			h.ExpectFailure(t, []string{"upgrade", "rel", chart, flag, "--recreate", "ConfigMap/missing"}, `cannot recreate "ConfigMap/missing": the release has no such object`)
			h.ExpectStatuses(t, "rel", "deployed")
			other := charts.Object{APIVersion: "v1", Kind: "PersistentVolumeClaim", Name: "data", Layer: "data", Body: "spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Mi}}}\n"}
			r := h.Run("upgrade", "rel", charts.Write(t, settings("1"), other), flag, "--recreate", "*/data")
			if harness.ExpectContains(t, r.Stderr, "PersistentVolumeClaim/data could not be applied"); strings.Contains(r.Stderr, "--recreate P") || h.Get(t, "PersistentVolumeClaim/data") == nil {
				t.Errorf("it says\n%s", r.Stderr)
			}
		},
		"objects of others": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Write(t, settings("1"), charts.Object{Name: "kept", Layer: "settings", APIVersion: "v1", Body: "immutable: true\n", Annotations: []string{"helm.sh/resource-policy: keep"}}), flag)
			h.Patch(t, "ConfigMap/settings", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)
			before := uids(t, h, "ConfigMap/settings", "ConfigMap/kept")
			changed := charts.Write(t, settings("2"), charts.Object{Name: "kept", Layer: "settings", APIVersion: "v1", Body: "immutable: true\ndata: {a: b}\n", Annotations: []string{"helm.sh/resource-policy: keep"}})
			r := h.ExpectFailure(t, []string{"upgrade", "rel", changed, flag, "--recreate", "ConfigMap/*"},
				"ConfigMap/settings was not recreated: it is not labeled as owned by the release", `current value is "other"`, "ConfigMap/kept was not recreated: its helm.sh/resource-policy is to keep it")
			if strings.Contains(r.Stderr, "with --recreate") {
				t.Errorf("it advises to use the flag that was given:\n%s", r.Stderr)
			}
			r = h.Run("plan", "rel", changed, flag, "--recreate", "ConfigMap/*")
			harness.ExpectContains(t, r.Stdout, "2 would fail", "data is immutable, but it cannot be recreated: it is not labeled as owned by the release")
			for id, uid := range uids(t, h, "ConfigMap/settings", "ConfigMap/kept") {
				if before[id] != uid {
					t.Errorf("%s was recreated", id)
				}
			}
			if left := copies(t, h); len(left) > 0 {
				t.Errorf("the copies %q are left", left)
			}
		},
		"what the server would not create": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Write(t, settings("1")), flag)
			before := uids(t, h, "ConfigMap/settings")
			invalid := charts.Object{APIVersion: "v1", Name: "settings", Layer: "settings", Body: "immutable: true\ndata: {\"a b\": c}\n"}
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, invalid), flag, "--recreate", "ConfigMap/settings"}, "data[a b]")
			if now := uids(t, h, "ConfigMap/settings"); now["ConfigMap/settings"] != before["ConfigMap/settings"] {
				t.Error("it was deleted")
			}
		},
		"pods that could not be adopted": func(t *testing.T, h *harness.Helm) {
			db := charts.Object{Kind: "StatefulSet", Name: "db", Layer: "db"}
			h.MustRun("install", "rel", charts.Write(t, db), flag)
			before := uids(t, h, "StatefulSet/db", "Pod/db-0")
			changed := charts.WriteTemplate(t, strings.ReplaceAll(db.Manifest(), "app: db", "app: other"))
			h.ExpectFailure(t, []string{"upgrade", "rel", changed, flag, "--recreate", "StatefulSet/db"}, "the new spec.selector does not match the labels of its pods, so they could not be adopted")
			for id, uid := range uids(t, h, "StatefulSet/db", "Pod/db-0") {
				if before[id] != uid {
					t.Errorf("%s was recreated", id)
				}
			}
		},
		"invalid annotations": func(t *testing.T, h *harness.Helm) {
			for annotation, message := range map[string]string{
				"helm.sh/on-immutable: replace": `must be "recreate"`,
				onImmutable:                     "is only for Jobs, Pods, and ConfigMaps and Secrets with immutable: true",
			} {
				h.MustRun("upgrade", "rel", charts.Write(t, charts.Object{Name: "a"}), "--install")
				h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, charts.Object{Name: "a", Annotations: []string{annotation}})}, "helm.sh/on-immutable", message)
			}
		},
		"without an order": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Write(t, settings("1", onImmutable), charts.Object{Kind: "Job", Name: "migrate", Value: "1"}))
			h.Started = harness.Now()
			changed := charts.Write(t, settings("2", onImmutable), charts.Object{Kind: "Job", Name: "migrate", Value: "2"})
			h.MustRun("upgrade", "rel", changed, "--recreate", "Job/migrate")
			for _, id := range []string{"ConfigMap/settings", "Job/migrate"} {
				expectRecreated(t, h, id)
			}
			h.MustRun("upgrade", "rel", changed)
		},
	})
}

// TestHeldByFinalizer checks that an object that does not disappear after its deletion is not lost.
//   - "the error names the finalizers for which it waits"
func TestHeldByFinalizer(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"later upgrade": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Write(t, settings("1", onImmutable)), "--wait=ordered")
			h.Patch(t, "ConfigMap/settings", `{"metadata":{"finalizers":["ordered.example/hold"],"labels":{"by":"others"}}}`)
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, settings("2", onImmutable)), "--wait=ordered", "--timeout=3s"},
				"ConfigMap/settings was not recreated: it was deleted, but still exists after ", "ConfigMap/settings is being deleted, waiting for finalizers: ordered.example/hold",
				"from which the next operation on the release creates it again")
			if left := copies(t, h); len(left) != 1 {
				t.Fatalf("the copies are %q", left)
			}
			h.ExpectFailure(t, []string{"rollback", "rel", "1", "--timeout=3s"}, "waiting for finalizers: ordered.example/hold", "to give up this object, delete Secret sh.helm.recreated.v1.rel.")
			h.RemoveFinalizers(t, "ConfigMap/settings")
			r := h.MustRun("rollback", "rel", "1")
			harness.ExpectContains(t, r.Stderr, "is created again as it was before revision 2, whose operation deleted it and did not create it")
			if got := h.Get(t, "ConfigMap/settings"); harness.ValueOf(got) != "1" || got.GetLabels()["by"] != "others" {
				t.Errorf("it is %v", got)
			}
			if left := copies(t, h); len(left) > 0 {
				t.Errorf("the copies %q are left", left)
			}
		},
		"without an order": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.Write(t, settings("1", onImmutable)))
			h.Patch(t, "ConfigMap/settings", `{"metadata":{"finalizers":["ordered.example/hold"]}}`)
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, settings("2", onImmutable)), "--timeout=2s"},
				"it was deleted, but still exists after 2s: ConfigMap/settings is being deleted, waiting for finalizers: ordered.example/hold")
			h.RemoveFinalizers(t, "ConfigMap/settings")
			h.MustRun("uninstall", "rel")
			if left := copies(t, h); len(left) > 0 {
				t.Errorf("the copies %q are left", left)
			}
		},
	})
}

// TestKilled checks that nothing is lost if an operation is killed between the deletion of objects and their creation.
//   - "the next upgrade or rollback creates the object from the Secret before it does anything else"
//   - "and when the release is uninstalled"
//   - "A Job or Pod that had ended is not created then, because it would run again"
//   - "An object that was created as declared before the operation failed is not restored from the Secret either"
//   - "If the server rejects the new object after all, the object is created again as it was before"
func TestKilled(t *testing.T) {
	t.Parallel()
	chart := func(t *testing.T, value string) string {
		return charts.Write(t, settings(value, onImmutable), service(value), charts.Object{Kind: "Job", Name: "migrate", Layer: "db", DependsOn: "settings", Value: value, Annotations: []string{onImmutable}})
	}
	creates := func(resource string) func(fault.Request) bool {
		return func(what fault.Request) bool {
			return what.Verb == "create" && what.Resource == resource && what.Query.Get("dryRun") == ""
		}
	}
	// install installs the chart. Others label the ConfigMap.
	install := func(t *testing.T, h *harness.Helm) {
		h.MustRun("install", "rel", chart(t, "1"), "--wait=ordered")
		h.Patch(t, "ConfigMap/settings", `{"metadata":{"labels":{"by":"others"}}}`)
	}
	reject := func(t *testing.T, h *harness.Helm, resource string) {
		h.UseProxy(t).Intercept(fault.First(1, creates(resource), fault.Answer(http.StatusForbidden, metav1.StatusReasonForbidden)))
	}
	// kill kills an upgrade when it creates an object of a resource after it has deleted it.
	kill := func(t *testing.T, h *harness.Helm, resource, id, value string) {
		held, pass := h.HoldRequests(t, creates(resource))
		defer pass()
		h.KillWhen(t, "is deleted and created again", func() bool {
			harness.AwaitClosed(t, held, "the creation")
			return true
		}, "upgrade", "rel", chart(t, value), "--wait=ordered")
		if h.Get(t, id) != nil || len(copies(t, h)) == 0 {
			t.Fatalf("%s exists, or there is no copy", id)
		}
	}
	killFirst := func(t *testing.T, h *harness.Helm, resource, id string) {
		install(t, h)
		kill(t, h, resource, id, "2")
	}
	// fail makes an upgrade fail after it has recreated the ConfigMap.
	fail := func(t *testing.T, h *harness.Helm) {
		install(t, h)
		reject(t, h, "jobs")
		h.ExpectFailure(t, []string{"upgrade", "rel", chart(t, "2"), "--wait=ordered"}, "Job/migrate was not recreated")
		if harness.ValueOf(h.Get(t, "ConfigMap/settings")) != "2" || len(copies(t, h)) == 0 {
			t.Fatal("the ConfigMap was not recreated, or there is no copy")
		}
	}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"upgrade": func(t *testing.T, h *harness.Helm) {
			killFirst(t, h, "configmaps", "ConfigMap/settings")
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", chart(t, "2"), "--wait=ordered", "--recreate=Service/web")
			writes := h.ReadTrace(t).Since(h.Started).HelmWrites("ConfigMap/settings")
			if len(writes) != 3 || writes[0].Verb != "create" || harness.ValueOf(h.Get(t, "ConfigMap/settings")) != "2" {
				t.Errorf("the writes are %+v", writes)
			}
			if left := copies(t, h); len(left) > 0 {
				t.Errorf("the copies %q are left", left)
			}
		},
		"rollback": func(t *testing.T, h *harness.Helm) {
			killFirst(t, h, "configmaps", "ConfigMap/settings")
			h.MustRun("rollback", "rel", "1")
			if got := h.Get(t, "ConfigMap/settings"); harness.ValueOf(got) != "1" || got.GetLabels()["by"] != "others" {
				t.Errorf("it is %v", got)
			}
			if left := copies(t, h); len(left) > 0 {
				t.Errorf("the copies %q are left", left)
			}
		},
		"a Job that had ended": func(t *testing.T, h *harness.Helm) {
			killFirst(t, h, "jobs", "Job/migrate")
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", chart(t, "2"), "--wait=ordered", "--recreate=Service/web")
			if writes := h.ReadTrace(t).Since(h.Started).HelmWrites("Job/migrate"); len(writes) != 1 || writes[0].Verb != "create" {
				t.Errorf("the writes are %+v", writes)
			}
			if left := copies(t, h); len(left) > 0 {
				t.Errorf("the copies %q are left", left)
			}
		},
		"rejected": func(t *testing.T, h *harness.Helm) {
			install(t, h)
			reject(t, h, "configmaps")
			h.ExpectFailure(t, []string{"upgrade", "rel", chart(t, "2"), "--wait=ordered"}, "it was deleted, and created again as it was before")
			if got := h.Get(t, "ConfigMap/settings"); harness.ValueOf(got) != "1" || got.GetLabels()["by"] != "others" {
				t.Errorf("it is %v", got)
			}
		},
		"deleted by others after a failure": func(t *testing.T, h *harness.Helm) {
			fail(t, h)
			h.Delete(t, "ConfigMap/settings")
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", chart(t, "2"), "--wait=ordered", "--recreate=Service/web")
			if writes := h.ReadTrace(t).Since(h.Started).HelmWrites("ConfigMap/settings"); len(writes) != 1 || harness.ValueOf(h.Get(t, "ConfigMap/settings")) != "2" {
				t.Errorf("the writes are %+v", writes)
			}
			if left := copies(t, h); len(left) > 0 {
				t.Errorf("the copies %q are left", left)
			}
		},
		"a second time": func(t *testing.T, h *harness.Helm) {
			fail(t, h)
			kill(t, h, "configmaps", "ConfigMap/settings", "3")
			h.MustRun("rollback", "rel", "1")
			if got := h.Get(t, "ConfigMap/settings"); harness.ValueOf(got) != "1" || got.GetLabels()["by"] != "others" {
				t.Errorf("it is %v", got)
			}
		},
		"while it is undone": func(t *testing.T, h *harness.Helm) {
			install(t, h)
			var created atomic.Int32
			held, pass := h.HoldRequests(t, func(what fault.Request) bool { return creates("configmaps")(what) && created.Add(1) == 2 })
			defer pass()
			h.KillWhen(t, "is deleted and created again", func() bool {
				harness.AwaitClosed(t, held, "the creation as it was")
				return true
			}, "upgrade", "rel", charts.Write(t, append([]charts.Object{settings("2", onImmutable)}, broken...)...), "--wait=ordered", "--atomic")
			pass()
			if h.Get(t, "ConfigMap/settings") != nil {
				t.Fatal("the ConfigMap exists")
			}
			h.MustRun("rollback", "rel", "1")
			if got := h.Get(t, "ConfigMap/settings"); harness.ValueOf(got) != "1" || got.GetLabels()["by"] != "others" {
				t.Errorf("it is %v", got)
			}
		},
		"uninstall": func(t *testing.T, h *harness.Helm) {
			killFirst(t, h, "configmaps", "ConfigMap/settings")
			h.MustRun("uninstall", "rel")
			if left := copies(t, h); len(left) > 0 || h.Get(t, "ConfigMap/settings") != nil {
				t.Errorf("the copies %q are left", left)
			}
		},
	})
}

// TestUninstallAfterKill uninstalls a release whose StatefulSet was deleted, and not created.
//   - "An uninstall creates a StatefulSet that was deleted in this way again first, so that its pods are deleted with it"
func TestUninstallAfterKill(t *testing.T) {
	t.Parallel()
	h := newShop(t)
	held, pass := h.HoldRequests(t, func(what fault.Request) bool {
		return what.Verb == "create" && what.Resource == "statefulsets" && what.Query.Get("dryRun") == ""
	})
	defer pass()
	h.KillWhen(t, `StatefulSet "db"`, func() bool {
		harness.AwaitClosed(t, held, "the creation")
		return true
	}, append([]string{"upgrade", "rel", shop(h, "2").Write(t), "--progress=plain"}, allow...)...)
	pass()
	if h.Get(t, "StatefulSet/db") != nil || h.Get(t, "Pod/db-0") == nil {
		t.Fatal("the StatefulSet exists, or its pod does not")
	}
	h.MustRun("uninstall", "rel")
	harness.Eventually(t, "the pod is deleted", func() bool { return h.Get(t, "Pod/db-0") == nil })
	if left := copies(t, h); len(left) > 0 || h.Get(t, "StatefulSet/db") != nil {
		t.Errorf("the copies %q or the StatefulSet are left", left)
	}
}
