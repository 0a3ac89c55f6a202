// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package render renders a chart with its values to a manifest, hooks and notes, as Helm
// does. It also converts sequencing annotations to the canonical form, which Kubernetes
// accepts, and finds out which chart each document comes from, for package sequencer.
package render

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// notesFile is the name of the template with the notes of a chart.
const notesFile = "NOTES.txt"

// Options are the options of the function Chart.
type Options struct {
	// Values contains the values for the templates, as returned by
	// chartutil.ToRenderValues.
	Values chartutil.Values
	// Capabilities describes the cluster to the templates.
	Capabilities *chartutil.Capabilities
	// RESTConfig, if not nil, lets the template function "lookup" read from the cluster.
	RESTConfig *rest.Config
	// EnableDNS lets the template function "getHostByName" look up addresses.
	EnableDNS bool
	// SubNotes adds the notes of subcharts to those of the chart.
	SubNotes bool
	// IncludeCRDs adds the contents of crds/ directories at the start of the manifest.
	IncludeCRDs bool
	// HideSecret replaces Secrets in Result.Manifest with comments.
	HideSecret bool
	// ChangeManifest, if not nil, can change the documents of the manifest, before those from crds/
	// directories are added and before the post-renderer runs.
	ChangeManifest func(*lifecycle.Manifest) error
	// PostRenderer, if not nil, changes the manifest.
	PostRenderer postrender.PostRenderer
	// KeepObjects keeps the parsed documents, so that Result.Resources and Result.Documents
	// need not parse them again.
	KeepObjects bool
	// Root is the tree of charts, from which the chart of each document in the output of a
	// post-renderer is determined. If it is nil, Result.Charts is not set.
	Root *sequencer.Chart
}

// Result is the result of the function Chart.
type Result struct {
	// Hooks contains the hooks in Helm's install order.
	Hooks []*release.Hook
	// Manifest contains all resources that are not hooks, as a YAML stream, in the form
	// that is stored in a release.
	Manifest string
	// Files contains the documents of Manifest as they were before a post-renderer changed
	// them.
	Files []File
	// Notes is the text of the rendered notes.
	Notes string
	// Charts contains the path of the chart of each document in Manifest. If it is nil, the
	// charts are determined from the Source comments of the documents.
	Charts []string
	// WrittenKeys is as in sequencer.Input.
	WrittenKeys map[sequencer.AnnotationKey]string

	changed, restored bool // see Changed and Restore
}

// Restore returns the result of an earlier call of Chart, without Files.
func Restore(hooks []*release.Hook, manifest, notes string, charts []string) *Result {
	return &Result{Hooks: hooks, Manifest: manifest, Notes: notes, Charts: charts, changed: true, restored: true}
}

// File is a rendered document. Name is the path of the template that contains it.
type File struct {
	Name, Content string
	// Secret says whether the document is a Secret of the Kubernetes core API (v1).
	Secret bool

	// kind is the kind of the object, and rank its position in Helm's install order.
	kind string
	rank int
	// object is the parsed document, if parsed is set. It is nil if the document contains
	// only comments.
	object map[string]any
	parsed bool
	// changed says whether a handler of the event post-render has changed or added the document.
	changed bool
	// crd says whether the document comes from a crds/ directory. It is not parsed, and may
	// be several documents.
	crd bool
}

// Chart renders ch. If a document cannot be parsed, it returns an error together with a
// result whose Manifest is the rendered text, for debugging.
func Chart(ch *chart.Chart, o Options) (*Result, error) {
	r := &Result{Hooks: []*release.Hook{}}
	if want := ch.Metadata.KubeVersion; want != "" {
		if have := o.Capabilities.KubeVersion.String(); !chartutil.IsCompatibleRange(want, have) {
			return r, fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", want, have)
		}
	}
	files, err := runEngine(ch, o)
	if err != nil {
		return r, err
	}
	return FromTemplates(ch, files, o)
}

// FromTemplates is like Chart for templates that were rendered before. It removes the notes from files, which
// contains the rendered templates by path.
func FromTemplates(ch *chart.Chart, files map[string]string, o Options) (*Result, error) {
	r := &Result{Hooks: []*release.Hook{}}
	notes := extractNotes(ch, files, o.SubNotes)
	docs, err := templateDocuments(files, o.KeepObjects || o.ChangeManifest != nil)
	if err != nil {
		r.Manifest = concatenate(files)
		return r, err
	}
	hooks, documents, err := sortDocuments(docs)
	if err != nil {
		r.Manifest = concatenate(withDocuments(files, docs))
		return r, err
	}
	if hooks != nil {
		r.Hooks = hooks
	}
	if o.ChangeManifest != nil {
		var changed []templateDocument
		if documents, changed, err = changeManifest(documents, ch.Name(), o); err != nil {
			r.Manifest = concatenate(withDocuments(files, docs))
			return r, err
		}
		docs = append(docs, changed...)
	}
	if o.IncludeCRDs {
		r.addCRDs(ch)
	}
	r.Files, r.WrittenKeys = append(r.Files, documents...), writtenKeys(docs)
	r.Manifest, r.changed = r.stream(o.HideSecret), o.HideSecret || o.PostRenderer != nil
	if o.PostRenderer != nil {
		if err := r.postRender(o); err != nil {
			return r, err
		}
	}
	r.Notes = notes
	return r, nil
}

func runEngine(ch *chart.Chart, o Options) (map[string]string, error) {
	var e engine.Engine
	if o.RESTConfig != nil {
		e = engine.New(o.RESTConfig)
	}
	e.EnableDNS = o.EnableDNS
	return e.Render(ch, o.Values)
}

// extractNotes removes the rendered NOTES.txt files from files, and returns their text:
// only that of the root chart unless subNotes is set, otherwise followed by those of the
// subcharts, sorted by path.
func extractNotes(ch *chart.Chart, files map[string]string, subNotes bool) string {
	own := path.Join(ch.Name(), "templates", notesFile)
	notes := files[own]
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, notesFile) {
			continue
		}
		if subNotes && name != own {
			if notes != "" {
				notes += "\n"
			}
			notes += files[name]
		}
		delete(files, name)
	}
	return notes
}

// concatenate joins the contents of all files, for debugging.
func concatenate(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.TrimSpace(files[name]) != "" {
			writeDocument(&b, name, files[name])
		}
	}
	return b.String()
}

func writeDocument(b *strings.Builder, name, content string) {
	for _, part := range [...]string{"---\n", sourceComment, name, "\n", content, "\n"} {
		b.WriteString(part)
	}
}

// addCRDs adds the contents of the crds/ directories to r.Files.
func (r *Result) addCRDs(ch *chart.Chart) {
	for _, crd := range ch.CRDObjects() {
		r.Files = append(r.Files, File{Name: crd.Filename, Content: string(crd.File.Data), crd: true})
	}
}

// text returns the content of the document, or a comment if it is a Secret and hideSecret
// is set.
func (f File) text(hideSecret bool) string {
	if hideSecret && f.Secret {
		return "# HIDDEN: The Secret output has been suppressed"
	}
	return f.Content
}

// stream joins r.Files to a YAML stream. If hideSecret is set, comments replace Secrets.
func (r *Result) stream(hideSecret bool) string {
	var b strings.Builder
	size := 0
	for _, f := range r.Files {
		size += len("---\n"+sourceComment+"\n\n") + len(f.Name) + len(f.text(hideSecret))
	}
	b.Grow(size)
	for _, f := range r.Files {
		writeDocument(&b, f.Name, f.text(hideSecret))
	}
	return b.String()
}

// postRender replaces r.Manifest with the output of the post-renderer. If o.Root is set, it
// also sets r.Charts: while the post-renderer runs, each object has an annotation that
// names its chart.
func (r *Result) postRender(o Options) error {
	in := r.Manifest
	if o.Root != nil {
		marked, err := r.addChartMarkers(o.Root, o.HideSecret)
		if err != nil {
			return err
		}
		in = marked
	}
	out, err := o.PostRenderer.Run(bytes.NewBufferString(in))
	if err != nil {
		return fmt.Errorf("error while running post render on files: %w", err)
	}
	r.Manifest = out.String()
	if o.Root != nil {
		return r.removeChartMarkers(o.Root.Name)
	}
	return nil
}
