// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapplication

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/render"
)

const (
	group      = "app.k8s.io"
	version    = "v1beta1"
	apiVersion = group + "/" + version
	kind       = "Application"
	resource   = "applications"

	// releaseUIDAnnotation is the annotation of an Application with the UID of the Release that it owns.
	releaseUIDAnnotation = "helm.sh/release-uid"
	// instanceLabel is the label with the name of the release that charts set on their objects by convention.
	instanceLabel = "app.kubernetes.io/instance"
	// maxDescription is the maximum number of characters of a chart's description in an Application.
	maxDescription = 1024
)

// newApplication returns the Application for parent, a Release, that describes a revision. It is marked as an object of
// the release, so that the chart can declare the Application later.
func newApplication(parent *releaseapi.Release, rel *release.Release) *unstructured.Unstructured {
	fields := descriptor(rel)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	application := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": map[string]any{
		"descriptor": fields, "componentKinds": componentKinds(rel), "selector": map[string]any{"matchLabels": map[string]any{instanceLabel: rel.Name}},
	}}}
	application.SetNamespace(parent.Namespace)
	application.SetName(parent.Name)
	application.SetLabels(map[string]string{
		releaseapi.HeritageLabel: releaseapi.Heritage, instanceLabel: parent.Name, annotation.ManagedByLabel: annotation.ManagedByHelm,
	})
	application.SetAnnotations(map[string]string{
		releaseUIDAnnotation: string(parent.UID), annotation.ReleaseName: parent.Name, annotation.ReleaseNamespace: parent.Namespace,
	})
	return application
}

// spec returns what the spec of an Application says about a revision. Empty fields of the descriptor are null, so that a
// patch removes them.
func spec(rel *release.Release) map[string]any {
	return map[string]any{"descriptor": descriptor(rel), "componentKinds": componentKinds(rel)}
}

func descriptor(rel *release.Release) map[string]any {
	fields := map[string]any{"type": nil, "version": nil, "description": nil}
	if rel.Chart == nil || rel.Chart.Metadata == nil {
		return fields
	}
	chart := releaseapi.NewChart(rel.Chart.Metadata)
	for field, text := range map[string]string{
		"type": chart.Name, "version": cmp.Or(chart.AppVersion, chart.Version),
		"description": releaseapi.Truncate(rel.Chart.Metadata.Description, maxDescription),
	} {
		if text != "" {
			fields[field] = text
		}
	}
	return fields
}

// componentKinds returns the kinds of the objects of a revision, sorted.
func componentKinds(rel *release.Release) []any {
	var kinds []schema.GroupKind
	for _, doc := range render.Split(rel.Manifest) {
		if h := decodeKind(doc); h.Kind != "" {
			kinds = append(kinds, schema.FromAPIVersionAndKind(h.APIVersion, h.Kind).GroupKind())
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	list := []any{}
	for _, k := range slices.Compact(kinds) {
		list = append(list, map[string]any{"group": k.Group, "kind": k.Kind})
	}
	return list
}

// document is what is of interest in a document of a manifest.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Spec map[string]any `json:"spec"`
}

// decodeKind returns the apiVersion and the kind of a document; nothing if it is no object. It decodes only their lines if it
// can, because a revision can have thousands of documents.
func decodeKind(doc string) document {
	var lines strings.Builder
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "apiVersion:") || strings.HasPrefix(line, "kind:") {
			lines.WriteString(line)
		}
	}
	if h := decode(lines.String()); h.APIVersion != "" && h.Kind != "" {
		return h
	}
	return decode(doc)
}

// decode decodes a document. The result is empty if it is not valid.
func decode(text string) document {
	var d document
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		return document{}
	}
	return d
}

// declared returns the Application with the name of the release that a revision itself contains, as a resource or as a
// hook; nil if there is none.
func declared(rel *release.Release) *document {
	var docs []string
	if strings.Contains(rel.Manifest, group) {
		docs = render.Split(rel.Manifest)
	}
	for _, h := range rel.Hooks {
		docs = append(docs, h.Manifest)
	}
	for _, text := range docs {
		if !strings.Contains(text, group) {
			continue
		}
		d := decode(text)
		if d.Kind == kind && strings.HasPrefix(d.APIVersion, group+"/") && d.Metadata.Name == rel.Name && cmp.Or(d.Metadata.Namespace, rel.Namespace) == rel.Namespace {
			return &d
		}
	}
	return nil
}
