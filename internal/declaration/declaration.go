// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package declaration reads what charts declare about their order and their hooks in Chart.yaml, which
// Helm's type cannot hold (docs/reference.md, "Chart.yaml").
package declaration

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/hookorder"
)

// Chart holds what the Chart.yaml of one chart declares about order and hooks,
// before Helm processes the chart's dependencies (docs/reference.md, "Chart.yaml").
type Chart struct {
	// Name, Version and APIVersion are the values in the Chart.yaml. In particular, Name
	// is not an alias.
	Name, Version, APIVersion string
	// File is the path of the Chart.yaml. It begins with the name of the root chart.
	File string
	// OptedIn and OptedOut report whether the annotation helm.sh/sequencing enables or
	// disables the declared order. A chart with an apiVersion below v3 must enable it.
	OptedIn, OptedOut bool
	// DependsOnSubcharts lists the subcharts, by alias, name or tag, that must be ready
	// before the chart's own resources are deployed.
	DependsOnSubcharts []string
	// DependsOnKey is the key of the annotation that contains DependsOnSubcharts, for
	// messages. If there are two, it is the first.
	DependsOnKey string
	// External lists the objects and releases outside of the release that must be ready before
	// anything of the chart is deployed, in the canonical form of package externalneed, sorted.
	External []string
	// ExternalKey is the key of the annotation that contains External, for messages. If there
	// are two, it is the first.
	ExternalKey string
	// ExternalTimeout is the timeout of the wait for External, or 0 if there is none.
	ExternalTimeout time.Duration
	// Hooks says whether the hooks of the chart run in parallel.
	Hooks hookorder.Mode
	// HookScope says when the hooks of the chart run: annotation.HookScopeChart or
	// annotation.HookScopeRelease; empty if the Chart.yaml does not say so.
	HookScope string
	// ManagesHooks reports whether the objects of the chart's hooks belong to the release:
	// whether the chart is of the format helm.sh/v3.
	ManagesHooks bool
	// Dependencies are the entries under "dependencies", in the order of the file.
	Dependencies []Dependency
	// Subcharts are the declarations of the subcharts, in the order of
	// chart.Chart.Dependencies.
	Subcharts []*Chart
	// Problem is the error in the declared order, or nil. It matters only if Sequenced
	// returns true.
	Problem error
	// Mistakes lists the keys and values in the Chart.yaml that have no effect, but were
	// probably meant to declare something about order or hooks. Each is a *ChartFileError.
	Mistakes []error
}

// APIVersionV3 is the apiVersion of charts whose declared order applies, unless the annotation
// helm.sh/sequencing disables it.
const APIVersionV3 = "v3"

// Dependency is one entry under "dependencies" in a Chart.yaml.
type Dependency struct {
	Name, Alias, Version string
	Tags                 []string
	// DependsOn lists the sibling charts, by alias, name or tag, that must be ready before
	// this one is deployed.
	DependsOn []string
	// HookScope is that of the subchart, as in Chart.HookScope.
	HookScope string
}

// NameInTree returns the name of the dependency in the tree of charts: its alias if it has
// one.
func (d Dependency) NameInTree() string { return cmp.Or(d.Alias, d.Name) }

// Sequenced reports whether the declared order of the chart applies. If not, it is ignored.
func (d *Chart) Sequenced() bool {
	return d.OptedIn || d.APIVersion == APIVersionV3 && !d.OptedOut
}

// AnySequenced reports whether the declared order of the chart, or of any chart below it, applies.
func (d *Chart) AnySequenced() bool {
	return d.Sequenced() || slices.ContainsFunc(d.Subcharts, (*Chart).AnySequenced)
}

// Declares reports whether the Chart.yaml declares an order.
func (d *Chart) Declares() bool {
	return len(d.DependsOnSubcharts) > 0 || len(d.External) > 0 || d.HookScope != "" || d.Problem != nil ||
		slices.ContainsFunc(d.Dependencies, func(e Dependency) bool { return len(e.DependsOn) > 0 || e.HookScope != "" })
}

// Read returns what the Chart.yaml of ch and those of its subcharts declare. It
// must be called before Helm processes the dependencies of ch. It reads the original
// Chart.yaml files that the chart contains, and therefore does not depend on how the chart
// was loaded. It returns errors that concern every operation, such as an invalid value of
// runHooksInParallel. Errors that concern only the order are in Chart.Problem.
func Read(ch *chart.Chart) (*Chart, error) {
	d, problems := Inspect(ch)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return d, nil
}

// ChartFileError says which Chart.yaml the error Err is about.
type ChartFileError struct {
	// File is the path of the Chart.yaml, as in Chart.File.
	File string
	Err  error
}

func (e *ChartFileError) Error() string { return e.File + ": " + e.Err.Error() }

func (e *ChartFileError) Unwrap() error { return e.Err }

// DependencyError says which entry under "dependencies" the error Err is about.
type DependencyError struct {
	Index int
	Name  string
	Err   error
}

func (e *DependencyError) Error() string { return fmt.Sprintf("dependency %q: %v", e.Name, e.Err) }

func (e *DependencyError) Unwrap() error { return e.Err }

// Inspect is like Read, but continues after errors and returns all of
// them. Each of them is a *ChartFileError, and so is each Chart.Problem.
func Inspect(ch *chart.Chart) (*Chart, []error) {
	return declarations(ch, ch.Name())
}

// declarations is Inspect for a chart whose directory is folder. This path
// begins with the name of the root chart.
func declarations(ch *chart.Chart, folder string) (*Chart, []error) {
	d := &Chart{
		Name: ch.Name(), File: path.Join(folder, chartutil.ChartfileName), Hooks: hookorder.Sequential, ManagesHooks: isTranslated(ch),
	}
	var problems []error
	raw, err := readRaw(ch)
	if err != nil {
		problems = append(problems, &ChartFileError{d.File, err})
	} else {
		d.Version, d.APIVersion = raw.Version, raw.APIVersion
		if mode, err := hookMode(raw); err != nil {
			problems = append(problems, &ChartFileError{d.File, err})
		} else {
			d.Hooks = mode
		}
		if err := d.readSequencing(raw); err != nil {
			d.Problem = &ChartFileError{d.File, err}
		}
		for _, err := range mistakes(ch, raw) {
			d.Mistakes = append(d.Mistakes, &ChartFileError{d.File, err})
		}
	}
	for _, sub := range ch.Dependencies() {
		s, more := declarations(sub, path.Join(folder, "charts", sub.Name()))
		d.Subcharts, problems = append(d.Subcharts, s), append(problems, more...)
	}
	return d, problems
}

// rawChart holds the fields of a Chart.yaml that this package reads. The values of fields
// of type any can have several YAML types.
type rawChart struct {
	Version            string           `json:"version"`
	APIVersion         string           `json:"apiVersion"`
	Annotations        map[string]any   `json:"annotations"`
	RunHooksInParallel any              `json:"runHooksInParallel"`
	HookScope          any              `json:"hookScope"`
	Dependencies       []*rawDependency `json:"dependencies"`
}

type rawDependency struct {
	Name      string   `json:"name"`
	Alias     string   `json:"alias"`
	Version   string   `json:"version"`
	Tags      []string `json:"tags"`
	DependsOn any      `json:"depends-on"`
	HookScope any      `json:"hookScope"`
}

// metadataFiles lists the files that contain the metadata of a chart.
var metadataFiles = [...]string{chartutil.ChartfileName, chartformat.RequirementsFile}

// readRaw decodes the Chart.yaml of ch and, if it exists, the requirements.yaml of charts
// for Helm 2. A chart that was created in memory does not contain these files; then
// readRaw uses its metadata.
func readRaw(ch *chart.Chart) (*rawChart, error) {
	raw := &rawChart{}
	if isTranslated(ch) && !slices.ContainsFunc(ch.Raw, declaresOrder) {
		raw.fromMetadata(ch.Metadata) // which has everything else that is read here
		return raw, nil
	}
	found := false
	for _, name := range metadataFiles {
		i := slices.IndexFunc(ch.Raw, func(f *chart.File) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		found = found || name == chartutil.ChartfileName
		if err := yaml.Unmarshal(ch.Raw[i].Data, raw); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
	}
	if !found && ch.Metadata != nil {
		raw.fromMetadata(ch.Metadata)
	}
	return raw, nil
}

// declaresOrder reports whether f is a generated Chart.yaml with a field that only Ordered Helm knows.
func declaresOrder(f *chart.File) bool {
	return f.Name == chartutil.ChartfileName &&
		(bytes.Contains(f.Data, []byte(annotation.DependsOnField+":")) || bytes.Contains(f.Data, []byte(annotation.HookScopeField+":")))
}

// isTranslated reports whether ch is a chart of the format helm.sh/v3. Its flat Chart.yaml was generated.
func isTranslated(ch *chart.Chart) bool {
	_, isV3 := chartloader.OriginalFile(ch, chartformat.OriginalChartFile)
	return isV3 && ch.Metadata != nil
}

func (r *rawChart) fromMetadata(m *chart.Metadata) {
	r.Version, r.APIVersion = m.Version, m.APIVersion
	r.Annotations = map[string]any{}
	for k, v := range m.Annotations {
		r.Annotations[k] = v
	}
	for _, d := range m.Dependencies {
		r.Dependencies = append(r.Dependencies, &rawDependency{
			Name: d.Name, Alias: d.Alias, Version: d.Version, Tags: d.Tags,
		})
	}
}

// readSequencing sets the fields of d that declare the order. The caller stores the error
// in d.Problem.
func (d *Chart) readSequencing(raw *rawChart) error {
	var problems []error
	switch raw.Annotations[annotation.Sequencing] {
	case annotation.SequencingEnabled:
		d.OptedIn = true
	case annotation.SequencingDisabled:
		d.OptedOut = true
	}
	var subcharts []string
	for _, key := range []string{annotation.DependsOnSubcharts, annotation.DependsOnSubchartsCanonical} {
		names, err := annotation.ReadNames(key, raw.Annotations[key])
		problems = append(problems, err)
		if len(names) > 0 && d.DependsOnKey == "" {
			d.DependsOnKey = key
		}
		subcharts = append(subcharts, names...)
	}
	d.DependsOnSubcharts = sortUnique(subcharts)
	scope, err := hookScope(raw)
	problems = append(problems, err)
	d.HookScope = scope
	problems = append(problems, d.readExternal(raw.Annotations))
	for i, e := range raw.Dependencies {
		if e == nil {
			continue
		}
		names, err := annotation.ReadNames(annotation.DependsOnField, e.DependsOn)
		if err != nil {
			problems = append(problems, &DependencyError{Index: i, Name: e.Name, Err: err})
		}
		scope, err := annotation.ReadHookScope(annotation.HookScopeField, e.HookScope)
		if err != nil {
			problems = append(problems, &DependencyError{Index: i, Name: e.Name, Err: err})
		}
		d.Dependencies = append(d.Dependencies, Dependency{
			Name: e.Name, Alias: e.Alias, Version: e.Version, Tags: e.Tags, DependsOn: sortUnique(names), HookScope: scope,
		})
	}
	return errors.Join(problems...)
}

// readExternal sets the fields of d that declare external dependencies.
func (d *Chart) readExternal(annotations map[string]any) error {
	var listErr, timeoutErr error
	d.External, d.ExternalKey, listErr = annotation.ReadChartExternal(annotations)
	d.ExternalTimeout, timeoutErr = annotation.ReadDuration(annotation.ExternalTimeout, annotations[annotation.ExternalTimeout])
	return errors.Join(listErr, timeoutErr)
}

func sortUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// hookScope returns the hook scope that the field hookScope or an annotation declares. If both do, they
// must agree.
func hookScope(raw *rawChart) (string, error) {
	field, err := annotation.ReadHookScope(annotation.HookScopeField, raw.HookScope)
	if err != nil {
		return "", err
	}
	scope, err := annotation.ReadHookScope(annotation.HookScope, raw.Annotations[annotation.HookScope])
	if err == nil && field != "" && scope != "" && field != scope {
		err = &annotation.ValueError{
			Key: annotation.HookScope, Value: scope, Reason: fmt.Sprintf("conflicts with %s: %q", annotation.HookScopeField, field), Kind: annotation.Conflict,
		}
	}
	return cmp.Or(field, scope), err
}

// hookMode returns the mode that the field runHooksInParallel or an annotation declares.
// If both do, they must agree.
func hookMode(raw *rawChart) (hookorder.Mode, error) {
	mode := hookorder.Sequential
	from := ""
	for _, source := range []struct {
		key   string
		value any
	}{
		{annotation.HookModeField, raw.RunHooksInParallel},
		{annotation.RunHooksInParallel, raw.Annotations[annotation.RunHooksInParallel]},
	} {
		if source.value == nil || source.value == "" {
			continue
		}
		m, ok := parseMode(source.value)
		if !ok {
			return "", &annotation.ValueError{
				Key: source.key, Value: source.value, Reason: "must be true, false or otherChartsOnly",
			}
		}
		if from != "" && m != mode {
			return "", &annotation.ValueError{
				Key: source.key, Value: source.value, Reason: fmt.Sprintf("conflicts with %s: %q", from, mode), Kind: annotation.Conflict,
			}
		}
		mode, from = m, source.key
	}
	return mode, nil
}

func parseMode(value any) (hookorder.Mode, bool) {
	switch value {
	case true, "true":
		return hookorder.Parallel, true
	case false, "false":
		return hookorder.Sequential, true
	case "otherChartsOnly":
		return hookorder.OtherChartsOnly, true
	}
	return "", false
}
