// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	testcluster "github.com/ordered-helm/helm/test/cluster"
)

// parityCase is a change of one object, described by manifests in which NS
// stands for the namespace, and GROUP for the group of a kind that is defined.
type parityCase struct {
	name string
	// before was deployed; empty if nothing was.
	before string
	// foreign is what somebody else changed since, as a merge patch.
	foreign string
	// after is to be applied.
	after string
	// adopted is whether before is unknown, so that the live object is the base.
	adopted         bool
	force, threeWay bool
}

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app.kubernetes.io/managed-by: Helm}}
data: {kept: a, changed: b, removed: c}
`

const configMapAfter = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {new: "yes"}}
data: {kept: a, changed: z, added: d}
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: nginx:1
        env: [{name: KEPT, value: a}, {name: CHANGED, value: b}, {name: REMOVED, value: c}]
        ports: [{containerPort: 80}]
`

const deploymentAfter = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: sidecar
        image: proxy:1
      - name: main
        image: nginx:2
        env: [{name: ADDED, value: d}, {name: KEPT, value: a}, {name: CHANGED, value: z}]
        ports: [{containerPort: 80}]
`

const service = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: old, port: 81}]}
`

const serviceAfter = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web, tier: front}, ports: [{name: http, port: 80, targetPort: 8080}, {name: new, port: 82}]}
`

// role is of the whole cluster, whatever namespace it names.
const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS, namespace: NS, labels: {a: b}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  names: {kind: Widget, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const definitionAfter = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP, labels: {version: second}}
spec:
  group: GROUP
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wg]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const widget = `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: one, labels: {a: b}}
spec: {kept: 1, changed: 2, removed: 3, list: [1, 2], nested: {x: 1, y: null}}
`

const widgetAfter = `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: one, labels: {a: c}}
spec: {kept: 1, changed: 9, added: 4, list: [2], nested: {x: 1}}
`

const foreignMarks = `{"metadata": {"labels": {"foreign": "label"}, "annotations": {"foreign": "mark"}}}`

func parityCases() []parityCase {
	return []parityCase{
		{name: "config map created", after: configMap},
		{name: "config map unchanged", before: configMap, after: configMap, foreign: foreignMarks},
		{name: "config map changed", before: configMap, after: configMapAfter, foreign: foreignMarks},
		{name: "config map changed by others", before: configMap, after: configMap, foreign: `{"data": {"kept": "other", "removed": null, "foreign": "x"}}`},
		{name: "config map adopted", before: configMap, after: configMapAfter, foreign: foreignMarks, adopted: true},
		{name: "config map replaced", before: configMap, after: configMapAfter, foreign: foreignMarks, force: true},
		{name: "deployment changed", before: deployment, after: deploymentAfter, foreign: foreignMarks},
		{name: "deployment changed by others", before: deployment, after: deployment, foreign: `{"spec": {"replicas": 3, "minReadySeconds": 5, "paused": true}}`},
		{name: "deployment adopted", before: deployment, after: deploymentAfter, foreign: foreignMarks, adopted: true},
		{name: "deployment replaced", before: deployment, after: deploymentAfter, foreign: foreignMarks, force: true},
		{name: "selector is immutable", before: deployment, after: strings.ReplaceAll(deployment, "app: web", "app: other")},
		{name: "selector is immutable for force", before: deployment, after: strings.ReplaceAll(deployment, "app: web", "app: other"), force: true},
		{name: "env without a name", before: deployment, after: strings.Replace(deployment, "{name: KEPT, value: a}", "null", 1)},
		{name: "env of another shape", before: deployment, after: strings.Replace(deployment, "{name: KEPT, value: a}", "KEPT=a", 1)},
		{name: "service changed", before: service, after: serviceAfter, foreign: foreignMarks},
		{name: "service replaced", before: service, after: serviceAfter, foreign: foreignMarks, force: true},
		{name: "invalid object", after: strings.Replace(service, "port: 80", "port: 800000", 1)},
		{name: "cluster role with a namespace unchanged", before: role, after: role, foreign: foreignMarks},
		{name: "cluster role with a namespace changed", before: role, after: strings.Replace(role, "get", "list", 1), foreign: foreignMarks},
		{name: "cluster role with a namespace replaced", before: role, after: strings.Replace(role, "get", "list", 1), foreign: foreignMarks, force: true},
		{name: "definition changed", before: definition, after: definitionAfter, foreign: foreignMarks},
		{name: "definition replaced", before: definition, after: definitionAfter, foreign: foreignMarks, force: true},
		{name: "custom resource created", after: widget},
		{name: "custom resource changed", before: widget, after: widgetAfter, foreign: foreignMarks},
		{name: "custom resource changed by others", before: widget, after: widget, foreign: `{"spec": {"kept": 7}}`},
		{name: "custom resource changed by others, three-way", before: widget, after: widget, foreign: `{"spec": {"kept": 7}}`, threeWay: true},
		{name: "custom resource changed, three-way", before: widget, after: widgetAfter, foreign: `{"spec": {"kept": 7, "foreign": 8}}`, threeWay: true},
		{name: "custom resource adopted", before: widget, after: widgetAfter, foreign: foreignMarks, adopted: true},
		{name: "custom resource adopted, three-way", before: widget, after: widgetAfter, foreign: foreignMarks, adopted: true, threeWay: true},
		{name: "custom resource replaced", before: widget, after: widgetAfter, foreign: foreignMarks, force: true},
	}
}

// TestApplyIsHelmsUpdate compares what Apply leaves on a real API server with
// what Helm's own Update leaves.
func TestApplyIsHelmsUpdate(t *testing.T) {
	if os.Getenv(testcluster.ReuseEnv) == "" {
		t.Skipf("%s names no cluster: skipped", testcluster.ReuseEnv)
	}
	group := defined(t)
	for _, c := range parityCases() {
		t.Run(c.name, func(t *testing.T) {
			helms, ours := newSite(t, group), newSite(t, group)
			if strings.Contains(c.after, "CustomResourceDefinition") {
				helms, ours = newSite(t, ""), newSite(t, "")
			}
			helms.prepare(c)
			ours.prepare(c)
			original, target := helms.lists(c)
			update := helms.kube.Update
			if c.threeWay {
				update = helms.kube.UpdateThreeWayMerge
			}
			_, helmsErr := update(original, target, c.force)
			helmsHeld := helms.clean(target[0].Object)

			original, target = ours.lists(c)
			_, oursErr := cluster.New(ours.kube, ours.getter, t.Logf).
				Apply(t.Context(), target, cluster.ApplyOptions{Originals: original, Force: c.force, ThreeWay: c.threeWay})
			oursHeld := ours.clean(target[0].Object)

			if want, got := helms.text(helmsErr), ours.text(oursErr); got != want {
				t.Errorf("error\n%s\nwant\n%s", got, want)
			}
			if helmsErr == nil && oursHeld != helmsHeld {
				t.Errorf("held after it:\n%s\nwant\n%s", oursHeld, helmsHeld)
			}
			if want, got := helms.live(c), ours.live(c); got != want {
				t.Errorf("on the server:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// defined defines the kind Widget and returns its group.
func defined(t *testing.T) string {
	s := newSite(t, "")
	s.create(definition)
	s.await()
	return s.group
}

// site is a namespace with a Helm client.
type site struct {
	testing.TB
	namespace string
	group     string
	getter    *genericclioptions.ConfigFlags
	kube      *kube.Client
}

// newSite returns a site; without a group it has one of its own.
func newSite(t testing.TB, group string) *site {
	shared := testcluster.Shared(t)
	namespace, kubeconfig, cache := shared.Namespace(t), shared.Kubeconfig(), t.TempDir()
	getter := genericclioptions.NewConfigFlags(true)
	getter.KubeConfig, getter.Namespace, getter.CacheDir = &kubeconfig, &namespace, &cache
	client := kube.New(getter)
	client.Namespace = namespace
	if group == "" {
		group = namespace + ".example.com"
	}
	return &site{TB: t, namespace: namespace, group: group, getter: getter, kube: client}
}

func (s *site) build(manifest string) kube.ResourceList {
	s.Helper()
	list, err := s.kube.Build(strings.NewReader(s.fill(manifest)), false)
	if err != nil {
		s.Fatal(err)
	}
	return list
}

func (s *site) fill(manifest string) string {
	return strings.NewReplacer("NS", s.namespace, "GROUP", s.group).Replace(manifest)
}

// empty is the inverse of fill.
func (s *site) empty(text string) string {
	return strings.NewReplacer(s.group, "GROUP", s.namespace, "NS").Replace(text)
}

// prepare deploys what was there before.
func (s *site) prepare(c parityCase) {
	s.Helper()
	if c.before == "" {
		return
	}
	s.create(c.before)
	if c.foreign == "" {
		return
	}
	for _, info := range s.build(c.before) {
		helper := resource.NewHelper(info.Client, info.Mapping).WithFieldManager("somebody")
		if _, err := helper.Patch(info.Namespace, info.Name, types.MergePatchType, []byte(c.foreign), nil); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *site) create(manifest string) {
	s.Helper()
	list := s.build(manifest)
	if _, err := s.kube.Create(list); err != nil {
		s.Fatal(err)
	}
	if !list[0].Namespaced() {
		s.Cleanup(func() {
			if _, errs := s.kube.Delete(list); errs != nil {
				s.Error(errs)
			}
		})
	}
}

// await waits until the server serves the defined kind.
func (s *site) await() {
	s.Helper()
	dc, err := s.getter.ToDiscoveryClient()
	if err != nil {
		s.Fatal(err)
	}
	mapper, err := s.getter.ToRESTMapper()
	if err != nil {
		s.Fatal(err)
	}
	for s.Context().Err() == nil {
		dc.Invalidate()
		meta.MaybeResetRESTMapper(mapper)
		list, err := s.kube.Build(strings.NewReader(s.fill(widget)), false)
		if err == nil {
			if _, err = resource.NewHelper(list[0].Client, list[0].Mapping).List(s.namespace, "", &metav1.ListOptions{}); err == nil {
				return
			}
		}
	}
	s.Fatal("the kind is not served")
}

func (s *site) lists(c parityCase) (original, target kube.ResourceList) {
	s.Helper()
	if c.before != "" && !c.adopted {
		original = s.build(c.before)
	}
	return original, s.build(c.after)
}

func (s *site) live(c parityCase) string {
	s.Helper()
	info := s.build(c.after)[0]
	if err := info.Get(); err != nil {
		return s.text(err)
	}
	return s.clean(info.Object)
}

// quotedObject is the whole object that the server quotes in some refusals.
var quotedObject = regexp.MustCompile(`Invalid value: "\{.*\}"`)

func (s *site) text(err error) string {
	if err == nil {
		return ""
	}
	return s.empty(quotedObject.ReplaceAllString(err.Error(), `Invalid value: ...`))
}

// clean prints an object without what differs from run to run, or depends on
// when controllers come to it.
func (s *site) clean(object any) string {
	s.Helper()
	u := object.(*unstructured.Unstructured).DeepCopy()
	delete(u.Object, "status")
	annotations := u.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	if len(annotations) == 0 {
		annotations = nil
	}
	u.SetAnnotations(annotations)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(u.Object, "spec", "clusterIP")
	unstructured.RemoveNestedField(u.Object, "spec", "clusterIPs")
	fields := slices.DeleteFunc(u.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager != filepath.Base(os.Args[0]) // which of the others came first is chance
	})
	for i := range fields {
		fields[i].Time = nil
	}
	u.SetManagedFields(fields)
	data, err := json.Marshal(u.Object)
	if err == nil {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		s.Fatal(err)
	}
	return s.empty(string(data))
}
