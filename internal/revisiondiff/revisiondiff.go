// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package revisiondiff says in which parts two revisions of a release differ (docs/reference.md, "Upgrading only if
// something changed").
package revisiondiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/redact"
)

const rollbackDescription = "Rollback to "

// RollbackDescription returns Helm's description of a revision that returns to an earlier one.
func RollbackDescription(revision int) string { return rollbackDescription + strconv.Itoa(revision) }

// Revision is a revision that is compared.
type Revision struct {
	*release.Release
	// Record is its order record; nil if it has none.
	Record *orderrecord.Record
}

// Compare returns the parts in which two revisions differ, as in "values" and "the manifest (ConfigMap/a)"; none if they
// are equal. The status of the revisions, when their hooks ran and how far their deployment got do not count.
func Compare(a, b Revision) ([]string, error) {
	var parts []string
	for _, part := range []struct {
		name string
		of   func(Revision) any
	}{
		{"the chart", func(r Revision) any { return withoutRecord(r.Chart) }},
		{"the values", func(r Revision) any { return orEmpty(r.Config) }},
		{"the labels", func(r Revision) any { return orEmpty(r.Labels) }},
		{"the description", func(r Revision) any { return givenDescription(r.Info.Description) }},
		{"the hooks", func(r Revision) any { return declaredHooks(r.Hooks) }},
		{"the order", func(r Revision) any { return declaredOrder(r.Record) }},
	} {
		same, err := equal(part.of(a), part.of(b))
		if err != nil {
			return nil, fmt.Errorf("compare %s of revisions: %w", part.name, err)
		}
		if !same {
			parts = append(parts, part.name)
		}
	}
	if a.Manifest != b.Manifest {
		parts = append(parts, "the manifest"+inParentheses(ChangedFields(a.Manifest, b.Manifest)))
	}
	return parts, nil
}

func equal(a, b any) (bool, error) {
	first, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	second, err := json.Marshal(b)
	return bytes.Equal(first, second), err
}

// withoutRecord returns the chart as it was given, with its files in the order of their names.
func withoutRecord(ch *chart.Chart) *chart.Chart {
	rel := orderrecord.WithoutRecord(&release.Release{Chart: ch})
	if rel.Chart == nil {
		return nil
	}
	sorted := *rel.Chart
	sorted.Files, sorted.Templates = byName(sorted.Files), byName(sorted.Templates)
	return &sorted
}

func byName(files []*chart.File) []*chart.File {
	return slices.SortedFunc(slices.Values(files), func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// givenDescription returns a description, or "" if it is one that an operation has chosen.
func givenDescription(text string) string {
	if text == "Install complete" || text == "Upgrade complete" || strings.HasPrefix(text, rollbackDescription) || strings.HasPrefix(text, "Preparing ") {
		return ""
	}
	return text
}

// declaredHooks returns hooks without when they ran, and with the default of their delete policies.
func declaredHooks(hooks []*release.Hook) []release.Hook {
	declared := []release.Hook{}
	for _, h := range hooks {
		c := *h
		c.LastRun = release.HookExecution{}
		if len(c.DeletePolicies) == 0 { // operations store this default
			c.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation}
		}
		declared = append(declared, c)
	}
	return declared
}

// declaredOrder returns what a record says about the order, without the progress of a deployment.
func declaredOrder(r *orderrecord.Record) *orderrecord.Record {
	if r == nil {
		return nil
	}
	return &orderrecord.Record{
		Ordered: r.Ordered, IgnoreJobs: r.IgnoreJobs, Charts: r.Charts, DocumentCharts: r.DocumentCharts, OrderFiles: r.OrderFiles, Operation: r.Operation,
	}
}

// maxNamed is the number of fields that messages name.
const maxNamed = 5

// inParentheses returns " (a, b)", and not more than a few of the names.
func inParentheses(names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > maxNamed:
		return fmt.Sprintf(" (%s and %d more)", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// ChangedFields returns the fields in which the objects of two manifests differ, as in "Secret/a: data.password", and the
// objects that only one of them contains, as in "Secret/a".
func ChangedFields(before, after string) []string {
	from, to := objectsOf(before), objectsOf(after)
	found := map[string]bool{}
	for id, object := range from {
		if to[id] == nil {
			found[id] = true
			continue
		}
		for _, d := range fielddiff.Compare(object, to[id], nil) {
			found[id+": "+d.Path.String()] = true
		}
	}
	for id := range to {
		if from[id] == nil {
			found[id] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func objectsOf(manifest string) map[string]map[string]any {
	objects := map[string]map[string]any{}
	for _, content := range redact.ManifestObjects(manifest) {
		objects[field.String(content, "kind")+"/"+field.String(content, "metadata", "name")] = content
	}
	return objects
}

// ReleaseOptions returns the values of .Release with which a revision was rendered. A rollback does not render: its
// revision has the manifest of the one to which it returned, which is searched in history.
func ReleaseOptions(rel *release.Release, history []*release.Release) chartutil.ReleaseOptions {
	number, rendered := rel.Version, rel
	for rendered != nil {
		target, isRollback := rollbackTarget(rendered)
		if !isRollback {
			break
		}
		number, rendered = target, revisionWithNumber(history, target)
	}
	isInstall := number == 1
	if rendered != nil {
		isInstall = rendered.Info.FirstDeployed.Equal(rendered.Info.LastDeployed)
	}
	if isInstall {
		number = 1 // even with --replace, whose revision has another number
	}
	return chartutil.ReleaseOptions{Name: rel.Name, Namespace: rel.Namespace, Revision: number, IsInstall: isInstall, IsUpgrade: !isInstall}
}

// rollbackTarget returns the number of the revision to which a rollback returned that created rel. Its description is
// all that Helm stores about that.
func rollbackTarget(rel *release.Release) (number int, isRollback bool) {
	text, isRollback := strings.CutPrefix(rel.Info.Description, rollbackDescription)
	number, err := strconv.Atoi(text)
	return number, isRollback && err == nil && number < rel.Version
}

func revisionWithNumber(history []*release.Release, number int) *release.Release {
	for _, rel := range history {
		if rel.Version == number {
			return rel
		}
	}
	return nil
}
