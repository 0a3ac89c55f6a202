// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmrules checks charts with Helm's lint rules.
//
// Helm's rules read the files of a chart from disk. They support neither apiVersion v3 nor
// annotations that are lists (docs/reference.md, "Chart.yaml"). Therefore a chart that uses
// these is copied to a temporary directory in a form that Helm's rules support, and the
// rules check the copy.
package helmrules

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/rules"
	"helm.sh/helm/v3/pkg/lint/support"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// Options are the settings that affect how Helm's rules check a chart.
type Options struct {
	Values    map[string]any
	Namespace string
	// KubeVersion is the Kubernetes version for which templates are rendered; nil means Helm's default.
	KubeVersion          *chartutil.KubeVersion
	SkipSchemaValidation bool
	// ValuesChange says that scripts can change the values. Then only the changed ones must match the
	// schemas, which is not checked here: InvalidValues is the error if they do not.
	ValuesChange  bool
	InvalidValues error
}

// Files are the files of a chart.
type Files struct {
	// Dir is the directory of the chart.
	Dir string
	// Original are the files as they were read, and Canonical those that CanonicalFiles returned.
	Original, Canonical []*chartloader.BufferedFile
}

// Check checks a chart with Helm's rules.
func Check(files Files, o Options) (messages []support.Message, err error) {
	canonical := files.Canonical
	if o.ValuesChange {
		o.SkipSchemaValidation = true
		canonical = withoutJSONSchema(canonical) // the rule for values.yaml validates nevertheless
	}
	if !differ(files.Original, canonical) && apiVersion(canonical) != declaration.APIVersionV3 && chartWithYAMLSchema(canonical) == nil {
		messages = checkDirectory(files.Dir, o)
	} else {
		absolute, err := filepath.Abs(files.Dir)
		if err != nil {
			return nil, err
		}
		if messages, err = checkCopy(absolute, canonical, o); err != nil {
			return nil, err
		}
	}
	if o.InvalidValues != nil {
		messages = append(messages, support.NewMessage(support.ErrorSev, chartutil.ValuesfileName, o.InvalidValues))
	}
	messages = slices.DeleteFunc(messages, isAboutCRDInstallHook)
	for i, m := range messages {
		messages[i].Err = namingV3(m.Err)
	}
	return messages, nil
}

// CheckUnreadable checks a chart whose files cannot be read, so that Helm's rules report why.
func CheckUnreadable(dir string, o Options) []support.Message { return checkDirectory(dir, o) }

func checkDirectory(dir string, o Options) []support.Message {
	return helmlint.AllWithKubeVersionAndSchemaValidation(dir, o.Values, o.Namespace, o.KubeVersion, o.SkipSchemaValidation).Messages
}

// namingV3 returns err with v3 among the valid values of apiVersion, if Helm's rule for
// apiVersion lists them.
func namingV3(err error) error {
	text := strings.Replace(err.Error(), `must be either "v1" or "v2"`, `must be "v1", "v2" or "v3"`, 1)
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// isAboutCRDInstallHook reports whether m warns about a crd-install hook. Helm 3 does not
// support these hooks, but Ordered Helm does.
func isAboutCRDInstallHook(m support.Message) bool {
	return m.Severity == support.WarningSev && strings.HasPrefix(m.Err.Error(), "manifest is a crd-install hook.")
}

// IsAboutListAnnotation reports whether m complains that the value of an annotation, in an
// item of an object of kind List, is a YAML list. Ordered Helm accepts lists in some
// annotations, and reports the others with its rule annotation-not-string.
func IsAboutListAnnotation(m support.Message) bool {
	return m.Severity == support.ErrorSev && strings.Contains(m.Err.Error(), "cannot unmarshal array into Go struct field .Items.Metadata.Annotations")
}

// CanonicalFiles returns the files of a chart in the form that Helm's loader accepts, as
// chartloader.CanonicalFiles does. If that fails, CanonicalFiles omits invalid annotations
// about dependencies on subcharts from each Chart.yaml, and invalid schemas, because other
// rules report them.
func CanonicalFiles(files []*chartloader.BufferedFile) ([]*chartloader.BufferedFile, error) {
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
	if isAboutSchema(err) {
		convertible = withoutSchemas(convertible)
	}
	return chartloader.CanonicalFiles(convertible)
}

// removeInvalidDependencies returns a Chart.yaml without the invalid ones among its
// annotations about dependencies on subcharts.
func removeInvalidDependencies(data []byte) []byte {
	return rewritten(data, func(root *yaml.Node) (changes []yamledit.Change) {
		annotations := yamledit.Resolve(yamledit.Lookup(root, "annotations"))
		for _, key := range annotation.ChartListKeys() {
			value := yamledit.Lookup(annotations, key)
			if value == nil {
				continue
			}
			if _, err := annotation.ReadItems(key, annotation.DecodeYAML(value)); err != nil {
				changes = append(changes, yamledit.Change{Mapping: annotations, Key: key, Delete: true})
			}
		}
		return changes
	})
}

// asV2 returns a Chart.yaml with apiVersion v2 instead of v3, because Helm's rules for
// Chart.yaml reject v3. They check the other fields as before.
func asV2(data []byte) []byte {
	return rewritten(data, func(root *yaml.Node) []yamledit.Change {
		if version := yamledit.Lookup(root, "apiVersion"); version == nil || version.Value != declaration.APIVersionV3 {
			return nil
		}
		return []yamledit.Change{{Mapping: root, Key: "apiVersion", NewValue: yamledit.Text(chart.APIVersionV2)}}
	})
}

// rewritten makes the changes in a Chart.yaml that changesOf returns for its root node. If data
// cannot be parsed, rewritten returns it unchanged, and Helm's rules report the error.
func rewritten(data []byte, changesOf func(root *yaml.Node) []yamledit.Change) []byte {
	root, err := yamledit.Parse(string(data))
	if err != nil || root == nil || root.Kind != yaml.MappingNode {
		return data
	}
	text, err := yamledit.Apply(string(data), root, changesOf(root))
	if err != nil {
		return data
	}
	return []byte(text)
}

// differ reports whether the conversion to canonical form has changed any file.
func differ(files, canonical []*chartloader.BufferedFile) bool {
	return !slices.EqualFunc(files, canonical, func(a, b *chartloader.BufferedFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// apiVersion returns the apiVersion in the Chart.yaml of the root chart. It is empty if the
// file cannot be parsed.
func apiVersion(files []*chartloader.BufferedFile) string {
	var metadata struct {
		APIVersion string `json:"apiVersion"`
	}
	for _, f := range files {
		if f.Name == chartutil.ChartfileName && sigsyaml.Unmarshal(f.Data, &metadata) != nil {
			return ""
		}
	}
	return metadata.APIVersion
}

// checkCopy writes the files canonical to a temporary directory, and runs Helm's
// rules on them. In the messages it replaces the temporary path with dir, the directory of
// the chart.
func checkCopy(dir string, canonical []*chartloader.BufferedFile, o Options) (messages []support.Message, err error) {
	temporary, err := os.MkdirTemp("", "helm-lint")
	if err != nil {
		return nil, fmt.Errorf("create a temporary directory for the chart: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	skipSchemas := o.SkipSchemaValidation
	if ch := chartWithYAMLSchema(canonical); ch != nil {
		skipSchemas, messages = true, checkValues(ch, o)
		canonical = withoutJSONSchema(canonical)
	}
	// Only the rules about Chart.yaml reject apiVersion v3. The other rules need the
	// original apiVersion, because templates can read it.
	chartCopy, v2Copy := filepath.Join(temporary, "chart"), filepath.Join(temporary, "v2")
	for _, f := range canonical {
		if err := write(filepath.Join(chartCopy, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return nil, err
		}
		if f.Name == chartutil.ChartfileName {
			if err := write(filepath.Join(v2Copy, f.Name), asV2(f.Data)); err != nil {
				return nil, err
			}
		}
	}
	linter := &support.Linter{ChartDir: v2Copy}
	rules.Chartfile(linter)
	linter.ChartDir = chartCopy
	rules.ValuesWithOverrides(linter, o.Values)
	rules.TemplatesWithSkipSchemaValidation(linter, o.Values, o.Namespace, o.KubeVersion, skipSchemas)
	rules.Dependencies(linter)
	linter.Messages = append(linter.Messages, messages...)

	paths := strings.NewReplacer(chartCopy, dir, v2Copy, dir)
	for i, m := range linter.Messages {
		linter.Messages[i].Path = paths.Replace(m.Path)
		if text := m.Err.Error(); strings.Contains(text, temporary) {
			linter.Messages[i].Err = errors.New(paths.Replace(text))
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
