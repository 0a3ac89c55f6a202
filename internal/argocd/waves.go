// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// OrderPosition is the position of a document in the deployment order of a release.
type OrderPosition struct {
	// Level is the level of the document's node in the deployment graph: the number of its
	// batch, from 0. It is negative for a CustomResourceDefinition from a crds/ directory.
	Level int
	// Assigned is the wave that the chart already assigns to the document. It orders only
	// documents of the same level.
	Assigned int
}

// Waves returns the wave of each position. Waves follow the order of the positions: by Level,
// then by Assigned. Equal positions get the same wave. For levels from 0, waves are numbered
// from 0 without gaps. For negative levels, they end at -1.
func Waves(positions []OrderPosition) []int {
	compare := func(x, y OrderPosition) int {
		return cmp.Or(cmp.Compare(x.Level, y.Level), cmp.Compare(x.Assigned, y.Assigned))
	}
	sorted := slices.Clone(positions)
	slices.SortFunc(sorted, compare)
	sorted = slices.Compact(sorted)
	first := slices.IndexFunc(sorted, func(p OrderPosition) bool { return p.Level >= 0 })
	if first < 0 {
		first = len(sorted)
	}
	waves := make([]int, len(positions))
	for i, p := range positions {
		at, _ := slices.BinarySearchFunc(sorted, p, compare)
		waves[i] = at - first
	}
	return waves
}

// AssignedWave returns the wave in the annotations of an object. As in Argo CD, it is 0 if
// there is none, or if it is not a number.
func AssignedWave(object map[string]any) int {
	wave, err := strconv.Atoi(annotationOf(object, Wave))
	if err != nil {
		return 0
	}
	return wave
}

// IsHook reports whether an object has the annotation that makes it a hook of Argo CD.
func IsHook(object map[string]any) bool { return annotationOf(object, Hook) != "" }

// annotationOf returns the annotation of an object with the given key, or an empty string
// if there is none.
func annotationOf(object map[string]any, key string) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[key].(string)
	return value
}

// SequenceDocuments adds the annotation Wave to each of docs, which must be in deployment
// order. It calls warn with a message about each difference between Argo CD and plan, the
// deployment plan of the release.
func SequenceDocuments(docs []render.OrderedDocument, plan *sequencer.Plan, warn func(string)) error {
	positions := make([]OrderPosition, len(docs))
	for i, d := range docs {
		positions[i] = orderPositionOf(d)
	}
	for i, wave := range Waves(positions) {
		d := &docs[i]
		if len(d.Objects) > 0 && IsHook(d.Objects[0]) {
			warn(d.File + ": left unchanged, because it is an Argo CD hook, to which layers do not apply")
			continue
		}
		var err error
		if d.Text, err = AddWave(d.Text, wave); err != nil {
			return fmt.Errorf("%s: %w", d.File, err)
		}
	}
	withExpressions := 0
	for _, n := range plan.Nodes {
		for _, r := range n.Resources {
			if len(r.Success)+len(r.Failure) > 0 {
				withExpressions++
			}
		}
	}
	if withExpressions > 0 {
		warn(fmt.Sprintf("%d resources have readiness expressions, which Argo CD does not support: it uses its own health checks", withExpressions))
	}
	return nil
}

// orderPositionOf returns the position of a document. If the document is a List, Assigned is
// the highest wave of its items, but at least 0.
func orderPositionOf(d render.OrderedDocument) OrderPosition {
	p := OrderPosition{Level: -1}
	if d.Node != nil {
		p.Level = d.Node.Level
	}
	for _, object := range d.Objects {
		p.Assigned = max(p.Assigned, AssignedWave(object))
	}
	if len(d.Objects) == 1 {
		p.Assigned = AssignedWave(d.Objects[0])
	}
	return p
}

// AddWave adds the annotation Wave to every object in a document.
func AddWave(doc string, wave int) (string, error) {
	return annotate(doc, keyValue{Wave, strconv.Itoa(wave)})
}
