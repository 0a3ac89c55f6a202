// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartformat translates the metadata of charts of the format helm.sh/v3, which is a
// Kubernetes resource of the kind Chart, to the flat Chart.yaml that every version of Helm
// reads (docs/reference.md, "The chart format helm.sh/v3").
package chartformat

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// APIVersion and kind are those of charts of the format.
const (
	APIVersion = "helm.sh/v3"
	kind       = "Chart"
)

// The names of the files with the metadata of a chart. In a packed chart, Chart.yaml is the flat
// one, and the files that the author wrote have the names of the originals.
const (
	RequirementsFile         = "requirements.yaml"
	OriginalChartFile        = "Chart.v3.yaml"
	OriginalRequirementsFile = "requirements.v3.yaml"
)

// IsV3 reports whether a Chart.yaml is in the format helm.sh/v3.
func IsV3(chartYAML []byte) bool {
	if !bytes.Contains(chartYAML, []byte(APIVersion)) {
		return false
	}
	if beginsWithVersion(chartYAML) {
		return true
	}
	root, err := yamledit.Parse(string(chartYAML))
	if err != nil || root == nil {
		return false
	}
	return isV3(root)
}

// beginsWithVersion reports whether the first field of a Chart.yaml is the apiVersion of the format, on
// one line. It does not parse the file.
func beginsWithVersion(chartYAML []byte) bool {
	found := false
	for line := range bytes.Lines(chartYAML) {
		text := string(bytes.TrimRight(line, " \t\r\n"))
		switch {
		case text == "":
		case found: // an indented line would continue the value
			return text[0] != ' ' && text[0] != '\t'
		case text[0] == '#' || text == "---":
		default:
			value, _, _ := strings.Cut(text, " #")
			name, value, _ := strings.Cut(value, ": ")
			if name != "apiVersion" || strings.Trim(value, `'" `) != APIVersion {
				return false
			}
			found = true
		}
	}
	return found
}

func isV3(root *yaml.Node) bool {
	version := yamledit.Lookup(root, "apiVersion")
	return version != nil && version.Value == APIVersion
}

// Name returns the name in a Chart.yaml of the format helm.sh/v3, or "" if it has none.
func Name(chartYAML []byte) string {
	root, err := yamledit.Parse(string(chartYAML))
	if err != nil {
		return ""
	}
	if name := yamledit.Lookup(root, "metadata", "name"); name != nil {
		return name.Value
	}
	return ""
}

// Source contains the files with the metadata of a chart of the format.
type Source struct {
	// Folder is the folder of the files, for errors: empty, or a path that ends with a slash.
	Folder    string
	ChartYAML []byte
	// Requirements is the content of requirements.yaml, or nil if the chart has no such file.
	Requirements []byte
	// Scripts is true if the chart has scripts. They run without an annotation.
	Scripts bool
	// Packed is true if the files are those of a packed chart. They then have the names of the
	// originals.
	Packed bool
}

// chartFile returns the path of the file with the content ChartYAML.
func (s Source) chartFile() string {
	if s.Packed {
		return s.Folder + OriginalChartFile
	}
	return s.Folder + chartutil.ChartfileName
}

// requirementsFile returns the path of the file with the content Requirements.
func (s Source) requirementsFile() string {
	if s.Packed {
		return s.Folder + OriginalRequirementsFile
	}
	return s.Folder + RequirementsFile
}

// Translate returns a flat Chart.yaml, of apiVersion v2, with the metadata that the files of a
// chart declare. What Helm does not know is declared in annotations. If something in the files is
// invalid, the error joins a *FieldError for each problem.
func Translate(s Source) ([]byte, error) {
	r := &reader{}
	flat := r.read(s)
	if err := r.err(); err != nil {
		return nil, err
	}
	return flat.encode()
}
