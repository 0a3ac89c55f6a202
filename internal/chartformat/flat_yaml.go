// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// flatYAML is the content of a flat Chart.yaml, in the order of the file. Helm's types have no names
// for YAML, and encoding them as JSON first takes several times as long.
type flatYAML struct {
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
	Maintainers  []maintainerYAML  `yaml:"maintainers,omitempty"`
	Annotations  map[string]string `yaml:"annotations,omitempty"`
	Dependencies []dependencyYAML  `yaml:"dependencies,omitempty"`
}

type maintainerYAML struct {
	Name  string `yaml:"name,omitempty"`
	Email string `yaml:"email,omitempty"`
	URL   string `yaml:"url,omitempty"`
}

type dependencyYAML struct {
	Name         string   `yaml:"name"`
	Version      string   `yaml:"version,omitempty"`
	Repository   string   `yaml:"repository"`
	Alias        string   `yaml:"alias,omitempty"`
	Condition    string   `yaml:"condition,omitempty"`
	Tags         []string `yaml:"tags,omitempty"`
	Enabled      bool     `yaml:"enabled,omitempty"`
	ImportValues []any    `yaml:"import-values,omitempty"`
	DependsOn    []string `yaml:"depends-on,omitempty"`
}

// yaml returns the text of the flat Chart.yaml.
func (f *flatChart) yaml() ([]byte, error) {
	content := flatYAML{
		APIVersion: f.APIVersion, Name: f.Name, Version: f.Version, AppVersion: f.AppVersion, Type: f.Type, KubeVersion: f.KubeVersion,
		Deprecated: f.Deprecated, Description: f.Description, Home: f.Home, Icon: f.Icon, Keywords: f.Keywords, Sources: f.Sources, Annotations: f.Annotations,
	}
	for _, m := range f.Maintainers {
		content.Maintainers = append(content.Maintainers, maintainerYAML{m.Name, m.Email, m.URL})
	}
	for _, d := range f.Dependencies {
		content.Dependencies = append(content.Dependencies, dependencyYAML{
			d.Name, d.Version, d.Repository, d.Alias, d.Condition, d.Tags, d.Enabled, d.ImportValues, d.DependsOn,
		})
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(content); err != nil {
		return nil, err
	}
	err := encoder.Close()
	return text.Bytes(), err
}
