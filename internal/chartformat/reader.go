// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// reader reads the metadata of a chart, and collects all problems.
type reader struct {
	file     string
	problems []error
	removed  []*FieldError
	// unreadable is set if a file cannot be parsed. Its fields are then not reported as missing.
	unreadable bool
}

func (r *reader) err() error { return errors.Join(r.problems...) }

func (r *reader) failf(n *yaml.Node, field, format string, args ...any) {
	if r.unreadable && field != "" {
		return
	}
	r.problems = append(r.problems, r.newError(n, field, fmt.Sprintf(format, args...)))
}

func (r *reader) newError(n *yaml.Node, field, problem string) *FieldError {
	e := &FieldError{File: r.file, Field: field, Problem: problem}
	if n != nil {
		e.Line = n.Line
	}
	return e
}

// parse returns the root node of a file, or nil if it is empty or cannot be parsed.
func (r *reader) parse(text []byte) *yaml.Node {
	err := yamledit.CheckAliases(string(text))
	if err == nil {
		var root *yaml.Node
		if root, err = yamledit.Parse(string(text)); err == nil {
			return root
		}
	}
	r.unreadable = true
	r.failf(nil, "", "%v", err)
	return nil
}

// chart reads Chart.yaml.
func (r *reader) chart(root *yaml.Node) *flatChart {
	flat := &flatChart{}
	flat.APIVersion = chart.APIVersionV2
	top := r.mapping(root, "", topFields)
	if kind := top["kind"]; kind == nil || kind.Value != Kind {
		r.failf(firstNode(kind, root), "kind", "must be %s", Kind)
	}
	metadata := r.mapping(top["metadata"], "metadata", metadataFields)
	flat.Name = r.text(metadata["name"], "metadata.name")
	if flat.Name == "" {
		r.failf(firstNode(metadata["name"], top["metadata"], root), "metadata.name", "is required")
	}
	r.labels(firstNode(metadata["labels"], top["metadata"], root), metadata["labels"], flat)
	r.annotations(metadata["annotations"], flat)
	data := r.mapping(top["data"], "data", dataFields)
	r.data(data, flat)
	flat.setOrder(r.hookMode(metadata["runHooksInParallel"], data["runHooksInParallel"]))
	return flat
}

// firstNode returns the first node that is not nil.
func firstNode(nodes ...*yaml.Node) *yaml.Node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

// labels reads the labels. Those with a meaning for other fields become these fields; the
// others become annotations, which flat charts have instead.
func (r *reader) labels(at, labels *yaml.Node, flat *flatChart) {
	for key, value := range r.entries(labels, "metadata.labels") {
		text := r.text(value, "metadata.labels."+key)
		switch key {
		case "heritage":
		case "version":
			flat.Version = text
		case "appVersion":
			flat.AppVersion = text
		default:
			flat.setAnnotation(key, text)
		}
	}
	if flat.Version == "" {
		r.failf(at, "metadata.labels.version", "is required")
	} else if _, err := semver.NewVersion(flat.Version); err != nil {
		r.failf(yamledit.Lookup(labels, "version"), "metadata.labels.version", "%q is not a semantic version", flat.Version)
	}
}

// annotations reads the annotations, and converts their values to strings.
func (r *reader) annotations(n *yaml.Node, flat *flatChart) {
	for key, value := range r.entries(n, "metadata.annotations") {
		field := "metadata.annotations." + key
		if key == annotation.DependsOnSubcharts || key == annotation.DependsOnSubchartsCanonical {
			text, changed, err := annotation.CanonicalValue(key, value)
			switch {
			case err != nil:
				r.failf(value, "metadata.annotations", "%v", err)
				continue
			case changed:
				flat.replaceAnnotation(key, text)
				continue
			}
		}
		flat.replaceAnnotation(key, r.text(value, field))
	}
}

func (f *flatChart) replaceAnnotation(key, value string) {
	delete(f.Annotations, key)
	f.setAnnotation(key, value)
}

// data reads the fields of the mapping data.
func (r *reader) data(data map[string]*yaml.Node, flat *flatChart) {
	flat.Description, flat.Home = r.text(data["description"], "data.description"), r.text(data["home"], "data.home")
	flat.Icon, flat.KubeVersion = r.text(data["icon"], "data.icon"), r.text(data["kubeVersion"], "data.kubeVersion")
	flat.Type = r.text(data["type"], "data.type")
	flat.Sources, flat.Keywords = r.texts(data["sources"], "data.sources"), r.texts(data["keywords"], "data.keywords")
	flat.Deprecated = r.boolean(data["deprecated"], "data.deprecated")
	for i, n := range r.items(data["maintainers"], "data.maintainers") {
		field := fmt.Sprintf("data.maintainers[%d]", i)
		m := r.mapping(n, field, maintainerFields)
		flat.Maintainers = append(flat.Maintainers, &chart.Maintainer{
			Name: r.text(m["name"], field+".name"), Email: r.text(m["email"], field+".email"), URL: r.text(m["url"], field+".url"),
		})
	}
	r.dependencies(data["dependencies"], "data.dependencies", flat)
}

// hookMode returns the value of runHooksInParallel, which can stand in two places, or "" if it
// stands in neither.
func (r *reader) hookMode(inMetadata, inData *yaml.Node) string {
	mode := r.text(inData, "data.runHooksInParallel")
	other := r.text(inMetadata, "metadata.runHooksInParallel")
	if inMetadata != nil && inData != nil && mode != other {
		r.failf(inMetadata, "metadata.runHooksInParallel", "differs from data.runHooksInParallel: remove it")
	}
	if inData == nil {
		return other
	}
	return mode
}

// dependencies reads a list of dependencies.
func (r *reader) dependencies(n *yaml.Node, field string, flat *flatChart) {
	if n == nil {
		return
	}
	flat.dependenciesNode = n
	for i, entry := range r.items(n, field) {
		at := fmt.Sprintf("%s[%d]", field, i)
		fields := r.mapping(entry, at, dependencyFields)
		d := &dependency{DependsOn: r.names(fields["depends-on"], at+".depends-on")}
		d.Name, d.Version = r.text(fields["name"], at+".name"), r.text(fields["version"], at+".version")
		d.Repository = r.text(fields["repository"], at+".repository")
		if d.Name == "" {
			r.failf(firstNode(fields["name"], entry), at+".name", "is required")
		}
		d.Condition, d.Alias = r.text(fields["condition"], at+".condition"), r.text(fields["alias"], at+".alias")
		d.Tags, d.Enabled = r.texts(fields["tags"], at+".tags"), r.boolean(fields["enabled"], at+".enabled")
		for _, value := range r.items(fields["import-values"], at+".import-values") {
			var decoded any
			if err := value.Decode(&decoded); err != nil {
				r.failf(value, at+".import-values", "%v", err)
			}
			d.ImportValues = append(d.ImportValues, decoded)
		}
		flat.Dependencies = append(flat.Dependencies, d)
	}
}

// requirements reads requirements.yaml. The dependencies can also stand in Chart.yaml, but not in
// both files.
func (r *reader) requirements(root *yaml.Node, flat *flatChart) {
	fields := r.mapping(root, "", []string{"requirements", "dependencies"})
	for _, name := range []string{"requirements", "dependencies"} {
		if n := fields[name]; n != nil && flat.dependenciesNode != nil {
			r.failf(n, name, "dependencies are declared twice: keep one of the lists")
		} else {
			r.dependencies(n, name, flat)
		}
	}
}

// mapping returns the fields of a mapping, which can be nil. allowed are the names that they can
// have.
func (r *reader) mapping(n *yaml.Node, field string, allowed []string) map[string]*yaml.Node {
	fields := map[string]*yaml.Node{}
	for name, value := range r.entries(n, field) {
		path := strings.TrimPrefix(field+"."+name, ".")
		switch {
		case slices.Contains(allowed, name):
			fields[name] = value
		case field == "data" && slices.Contains(removedFields, name):
			r.removed = append(r.removed, r.newError(value, path, misplaced(name, allowed)))
		default:
			r.failf(value, path, "%s", misplaced(name, allowed))
		}
	}
	return fields
}
