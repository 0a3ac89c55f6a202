// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ordered-helm/helm/internal/object"
)

// TestRestorable checks which fields of a live object a new object gets.
func TestRestorable(t *testing.T) {
	const server = "uid: u, resourceVersion: '1', creationTimestamp: now, generation: 2, managedFields: [], deletionTimestamp: now, deletionGracePeriodSeconds: 3"
	for _, tt := range []struct{ name, live, want string }{
		{
			"a ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: b}, finalizers: [x/y, orphan], " + server + "}\nimmutable: true\ndata: {a: b}\nstatus: {a: b}",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: b}, finalizers: [x/y]}\nimmutable: true\ndata: {a: b}",
		},
		{
			"a Job", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, finalizers: [foregroundDeletion], labels: {a: b, controller-uid: u}}\nspec: {selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {a: b, job-name: a, batch.kubernetes.io/controller-uid: u}}}}",
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {a: b}}\nspec: {template: {metadata: {labels: {a: b}}}}",
		},
		{
			"a Job with its own selector", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {manualSelector: true, selector: {matchLabels: {job-name: a}}}",
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {manualSelector: true, selector: {matchLabels: {job-name: a}}}",
		},
		{"a Pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: n, containers: []}", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}"},
		{"a Service", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}"},
	} {
		live := parse(t, tt.live)
		before := live.DeepCopy()
		if got, want := restorable(live), parse(t, tt.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", tt.name, got.Object, want.Object)
		}
		if !reflect.DeepEqual(live, before) {
			t.Errorf("%s: the live object was changed", tt.name)
		}
	}
}

// TestWithoutRejected checks which fields are omitted if the server rejects them.
func TestWithoutRejected(t *testing.T) {
	service := parse(t, "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {x: y}}\nspec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 80}, {port: 81, nodePort: 30000}]}")
	spec := field.NewPath("spec")
	rejected := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "a", field.ErrorList{
		field.Invalid(spec.Child("clusterIPs").Index(0), "10.0.0.1", "is allocated"), field.Invalid(spec.Child("ports").Index(1).Child("nodePort"), 30000, "is allocated"),
		field.Invalid(spec.Child("ports").Index(7).Child("nodePort"), 1, "is not there"), field.Required(spec.Child("type"), ""),
	})
	if got, want := withoutRejected(service, rejected), []string{"spec.clusterIP", "spec.ports[1].nodePort"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if want := parse(t, "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {x: y}}\nspec: {ports: [{port: 80}, {port: 81}]}"); !reflect.DeepEqual(service, want) {
		t.Errorf("got %v", service.Object)
	}
	if got := withoutRejected(service, apierrors.NewForbidden(schema.GroupResource{}, "a", nil)); got != nil {
		t.Errorf("got %q", got)
	}
}

// TestCopies checks that a stored copy is the object.
func TestCopies(t *testing.T) {
	live := parse(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: 'a:b', namespace: prod, uid: u}\nrules: []\nstatus: {a: b}")
	secret, err := encode(&storedCopy{revision: 7, live: live}, object.OwningRelease{Name: "rel", Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	if secret.Labels["owner"] != "" || secret.Labels[releaseLabel] != "rel" || secret.Annotations[objectAnnotation] != "Role/a:b" || secret.Namespace != "prod" {
		t.Errorf("the metadata are %+v", secret.ObjectMeta)
	}
	c, err := decode(secret)
	if err != nil || c.revision != 7 || c.secret != secret.Name || !reflect.DeepEqual(c.live, live) {
		t.Errorf("got %+v, %v", c, err)
	}
	secret.Data[contentKey] = []byte("something else")
	if _, err := decode(secret); err == nil {
		t.Error("an invalid copy was read")
	}
}

// TestReason checks which fields are named.
func TestReason(t *testing.T) {
	const head = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n"
	live := parse(t, head+"spec: {replicas: 1, serviceName: a, podManagementPolicy: OrderedReady, volumeClaimTemplates: [{spec: {size: 1, mode: x}}]}")
	forbidden := field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas' are forbidden")
	for _, tt := range []struct {
		spec string
		err  *field.Error
		want string
	}{
		{"spec: {replicas: 2, serviceName: b}", forbidden, "spec.serviceName is immutable"},
		{"spec: {replicas: 2, serviceName: b, volumeClaimTemplates: [{spec: {size: 2}}]}", forbidden, "spec.serviceName, spec.volumeClaimTemplates are immutable"},
		{"spec: {replicas: 2, volumeClaimTemplates: [{spec: {size: 1}}]}", forbidden, "spec is immutable"},
		{"spec: {serviceName: a}", field.Invalid(field.NewPath("spec", "selector"), nil, "field is immutable"), "spec.selector is immutable"},
		{"spec: {serviceName: a}", field.Invalid(field.NewPath("spec", "selector"), nil, "is wrong"), ""},
	} {
		rejected := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "db", field.ErrorList{tt.err})
		if got := Reason(parse(t, head+tt.spec), live, rejected); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.spec, got, tt.want)
		}
	}
}

// TestRefusal checks which objects are not recreated although it is allowed.
func TestRefusal(t *testing.T) {
	const owned = "labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: rel, meta.helm.sh/release-namespace: prod"
	head := func(metadata string) string {
		return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a, " + metadata + "}\n"
	}
	const pods = "spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a, more: b}}}}"
	for _, tt := range []struct{ name, target, live, want string }{
		{"owned", head("namespace: prod") + pods, head(owned+"}") + pods, ""},
		{"not owned", head("namespace: prod") + pods, head("labels: {a: b}") + pods, "it is not labeled as owned by the release"},
		{"controlled", head("namespace: prod") + pods, head(owned+"}, ownerReferences: [{apiVersion: v1, kind: Owner, name: o, uid: u, controller: true}]") + pods, "it is controlled by Owner/o"},
		{"kept", head("namespace: prod") + pods, head(owned+", helm.sh/resource-policy: keep}") + pods, "its helm.sh/resource-policy is to keep it"},
		{"to be kept", head("annotations: {helm.sh/resource-policy: keep}") + pods, head(owned+"}") + pods, "its helm.sh/resource-policy is to keep it"},
		{"another selector", head("namespace: prod") + "spec: {selector: {matchLabels: {app: b}}}", head(owned+"}") + pods, "the new spec.selector does not match the labels of its pods"},
	} {
		err := refusal(parse(t, tt.target), parse(t, tt.live), object.OwningRelease{Name: "rel", Namespace: "prod"})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
