// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package render turns a chart and values into what a release is made of:
// manifests, hooks and notes, with sequencing annotations in the one form that
// Kubernetes accepts, and with the chart known that each document comes from.
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

// notesFile is the name of the template that makes a chart's notes.
const notesFile = "NOTES.txt"

// Options say how to render.
type Options struct {
	// Values are the values to render with, as chartutil makes them.
	Values chartutil.Values
	// Capabilities are what the cluster can do.
	Capabilities *chartutil.Capabilities
	// RESTConfig, if not nil, lets templates look objects up in the cluster.
	RESTConfig *rest.Config
	// EnableDNS lets templates resolve names.
	EnableDNS bool
	// SubNotes renders the notes of subcharts, too.
	SubNotes bool
	// IncludeCRDs puts the charts' crds/ folders before everything else.
	IncludeCRDs bool
	// HideSecret leaves the content of Secrets out.
	HideSecret bool
	// PostRenderer changes the manifest.
	PostRenderer postrender.PostRenderer
	// Root is the tree of charts; with it the chart of every document stays
	// known through a post-renderer.
	Root *sequencer.Chart
}

// Result is what a chart rendered to.
type Result struct {
	// Hooks are the hooks in Helm's order.
	Hooks []*release.Hook
	// Manifest is everything else as one stream of documents, as a release
	// stores it.
	Manifest string
	// Files are the documents of Manifest one by one, before any post-renderer.
	Files []File
	// Notes are the rendered notes.
	Notes string
	// Charts says for documents of Manifest, in its order, the path of the
	// chart that it comes from; empty where Source comments tell it.
	Charts []string
}

// File is one rendered document and the file it comes from.
type File struct {
	Name, Content string
	// Secret is whether it is a Secret of the core API.
	Secret bool
}

// Chart renders the chart. When documents cannot be parsed, the result has
// them in Manifest all the same, for debugging.
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

// extractNotes takes the notes out of the rendered files: those of the root
// chart, or all of them, the root chart's first and the rest by path.
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

// concatenate writes all files one after the other, for debugging what cannot be
// parsed.
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

// addFiles lists the documents in the order in which they are stored.
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

// text is the document as it leaves the renderer.
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

// postRender hands the manifest to the post-renderer. Where the tree of charts
// is given, a temporary annotation carries each document's chart through it.
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
