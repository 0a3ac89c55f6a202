// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"slices"
	"strings"
)

// Object describes an object or a hook of a chart.
type Object struct {
	// Kind is the kind of the object; the default is ConfigMap. The default of APIVersion is
	// the usual one of the kind.
	APIVersion, Kind string
	Name, Namespace  string
	// Layer is the layer of the object. DependsOn lists the layers that it depends on,
	// separated by commas.
	Layer, DependsOn string
	// Value is stored in the data of a ConfigMap or Secret, or in an environment variable of a
	// container. Tests change it from revision to revision.
	Value string
	// Hook lists the events of a hook, separated by commas. Weight is its weight.
	Hook   string
	Weight int
	// DeletePolicy and LogPolicy list policies of a hook, separated by commas.
	DeletePolicy, LogPolicy string
	// ID is the value of the annotation IDAnnotation.
	ID string
	// Gate is the name of a ConfigMap that the containers need, so that they do not start
	// before a test creates it.
	Gate string
	// Labels are the labels, as lines of YAML.
	Labels []string
	// Annotations are additional annotations of the object, PodAnnotations those of its pods,
	// as lines of YAML.
	Annotations, PodAnnotations []string
	// Spec contains additional lines of the spec of a workload.
	Spec []string
	// PodSpec contains additional entries of the spec of the pods, in YAML flow style. If it
	// contains containers, they replace the default ones.
	PodSpec string
	// Containers are the names of the containers. The default is one container named c.
	Containers []string
	// Body is the text of the manifest after the metadata, for objects with an APIVersion.
	Body string
}

// IDAnnotation is the annotation with Object.ID, by which tests find an object in the audit
// log.
const IDAnnotation = "e2e/hook"

// NeverReady contains annotations of pods that never become ready. ShortTimeout and
// LongTimeout contain readiness timeouts: a very short one, and one that is sufficient for any
// workload.
var (
	NeverReady   = []string{"devcluster/pod: never"}
	ShortTimeout = []string{"helm.sh/readiness-timeout: 1s"}
	LongTimeout  = []string{"helm.sh/readiness-timeout: 30s"}
)

// Pod returns a Pod in a layer, with additional annotations.
func Pod(name, layer string, annotations ...string) Object {
	return Object{Kind: "Pod", Name: name, Layer: layer, Annotations: annotations}
}

// Last returns a ConfigMap named last, in the layer last, which depends on the layers in
// dependsOn, separated by commas.
func Last(dependsOn string) Object {
	return Object{Name: "last", Layer: "last", DependsOn: dependsOn}
}

// Definition returns a CRD for a kind in a group, whose schema accepts any fields.
func Definition(group, kind string) Object {
	singular := strings.ToLower(kind)
	return Object{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: singular + "s." + group,
		Body: "spec:\n  group: " + group + "\n  scope: Namespaced\n  names: {kind: " + kind + ", plural: " + singular + "s, singular: " + singular + "}\n" +
			"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n",
	}
}

// CustomResource returns a custom resource of a kind that a Definition defines.
func CustomResource(group, kind, name string) Object {
	return Object{APIVersion: group + "/v1", Kind: kind, Name: name}
}

// ConfigMap returns the manifest of a ConfigMap with annotations.
func ConfigMap(name string, annotations ...string) string {
	return Object{Name: name, Annotations: annotations}.Manifest()
}

// Manifests returns the manifests of objects as one YAML stream.
func Manifests(objects ...Object) string {
	var text strings.Builder
	for _, o := range objects {
		text.WriteString(o.Manifest())
	}
	return text.String()
}

// kind contains the API version of a kind, and the content that its objects need apart from
// metadata.
type kind struct{ apiVersion, body string }

// kinds contains the supported kinds, except those whose objects create pods.
var kinds = map[string]kind{
	"ConfigMap":             {"v1", ""},
	"Secret":                {"v1", "stringData: {a: b}\n"},
	"ServiceAccount":        {"v1", ""},
	"Service":               {"v1", "spec: {ports: [{port: 80}]}\n"},
	"PersistentVolumeClaim": {"v1", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n"},
	"Role":                  {"rbac.authorization.k8s.io/v1", "rules: []\n"},
	"RoleBinding":           {"rbac.authorization.k8s.io/v1", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: none}\n"},
	"NetworkPolicy":         {"networking.k8s.io/v1", "spec: {podSelector: {}}\n"},
	"Ingress":               {"networking.k8s.io/v1", "spec: {defaultBackend: {service: {name: none, port: {number: 80}}}}\n"},
	"PodDisruptionBudget":   {"policy/v1", "spec: {maxUnavailable: 1, selector: {matchLabels: {app: none}}}\n"},
}

// unknownAPIVersion is the API version of all other kinds. No server serves it.
const unknownAPIVersion = "ordered.example/v1"

// String returns the "Kind/name" of the object.
func (o Object) String() string { return o.kind() + "/" + o.Name }

func (o Object) kind() string {
	if o.Kind == "" {
		return "ConfigMap"
	}
	return o.Kind
}

// Manifest returns the manifest of the object, for a template.
func (o Object) Manifest() string {
	annotations := o.annotations()
	if o.APIVersion != "" {
		return o.head(o.APIVersion, annotations) + o.Body
	}
	switch o.kind() {
	case "Pod":
		return o.head("v1", append(annotations, o.PodAnnotations...)) + "spec: " + o.podSpec() + "\n"
	case "Job":
		return o.head("batch/v1", annotations) + o.workload("backoffLimit: 0")
	case "Deployment", "DaemonSet", "ReplicaSet":
		return o.head("apps/v1", annotations) + o.workload("selector: {matchLabels: {app: "+plain(o.Name)+"}}")
	case "StatefulSet":
		return o.head("apps/v1", annotations) + o.workload("selector: {matchLabels: {app: "+plain(o.Name)+"}}", "serviceName: "+plain(o.Name))
	case "ReplicationController":
		return o.head("v1", annotations) + o.workload("selector: {app: "+plain(o.Name)+"}")
	}
	k, known := kinds[o.kind()]
	if !known {
		k.apiVersion = unknownAPIVersion
	}
	if o.Value != "" {
		k.body = "data: {value: \"" + o.Value + "\"}\n"
	}
	return o.head(k.apiVersion, annotations) + k.body
}

func (o Object) annotations() []string {
	annotations := append([]string{}, o.Annotations...)
	for _, a := range [][2]string{
		{"helm.sh/layer", o.Layer},
		{"depends-on.helm.sh/layers", o.DependsOn},
		{"helm.sh/hook", o.Hook},
		{"helm.sh/hook-delete-policy", o.DeletePolicy},
		{"helm.sh/hook-output-log-policy", o.LogPolicy},
		{IDAnnotation, o.ID},
	} {
		if a[1] != "" {
			annotations = append(annotations, fmt.Sprintf("%s: %q", a[0], a[1]))
		}
	}
	if o.Weight != 0 {
		annotations = append(annotations, fmt.Sprintf(`helm.sh/hook-weight: "%d"`, o.Weight))
	}
	return annotations
}

// head returns the beginning of a manifest, up to and including the metadata.
func (o Object) head(apiVersion string, annotations []string) string {
	metadata := "name: " + plain(o.Name)
	if o.Namespace != "" {
		metadata += `, namespace: "` + o.Namespace + `"`
	}
	if len(o.Labels) > 0 {
		metadata += ", labels: {" + strings.Join(o.Labels, ", ") + "}"
	}
	return "---\napiVersion: " + apiVersion + "\nkind: " + o.kind() + "\nmetadata: " + annotated(metadata, annotations) + "\n"
}

// plain returns a name as YAML. It quotes y and n, which YAML would read as booleans.
func plain(name string) string {
	if name == "y" || name == "n" {
		return `"` + name + `"`
	}
	return name
}

// annotated adds annotations, if there are any, to the text of metadata.
func annotated(metadata string, annotations []string) string {
	if len(annotations) > 0 {
		metadata += ", annotations: {" + strings.Join(annotations, ", ") + "}"
	}
	return "{" + metadata + "}"
}

// workload returns the spec of an object that creates pods.
func (o Object) workload(lines ...string) string {
	text := "spec:\n"
	for _, line := range slices.Concat(o.Spec, lines) {
		if key, _, _ := strings.Cut(line, ":"); !strings.Contains(text, "\n  "+key+":") {
			text += "  " + line + "\n"
		}
	}
	return text + "  template:\n    metadata: " + annotated("labels: {app: "+plain(o.Name)+"}", o.PodAnnotations) + "\n    spec: " + o.podSpec() + "\n"
}

// podSpec returns the spec of a pod, in YAML flow style.
func (o Object) podSpec() string {
	var entries []string
	if (o.Kind == "Job" || o.Kind == "Pod" && o.Hook != "") && !strings.Contains(o.PodSpec, "restartPolicy:") {
		entries = append(entries, "restartPolicy: Never")
	}
	if o.Hook != "" {
		entries = append(entries, "terminationGracePeriodSeconds: 0")
	}
	if !strings.Contains(o.PodSpec, "containers:") {
		entries = append(entries, "containers: ["+strings.Join(o.containers(), ", ")+"]")
	}
	if o.Gate != "" {
		entries = append(entries, `volumes: [{name: gate, configMap: {name: "`+o.Gate+`"}}]`)
	}
	if o.PodSpec != "" {
		entries = append(entries, o.PodSpec)
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func (o Object) containers() []string {
	names := o.Containers
	if len(names) == 0 {
		names = []string{"c"}
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "{name: " + name + ", image: i}"
		if o.Value != "" {
			list[i] = "{name: " + name + `, image: i, env: [{name: V, value: "` + o.Value + `"}]}`
		}
	}
	return list
}
