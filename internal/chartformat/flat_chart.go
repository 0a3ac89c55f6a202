// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"bytes"
	"errors"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/annotation"
)

// flatChart is a flat Chart.yaml, with its fields in the order of the file. Helm's types have no names
// for YAML, and encoding them as JSON first takes several times as long.
type flatChart struct {
	APIVersion   string            `yaml:"apiVersion"`
	Name         string            `yaml:"name"`
	Version      string            `yaml:"version"`
	AppVersion   string            `yaml:"appVersion,omitempty"`
	Type         string            `yaml:"type,omitempty"`
	KubeVersion  string            `yaml:"kubeVersion,omitempty"`
	Deprecated   bool              `yaml:"deprecated,omitempty"`
	Description  string            `yaml:"description,omitempty"`
	Home         string            `yaml:"home,omitempty"`
	Icon         string            `yaml:"icon,omitempty"`
	Keywords     []string          `yaml:"keywords,omitempty"`
	Sources      []string          `yaml:"sources,omitempty"`
	Maintainers  []maintainer      `yaml:"maintainers,omitempty"`
	Annotations  map[string]string `yaml:"annotations,omitempty"`
	Dependencies []dependency      `yaml:"dependencies,omitempty"`

	// dependenciesNode is the place where dependencies are declared; nil if they are not.
	dependenciesNode *yaml.Node
	libraries        libraryList
}

// maintainer is an entry of maintainers.
type maintainer struct {
	Name  string `yaml:"name,omitempty"`
	Email string `yaml:"email,omitempty"`
	URL   string `yaml:"url,omitempty"`
}

// dependency is an entry of dependencies.
type dependency struct {
	Name         string   `yaml:"name"`
	Version      string   `yaml:"version,omitempty"`
	Repository   string   `yaml:"repository"`
	Alias        string   `yaml:"alias,omitempty"`
	Condition    string   `yaml:"condition,omitempty"`
	Tags         []string `yaml:"tags,omitempty"`
	Enabled      bool     `yaml:"enabled,omitempty"`
	ImportValues []any    `yaml:"import-values,omitempty"`
	DependsOn    []string `yaml:"depends-on,omitempty"`
	HookScope    string   `yaml:"hookScope,omitempty"`
}

// setAnnotation sets an annotation of the flat Chart.yaml, unless it is set already.
func (f *flatChart) setAnnotation(key, value string) {
	if f.Annotations == nil {
		f.Annotations = map[string]string{}
	}
	if _, declared := f.Annotations[key]; !declared {
		f.Annotations[key] = value
	}
}

// setOrder declares in annotations what the format implies, charts deploy in order, and how and when the
// hooks run, if the chart says so.
func (f *flatChart) setOrder(hookMode, hookScope string) {
	f.setAnnotation(annotation.Sequencing, annotation.SequencingEnabled)
	if hookMode != "" {
		f.Annotations[annotation.RunHooksInParallel] = hookMode
	}
	if hookScope != "" {
		f.Annotations[annotation.HookScope] = hookScope
	}
}

// encode returns the text of the file.
func (f *flatChart) encode() ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(f), encoder.Close())
	return text.Bytes(), err
}
