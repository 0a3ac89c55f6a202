// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"encoding/json"
	"fmt"

	"github.com/Masterminds/semver/v3"
	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// libraryList contains the libraries that a chart declares.
type libraryList struct {
	// node is the place where they are declared; nil if they are not.
	node    *yaml.Node
	file    string // the file of node
	entries []libraryEntry
}

// libraryEntry is an entry of libraries.
type libraryEntry struct {
	dependency
	node  *yaml.Node
	field string
}

// readLibraries reads a list of libraries.
func (r *reader) readLibraries(n *yaml.Node, field string, flat *flatChart) {
	if n == nil {
		return
	}
	flat.libraries.node, flat.libraries.file = n, r.file
	for i, entry := range r.items(n, field) {
		at := fmt.Sprintf("%s[%d]", field, i)
		fields := r.readFields(entry, at, libraryFields)
		library := libraryEntry{node: firstNode(fields["name"], entry), field: at}
		library.Name, library.Repository = r.scalar(fields["name"], at+".name"), r.scalar(fields["repository"], at+".repository")
		library.Version = r.scalar(fields["version"], at+".version")
		if library.Name == "" {
			r.invalidf(library.node, at+".name", "is required")
		}
		if _, err := semver.NewConstraint(library.Version); err != nil {
			r.invalidf(firstNode(fields["version"], entry), at+".version", "%q is not a range of versions such as ^1.2.0", library.Version)
		}
		flat.libraries.entries = append(flat.libraries.entries, library)
	}
}

// addLibraries adds the libraries to the dependencies of the flat chart, and names them in an
// annotation. A name can be used only once.
func (r *reader) addLibraries(flat *flatChart) {
	if len(flat.libraries.entries) == 0 {
		return
	}
	r.file = flat.libraries.file
	used := map[string]string{flat.Name: "this chart"}
	for _, d := range flat.Dependencies {
		used[d.Name], used[d.Alias] = "a dependency", "a dependency"
	}
	names := make([]string, 0, len(flat.libraries.entries))
	for _, library := range flat.libraries.entries {
		if by := used[library.Name]; by != "" && library.Name != "" {
			r.invalidf(library.node, library.field+".name", "%s is the name of %s already", library.Name, by)
		}
		used[library.Name] = "a library"
		names = append(names, library.Name)
		flat.Dependencies = append(flat.Dependencies, library.dependency)
	}
	text, err := json.Marshal(names)
	if err != nil {
		r.invalidf(flat.libraries.node, "libraries", "%v", err)
	}
	flat.setAnnotation(annotation.Libraries, string(text))
}

// LibraryPosition returns the file and the line in which a chart declares a library. The line is 0 if
// the library is not declared.
func LibraryPosition(s Source, name string) (file string, line int) {
	r := &reader{file: s.chartFile()}
	flat := &flatChart{}
	r.readLibraries(yamledit.Lookup(r.parse(s.ChartYAML), "data", "libraries"), "data.libraries", flat)
	if flat.libraries.node == nil && s.Requirements != nil {
		r.file = s.requirementsFile()
		r.readLibraries(yamledit.Lookup(r.parse(s.Requirements), "libraries"), "libraries", flat)
	}
	for _, library := range flat.libraries.entries {
		if library.Name == name {
			return r.file, library.node.Line
		}
	}
	return r.file, 0
}
