// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package render renders a chart and its values into manifests, hooks and notes. It
// converts sequencing annotations to the canonical form, which Kubernetes accepts, and
// records the chart of each document.
package render

import (
	"bytes"
	"cmp"
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

// Options configure Chart.
type Options struct {
	// Values are the values, as returned by chartutil.
	Values chartutil.Values
	// Capabilities are the capabilities of the cluster.
	Capabilities *chartutil.Capabilities
	// RESTConfig, if not nil, enables lookups in the cluster.
	RESTConfig *rest.Config
	// EnableDNS enables DNS lookups in templates.
	EnableDNS bool
	// SubNotes includes the notes of subcharts.
	SubNotes bool
	// IncludeCRDs includes the contents of crds/ directories, before everything else.
	IncludeCRDs bool
	// HideSecret hides the contents of Secrets.
	HideSecret bool
	// PostRenderer changes the manifest.
	PostRenderer postrender.PostRenderer
	// Root is the tree of charts. It is needed to know the chart of each document after a
	// post-renderer.
	Root *sequencer.Chart
}

// Result is the result of rendering a chart.
type Result struct {
	// Hooks are the hooks in Helm's order.
	Hooks []*release.Hook
	// Manifest contains all other resources as a stream of documents, as stored in a
	// release.
	Manifest string
	// Files are the documents of Manifest, before any post-renderer.
	Files []File
	// Notes are the rendered notes.
	Notes string
	// ChartTree is the path of the chart of each document in Manifest, in its order. It is
	// empty if the charts are known from Source comments.
	Charts []string
}

// File is a rendered document with the file it comes from.
type File struct {
	Name, Content string
	// Secret is whether it is a Secret of the core API.
	Secret bool
}

// Chart renders a chart. If documents cannot be parsed, the result has them in Manifest
// for debugging.
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

// extractNotes removes the notes from the rendered files and returns them: those of the
// root chart, or all of them, the root chart's first and the others by path.
func extractNotes(ch *chart.Chart, files map[string]string, all bool) string {
	own := path.Join(ch.Name(), "templates", notesFile)
	var names []string
	for name := range files {
		if strings.HasSuffix(name, notesFile) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(lastIf(a != own), lastIf(b != own)), cmp.Compare(a, b))
	})
	var notes strings.Builder
	for _, name := range names {
		if all || name == own {
			if notes.Len() > 0 {
				notes.WriteString("\n")
			}
			notes.WriteString(files[name])
		}
		delete(files, name)
	}
	return notes.String()
}

func lastIf(last bool) int {
	if last {
		return 1
	}
	return 0
}

// concatenate returns all files as one text, for debugging.
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

// addFiles adds the documents in the order in which they are stored.
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

// text returns the document as it is printed.
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

// postRender passes the manifest through the post-renderer. If the tree of charts is
// known, a temporary annotation marks the chart of each document.
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
