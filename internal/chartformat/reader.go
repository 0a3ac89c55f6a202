// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"fmt"
	"slices"
	"strconv"
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
	problems []Problem
	// unreadable is set if a file cannot be parsed. Its fields are then not reported as missing.
	unreadable bool
	// inspects is set if the reader is used by Inspect. checksObject is then set while Chart.yaml
	// is read: the reader checks whether Kubernetes accepts it as an object.
	inspects, checksObject bool
}

// read reads the files of a chart.
func (r *reader) read(s Source) *flatChart {
	r.file, r.checksObject = s.chartFile(), r.inspects
	flat := r.readChart(r.parse(s.ChartYAML))
	r.checksObject = false
	if s.Requirements != nil {
		r.file = s.requirementsFile()
		r.readRequirements(r.parse(s.Requirements), flat)
	}
	r.addLibraries(flat)
	if s.Scripts {
		flat.setAnnotation(annotation.Scripts, annotation.ScriptsEnabled)
	}
	return flat
}

// invalidf adds a problem of the kind Invalid.
func (r *reader) invalidf(n *yaml.Node, field, format string, args ...any) {
	r.addf(Invalid, n, field, format, args...)
}

// parse returns the root node of a file, or nil if it is empty or cannot be parsed.
func (r *reader) parse(text []byte) *yaml.Node {
	at, problem := &yaml.Node{}, ""
	if err := yamledit.CheckAliases(string(text)); err != nil {
		problem = err.Error()
	} else if root, err := yamledit.Parse(string(text)); err == nil {
		return root
	} else {
		at.Line, problem = yamledit.SyntaxError(err)
	}
	r.unreadable = true
	r.invalidf(at, "", "%s", problem)
	return nil
}

// readChart reads Chart.yaml.
func (r *reader) readChart(root *yaml.Node) *flatChart {
	flat := &flatChart{APIVersion: chart.APIVersionV2}
	top := r.readFields(root, "", topFields)
	if n := top["kind"]; n == nil || n.Value != kind {
		r.invalidf(firstNode(n, root), "kind", "must be %s", kind)
	}
	metadata := r.readFields(top["metadata"], "metadata", metadataFields)
	flat.Name = r.scalar(metadata["name"], "metadata.name")
	r.checkName(flat.Name, firstNode(metadata["name"], top["metadata"], root))
	r.readAnnotations(metadata["annotations"], flat)
	r.readLabels(firstNode(metadata["labels"], top["metadata"], root), metadata["labels"], flat)
	data := r.readFields(top["data"], "data", dataFields)
	r.readData(data, flat)
	hooks := r.hookMode(metadata["runHooksInParallel"], data["runHooksInParallel"])
	if other := flat.Annotations[annotation.RunHooksInParallel]; hooks != "" && other != "" && other != hooks {
		at := firstNode(data["runHooksInParallel"], metadata["runHooksInParallel"])
		r.invalidf(at, annotation.HookModeField, "differs from the annotation %s: remove one of them", annotation.RunHooksInParallel)
	}
	scope := r.hookScope(data["hookScope"], "data.hookScope")
	if other := flat.Annotations[annotation.HookScope]; scope != "" && other != "" && other != scope {
		r.invalidf(data["hookScope"], "data.hookScope", "differs from the annotation %s: remove one of them", annotation.HookScope)
	}
	flat.setOrder(hooks, scope)
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

// readLabels reads the labels. Those with a meaning for other fields become these fields; the
// others become annotations, unless the chart has an annotation with the same key. at is where a
// missing label is reported.
func (r *reader) readLabels(at, labels *yaml.Node, flat *flatChart) {
	for key, value := range r.entries(labels, "metadata.labels") {
		text := r.scalar(value, "metadata.labels."+key)
		r.checkLabel(key, text, value)
		if r.isReserved(key, value, "metadata.labels."+key) {
			continue
		}
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
		r.invalidf(at, "metadata.labels.version", "is required")
	} else if _, err := semver.NewVersion(flat.Version); err != nil {
		r.invalidf(yamledit.Lookup(labels, "version"), "metadata.labels.version", "%q is not a semantic version", flat.Version)
	}
}

// isReserved reports whether key is the key of an annotation that only packing can set. It adds a
// problem in this case.
func (r *reader) isReserved(key string, value *yaml.Node, field string) bool {
	reserved := key == annotation.Libraries || key == annotation.LibraryCopy
	if reserved {
		r.invalidf(value, field, "is reserved for packed charts: declare libraries in data.libraries")
	}
	return reserved
}

// readAnnotations reads the annotations, and converts their values to strings.
func (r *reader) readAnnotations(n *yaml.Node, flat *flatChart) {
	for key, value := range r.entries(n, "metadata.annotations") {
		field := "metadata.annotations." + key
		r.checkAnnotationKey(key, value)
		if r.isReserved(key, value, field) {
			continue
		}
		if annotation.IsChartList(key) {
			text, changed, err := annotation.CanonicalValue(key, value)
			switch {
			case err != nil:
				r.invalidf(value, "metadata.annotations", "%v", err)
				continue
			case changed:
				r.notCanonicalf(value, field, "is not a string: write '%s'", text)
				flat.setAnnotation(key, text)
				continue
			}
		}
		flat.setAnnotation(key, r.scalar(value, field))
	}
}

// readData reads the fields of the mapping data.
func (r *reader) readData(data map[string]*yaml.Node, flat *flatChart) {
	flat.Description, flat.Home = r.scalar(data["description"], "data.description"), r.scalar(data["home"], "data.home")
	flat.Icon, flat.KubeVersion = r.scalar(data["icon"], "data.icon"), r.scalar(data["kubeVersion"], "data.kubeVersion")
	if flat.Type = r.scalar(data["type"], "data.type"); !slices.Contains(chartTypes, flat.Type) {
		r.invalidf(data["type"], "data.type", "must be application or library")
	}
	flat.Sources, flat.Keywords = r.scalars(data["sources"], "data.sources"), r.scalars(data["keywords"], "data.keywords")
	flat.Deprecated = r.boolean(data["deprecated"], "data.deprecated")
	for i, n := range r.items(data["maintainers"], "data.maintainers") {
		field := fmt.Sprintf("data.maintainers[%d]", i)
		m := r.readFields(n, field, maintainerFields)
		flat.Maintainers = append(flat.Maintainers, maintainer{
			Name: r.scalar(m["name"], field+".name"), Email: r.scalar(m["email"], field+".email"), URL: r.scalar(m["url"], field+".url"),
		})
	}
	r.readDependencies(data["dependencies"], "data.dependencies", flat)
	r.readLibraries(data["libraries"], "data.libraries", flat)
}

// hookMode returns the value of runHooksInParallel, which can stand in two places, or "" if it
// stands in neither.
func (r *reader) hookMode(inMetadata, inData *yaml.Node) string {
	mode := r.hookModeText(inData, "data.runHooksInParallel")
	other := r.hookModeText(inMetadata, "metadata.runHooksInParallel")
	if inMetadata != nil {
		r.notCanonicalf(inMetadata, "metadata.runHooksInParallel", "belongs in data.runHooksInParallel")
	}
	if inMetadata != nil && inData != nil && mode != other {
		r.invalidf(inMetadata, "metadata.runHooksInParallel", "differs from data.runHooksInParallel: remove it")
	}
	if inData == nil {
		return other
	}
	return mode
}

// hookModeText returns a value of runHooksInParallel, which can be a boolean or a string.
func (r *reader) hookModeText(n *yaml.Node, field string) string {
	switch mode, isBoolean := kubernetesBool(n); {
	case isNull(n):
		return ""
	case isBoolean:
		return strconv.FormatBool(mode)
	case n.Kind != yaml.ScalarNode || !slices.Contains(hookModes, n.Value):
		r.invalidf(n, field, "must be true, false or otherChartsOnly")
	}
	return n.Value
}

// hookScope returns a value of hookScope, or "" if it is not set.
func (r *reader) hookScope(n *yaml.Node, field string) string {
	value := r.scalar(n, field)
	scope, err := annotation.ReadHookScope(annotation.HookScopeField, value)
	if err != nil {
		r.invalidf(n, field, "must be %s or %s", annotation.HookScopeChart, annotation.HookScopeRelease)
	}
	return scope
}

// readDependencies reads a list of dependencies.
func (r *reader) readDependencies(n *yaml.Node, field string, flat *flatChart) {
	if n == nil {
		return
	}
	flat.dependenciesNode = n
	for i, entry := range r.items(n, field) {
		at := fmt.Sprintf("%s[%d]", field, i)
		fields := r.readFields(entry, at, dependencyFields)
		d := dependency{DependsOn: r.names(fields["depends-on"], at+".depends-on"), HookScope: r.hookScope(fields["hookScope"], at+".hookScope")}
		d.Name, d.Version = r.scalar(fields["name"], at+".name"), r.scalar(fields["version"], at+".version")
		d.Repository = r.scalar(fields["repository"], at+".repository")
		if d.Name == "" {
			r.invalidf(firstNode(fields["name"], entry), at+".name", "is required")
		}
		d.Condition, d.Alias = r.scalar(fields["condition"], at+".condition"), r.scalar(fields["alias"], at+".alias")
		d.Tags, d.Enabled = r.scalars(fields["tags"], at+".tags"), r.boolean(fields["enabled"], at+".enabled")
		for _, value := range r.items(fields["import-values"], at+".import-values") {
			var decoded any
			if err := value.Decode(&decoded); err != nil {
				r.invalidf(value, at+".import-values", "%v", err)
			}
			d.ImportValues = append(d.ImportValues, decoded)
		}
		flat.Dependencies = append(flat.Dependencies, d)
	}
}

// readRequirements reads requirements.yaml. The dependencies and the libraries can also stand in
// Chart.yaml, but not in both files.
func (r *reader) readRequirements(root *yaml.Node, flat *flatChart) {
	fields := r.readFields(root, "", []string{"requirements", "dependencies", "libraries"})
	for _, name := range []string{"requirements", "dependencies"} {
		if n := fields[name]; n != nil && flat.dependenciesNode != nil {
			r.invalidf(n, name, "dependencies are declared twice: keep one of the lists")
		} else {
			r.readDependencies(n, name, flat)
		}
	}
	if n := fields["libraries"]; n != nil && flat.libraries.node != nil {
		r.invalidf(n, "libraries", "libraries are declared twice: keep one of the lists")
	} else {
		r.readLibraries(n, "libraries", flat)
	}
}

// readFields returns the fields of a mapping, which can be nil. allowed are the names that they can
// have.
func (r *reader) readFields(n *yaml.Node, field string, allowed []string) map[string]*yaml.Node {
	fields := map[string]*yaml.Node{}
	for name, value := range r.entries(n, field) {
		path := strings.TrimPrefix(field+"."+name, ".")
		switch {
		case slices.Contains(allowed, name):
			fields[name] = value
		case field == "data" && slices.Contains(removedFields, name):
			r.addf(Removed, value, path, "has no effect in charts of %s: remove it", APIVersion)
		default:
			r.invalidf(value, path, "%s", fieldProblem(name, allowed))
		}
	}
	return fields
}
