// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks charts by Helm's rules, and by those about order, readiness
// and hooks that Helm does not have (docs/lint.md).
//
// Helm's rules read a chart's files themselves and know neither apiVersion v3 nor
// annotations that are lists (docs/reference.md, "Chart.yaml"); a chart that has
// such is checked in a copy that is spelled as they expect it.
package lint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/rules"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// Options are what a chart is checked with.
type Options struct {
	Values    map[string]any
	Namespace string
	// KubeVersion is that of the cluster it is for; nil is the default one.
	KubeVersion          *chartutil.KubeVersion
	SkipSchemaValidation bool
	// Quietly, if not nil, calls what renders the chart once more than Helm's rules
	// do: what it logs they have logged before.
	Quietly func(func())
}

func (o Options) quietly(do func()) {
	if o.Quietly == nil {
		do()
		return
	}
	o.Quietly(do)
}

// Report is what is wrong with a chart.
type Report struct {
	// Helm is what Helm's rules say.
	Helm []support.Message
	// Findings is what the others say, by file and line.
	Findings []Finding
}

// Check checks the chart in the folder. An error means that it could not be
// checked; what is wrong with it is in the report.
func Check(dir string, o Options) (*Report, error) {
	files, err := chartloader.DirFiles(dir)
	if err != nil {
		return &Report{Helm: stock(dir, o)}, nil //nolint:nilerr // Helm's rules say what is wrong with it
	}
	legal, err := legalFiles(files)
	if err != nil {
		r := &Report{Helm: []support.Message{support.NewMessage(support.ErrorSev, chartutil.ChartfileName, err)}}
		var limit *chartloader.LimitError
		if !errors.As(err, &limit) { // what is too large is not looked into
			r.Findings = order(files, nil, o)
		}
		return r, nil
	}
	r := &Report{}
	if !differ(files, legal) && apiVersion(legal) != chartloader.APIVersionV3 {
		r.Helm = stock(dir, o)
	} else {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if r.Helm, err = checkCopy(absolute, legal, o); err != nil {
			return nil, err
		}
	}
	r.Helm = slices.DeleteFunc(r.Helm, isOutdated)
	o.quietly(func() { r.Findings = order(files, legal, o) })
	if slices.ContainsFunc(r.Helm, isOfListAnnotation) && mentionsOrderKeywords(newChartFiles("", files), o.Values) {
		r.Helm = slices.DeleteFunc(r.Helm, isOfListAnnotation)
	}
	return r, nil
}

func stock(dir string, o Options) []support.Message {
	return helmlint.AllWithKubeVersionAndSchemaValidation(dir, o.Values, o.Namespace, o.KubeVersion, o.SkipSchemaValidation).Messages
}

// isOutdated is whether a message is about what Helm does not support any more,
// and this program does: hooks of the event crd-install.
func isOutdated(m support.Message) bool {
	return m.Severity == support.WarningSev && strings.HasPrefix(m.Err.Error(), "manifest is a crd-install hook.")
}

// isOfListAnnotation is whether a message refuses an annotation that is a list, of an
// item of a list: some may be, and there is a rule about the others.
func isOfListAnnotation(m support.Message) bool {
	return m.Severity == support.ErrorSev && strings.Contains(m.Err.Error(), "cannot unmarshal array into Go struct field .Items.Metadata.Annotations")
}

// legalFiles gives the files in legal form, without the annotations of a
// Chart.yaml that have none: there is a rule about these.
func legalFiles(files []*chartloader.BufferedFile) ([]*chartloader.BufferedFile, error) {
	legal, err := chartloader.CanonicalFiles(files)
	if err == nil {
		return legal, nil
	}
	mended := make([]*chartloader.BufferedFile, len(files))
	for i, f := range files {
		mended[i] = f
		if path.Base(f.Name) == chartutil.ChartfileName {
			mended[i] = &chartloader.BufferedFile{Name: f.Name, Data: withoutIllegal(f.Data)}
		}
	}
	return chartloader.CanonicalFiles(mended)
}

// withoutIllegal takes the annotations out of a Chart.yaml that have no legal
// form.
func withoutIllegal(data []byte) []byte {
	return rewritten(data, func(fields map[string]any) {
		annotations, _ := fields["annotations"].(map[string]any)
		for _, key := range []string{annotation.DependsOnSubcharts, annotation.DependsOnSubchartsCanonical} {
			if _, err := annotation.ReadItems(key, annotations[key]); err != nil {
				delete(annotations, key)
			}
		}
	})
}

// asV2 gives a Chart.yaml of apiVersion v3 as one of v2, whose rules it is
// checked by: what Helm's rules allow in it is the same.
func asV2(data []byte) []byte {
	return rewritten(data, func(fields map[string]any) {
		if fields["apiVersion"] == chartloader.APIVersionV3 {
			fields["apiVersion"] = chart.APIVersionV2
		}
	})
}

// rewritten is a Chart.yaml with its fields changed. One that cannot be parsed stays as it
// is: Helm's rules say what is wrong with it.
func rewritten(data []byte, change func(fields map[string]any)) []byte {
	var fields map[string]any
	if err := yaml.Unmarshal(data, &fields); err != nil || fields == nil {
		return data
	}
	change(fields)
	text, err := yaml.Marshal(fields)
	if err != nil {
		return data
	}
	return text
}

func differ(files, legal []*chartloader.BufferedFile) bool {
	return !slices.EqualFunc(files, legal, func(a, b *chartloader.BufferedFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// apiVersion is what a chart says of itself; empty if that cannot be read.
func apiVersion(files []*chartloader.BufferedFile) string {
	var metadata struct {
		APIVersion string `json:"apiVersion"`
	}
	for _, f := range files {
		if f.Name == chartutil.ChartfileName && yaml.Unmarshal(f.Data, &metadata) != nil {
			return ""
		}
	}
	return metadata.APIVersion
}

// checkCopy checks a chart by its files in legal form. The messages name the
// chartFiles that the chart is in.
func checkCopy(dir string, legal []*chartloader.BufferedFile, o Options) (messages []support.Message, err error) {
	temporary, err := os.MkdirTemp("", "helm-lint")
	if err != nil {
		return nil, fmt.Errorf("make a folder to check the chart in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	whole, definition := filepath.Join(temporary, "chart"), filepath.Join(temporary, "definition")
	for _, f := range legal {
		if err := write(filepath.Join(whole, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return nil, err
		}
		if f.Name == chartutil.ChartfileName {
			if err := write(filepath.Join(definition, f.Name), asV2(f.Data)); err != nil {
				return nil, err
			}
		}
	}
	linter := &support.Linter{ChartDir: definition}
	rules.Chartfile(linter)
	linter.ChartDir = whole
	rules.ValuesWithOverrides(linter, o.Values)
	rules.TemplatesWithSkipSchemaValidation(linter, o.Values, o.Namespace, o.KubeVersion, o.SkipSchemaValidation)
	rules.Dependencies(linter)

	from := strings.NewReplacer(whole, dir, definition, dir)
	for i, m := range linter.Messages {
		linter.Messages[i].Path = from.Replace(m.Path)
		if text := m.Err.Error(); strings.Contains(text, temporary) {
			linter.Messages[i].Err = errors.New(from.Replace(text))
		}
	}
	return linter.Messages, nil
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}
