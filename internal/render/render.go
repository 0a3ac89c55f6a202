// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package render renders a chart with its values, and returns manifests, hooks and notes.
// It converts sequencing annotations to a form that Kubernetes accepts, and determines
// which chart each document comes from, for package sequencer.
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
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// notesFile is the name of the template with the notes of a chart.
const notesFile = "NOTES.txt"

// Options configure the function Chart.
type Options struct {
	// Values are the values for the templates, as returned by chartutil.ToRenderValues.
	Values chartutil.Values
	// Capabilities are the capabilities of the cluster.
	Capabilities *chartutil.Capabilities
	// RESTConfig lets the template function lookup read from the cluster. It can be nil.
	RESTConfig *rest.Config
	// EnableDNS lets the template function getHostByName make DNS lookups.
	EnableDNS bool
	// SubNotes adds the notes of subcharts to those of the chart.
	SubNotes bool
	// IncludeCRDs adds the contents of crds/ directories at the start of the manifest.
	IncludeCRDs bool
	// HideSecret hides the contents of Secrets in Result.Manifest.
	HideSecret bool
	// PostRenderer changes the manifest. It can be nil.
	PostRenderer postrender.PostRenderer
	// Root is the tree of charts. It is used to determine the chart of each document in the
	// output of a post-renderer.
	Root *sequencer.Chart
}

// Result is what the function Chart returns.
type Result struct {
	// Hooks are sorted in Helm's order.
	Hooks []*release.Hook
	// Manifest contains all resources that are not hooks, as a YAML stream, as stored in a
	// release.
	Manifest string
	// Files are the documents of Manifest before any post-renderer.
	Files []File
	// Notes are the rendered notes.
	Notes string
	// Charts is the path of the chart of each document in Manifest. If it is nil, the
	// charts are determined from Source comments.
	Charts []string
}

// File is a rendered document. Name is the path of its template.
type File struct {
	Name, Content string
	// Secret reports whether the document is a core/v1 Secret.
	Secret bool
}

// Chart renders ch. If documents cannot be parsed, it returns an error and a result whose
// Manifest contains the rendered text, for debugging.
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
	notes := extractNotes(ch, files, o.SubNotes)
	canonical, err := canonicalFiles(files)
	if err != nil {
		r.Manifest = concatenate(files)
		return r, err
	}
	hooks, manifests, err := sortManifests(canonical)
	if err != nil {
		r.Manifest = concatenate(canonical)
		return r, err
	}
	if hooks != nil {
		r.Hooks = hooks
	}
	r.addFiles(ch, manifests, o.IncludeCRDs)
	r.Manifest = r.stream(o.HideSecret)
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

// extractNotes removes the rendered NOTES.txt files from files and returns their text. Only
// the notes of the root chart are returned, unless all is set. Then those of the subcharts
// follow, sorted by path.
func extractNotes(ch *chart.Chart, files map[string]string, all bool) string {
	own := path.Join(ch.Name(), "templates", notesFile)
	notes := files[own]
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, notesFile) {
			continue
		}
		if all && name != own {
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
	fmt.Fprintf(b, "---\n# Source: %s\n%s\n", name, content)
}

// addFiles adds documents to r.Files, in the order of the manifest. If crds is set, the
// contents of crds/ directories come first.
func (r *Result) addFiles(ch *chart.Chart, manifests []releaseutil.Manifest, crds bool) {
	if crds {
		for _, crd := range ch.CRDObjects() {
			r.Files = append(r.Files, File{Name: crd.Filename, Content: string(crd.File.Data)})
		}
	}
	for _, m := range manifests {
		r.Files = append(r.Files, File{
			Name: m.Name, Content: m.Content, Secret: m.Head.Kind == "Secret" && m.Head.Version == "v1",
		})
	}
}

// text returns the document for output. If hideSecret is set, a comment replaces a Secret.
func (f File) text(hideSecret bool) string {
	if hideSecret && f.Secret {
		return "# HIDDEN: The Secret output has been suppressed"
	}
	return f.Content
}

func (r *Result) stream(hideSecret bool) string {
	var b strings.Builder
	for _, f := range r.Files {
		writeDocument(&b, f.Name, f.text(hideSecret))
	}
	return b.String()
}

// postRender replaces r.Manifest with the output of the post-renderer. If o.Root is set,
// each object temporarily gets an annotation that names its chart, from which r.Charts is
// set.
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
