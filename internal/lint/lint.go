// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks charts with Helm's rules, and with rules about order, readiness and
// hooks that Helm does not have (docs/lint.md). Package lintreport writes the findings for
// other programs.
//
// Helm's rules read the files of a chart themselves. They do not support apiVersion v3 or
// annotations that are lists (docs/reference.md, "Chart.yaml"). Therefore they check a copy
// of such a chart that is converted to what they support.
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
	"github.com/ordered-helm/helm/internal/lint/source"
)

// Options are the settings that affect how Check renders a chart.
type Options struct {
	Values    map[string]any
	Namespace string
	// KubeVersion is the version of the target cluster. If it is nil, Helm's default
	// applies.
	KubeVersion          *chartutil.KubeVersion
	SkipSchemaValidation bool
	// Quietly is called with a function that renders the chart again, and must call it. It
	// can suppress log messages in the meantime, because Helm's rules have already caused
	// the same messages. If it is nil, nothing is suppressed.
	Quietly func(func())
}

func (o Options) quietly(do func()) {
	if o.Quietly == nil {
		do()
		return
	}
	o.Quietly(do)
}

// Report is what Check finds in a chart.
type Report struct {
	// Helm are the messages of Helm's rules.
	Helm []support.Message
	// Findings are those of the other rules, sorted by file and line.
	Findings []Finding
}

// Check checks the chart in a directory. Problems of the chart are in the report. An error
// means that the chart could not be checked.
func Check(dir string, o Options) (*Report, error) {
	files, err := chartloader.DirFiles(dir)
	if err != nil {
		return &Report{Helm: runHelmRules(dir, o)}, nil //nolint:nilerr // Helm's rules report the error
	}
	canonical, err := canonicalFiles(files)
	if err != nil {
		r := &Report{Helm: []support.Message{support.NewMessage(support.ErrorSev, chartutil.ChartfileName, err)}}
		if _, tooLarge := errors.AsType[*chartloader.LimitError](err); !tooLarge { // a chart that exceeds a limit is not checked further
			r.Findings = checkOrder(files, nil, o)
		}
		return r, nil
	}
	r := &Report{}
	if !differ(files, canonical) && apiVersion(canonical) != chartloader.APIVersionV3 {
		r.Helm = runHelmRules(dir, o)
	} else {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if r.Helm, err = runHelmRulesOnCopy(absolute, canonical, o); err != nil {
			return nil, err
		}
	}
	r.Helm = slices.DeleteFunc(r.Helm, isOutdated)
	o.quietly(func() { r.Findings = checkOrder(files, canonical, o) })
	if slices.ContainsFunc(r.Helm, isOfListAnnotation) && mentionsOrderKeywords(source.New(files), o.Values) {
		r.Helm = slices.DeleteFunc(r.Helm, isOfListAnnotation)
	}
	return r, nil
}

// runHelmRules runs Helm's rules.
func runHelmRules(dir string, o Options) []support.Message {
	return helmlint.AllWithKubeVersionAndSchemaValidation(dir, o.Values, o.Namespace, o.KubeVersion, o.SkipSchemaValidation).Messages
}

// isOutdated reports whether m warns about a crd-install hook. Helm 3 does not support
// these hooks, but Ordered Helm does.
func isOutdated(m support.Message) bool {
	return m.Severity == support.WarningSev && strings.HasPrefix(m.Err.Error(), "manifest is a crd-install hook.")
}

// isOfListAnnotation reports whether m rejects an annotation in an item of a List because
// its value is a list. Ordered Helm accepts lists in some annotations, and has its own rule
// for the others.
func isOfListAnnotation(m support.Message) bool {
	return m.Severity == support.ErrorSev && strings.Contains(m.Err.Error(), "cannot unmarshal array into Go struct field .Items.Metadata.Annotations")
}

// canonicalFiles returns the files of a chart in canonical form, as
// chartloader.CanonicalFiles does. If a Chart.yaml has annotations that cannot be converted,
// it removes them, because other rules report them.
func canonicalFiles(files []*chartloader.BufferedFile) ([]*chartloader.BufferedFile, error) {
	canonical, err := chartloader.CanonicalFiles(files)
	if err == nil {
		return canonical, nil
	}
	convertible := slices.Clone(files)
	for i, f := range files {
		if path.Base(f.Name) == chartutil.ChartfileName {
			convertible[i] = &chartloader.BufferedFile{Name: f.Name, Data: removeInvalidDependencies(f.Data)}
		}
	}
	return chartloader.CanonicalFiles(convertible)
}

// removeInvalidDependencies removes the annotations about subcharts from a Chart.yaml that
// cannot be converted.
func removeInvalidDependencies(data []byte) []byte {
	return rewritten(data, func(fields map[string]any) {
		annotations, _ := fields["annotations"].(map[string]any)
		for _, key := range []string{annotation.DependsOnSubcharts, annotation.DependsOnSubchartsCanonical} {
			if _, err := annotation.ReadItems(key, annotations[key]); err != nil {
				delete(annotations, key)
			}
		}
	})
}

// asV2 changes the apiVersion in a Chart.yaml from v3 to v2, because Helm's rules do not
// know v3. The other content that they check is the same.
func asV2(data []byte) []byte {
	return rewritten(data, func(fields map[string]any) {
		if fields["apiVersion"] == chartloader.APIVersionV3 {
			fields["apiVersion"] = chart.APIVersionV2
		}
	})
}

// rewritten returns a Chart.yaml after change has modified its fields. If it cannot be
// parsed, the result is data, and Helm's rules report the error.
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

// differ reports whether the conversion to canonical form has changed any file.
func differ(files, canonical []*chartloader.BufferedFile) bool {
	return !slices.EqualFunc(files, canonical, func(a, b *chartloader.BufferedFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// apiVersion returns the apiVersion of a chart, or an empty string if its Chart.yaml cannot
// be read.
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

// runHelmRulesOnCopy runs Helm's rules on a temporary copy of a chart, which has the files
// canonical. In the messages it replaces the temporary path with dir, the directory of the
// original.
func runHelmRulesOnCopy(dir string, canonical []*chartloader.BufferedFile, o Options) (messages []support.Message, err error) {
	temporary, err := os.MkdirTemp("", "helm-lint")
	if err != nil {
		return nil, fmt.Errorf("make a folder to check the chart in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	whole, definition := filepath.Join(temporary, "chart"), filepath.Join(temporary, "definition")
	for _, f := range canonical {
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
