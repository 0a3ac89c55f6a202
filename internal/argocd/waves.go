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

// Place says where a document is in the order of a release.
type Place struct {
	// Level is the level of the document's node in the plan. It is negative for a
	// CustomResourceDefinition from a crds/ directory.
	Level int
	// Own is the wave that the author of the document has set. It orders only documents of
	// the same level.
	Own int
}

// Waves returns the wave of each place. Places are sorted by level, then by Own, and equal
// places get the same wave. The waves of places with a level of at least 0 start at 0 and
// have no gaps. The others are negative.
func Waves(places []Place) []int {
	compare := func(x, y Place) int { return cmp.Or(cmp.Compare(x.Level, y.Level), cmp.Compare(x.Own, y.Own)) }
	sorted := slices.Clone(places)
	slices.SortFunc(sorted, compare)
	sorted = slices.Compact(sorted)
	first := slices.IndexFunc(sorted, func(p Place) bool { return p.Level >= 0 })
	if first < 0 {
		first = len(sorted)
	}
	waves := make([]int, len(places))
	for i, p := range places {
		at, _ := slices.BinarySearchFunc(sorted, p, compare)
		waves[i] = at - first
	}
	return waves
}

// OwnWave returns the wave in the annotations of an object. Like Argo CD, it returns 0 if
// there is none or if it is not a number.
func OwnWave(object map[string]any) int {
	wave, err := strconv.Atoi(annotationOf(object, Wave))
	if err != nil {
		return 0
	}
	return wave
}

// IsHook reports whether the object has the annotation that makes it a hook of Argo CD.
func IsHook(object map[string]any) bool { return annotationOf(object, Hook) != "" }

func annotationOf(object map[string]any, key string) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[key].(string)
	return value
}

// SequenceDocuments adds the annotation with the wave to each of docs, which are in the
// order of plan. It calls warn for what Argo CD does differently.
func SequenceDocuments(docs []render.OrderedDocument, plan *sequencer.Plan, warn func(string)) error {
	places := make([]Place, len(docs))
	for i, d := range docs {
		places[i] = placeOf(d)
	}
	for i, wave := range Waves(places) {
		d := &docs[i]
		if len(d.Objects) > 0 && IsHook(d.Objects[0]) {
			warn(d.File + ": it is already an Argo CD hook, to which layers do not apply: it is left unchanged")
			continue
		}
		var err error
		if d.Text, err = Sequence(d.Text, wave); err != nil {
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

// placeOf returns the place of a document. If the document is a List, the highest wave that
// its items have counts, but at least 0.
func placeOf(d render.OrderedDocument) Place {
	p := Place{Level: -1}
	if d.Node != nil {
		p.Level = d.Node.Level
	}
	for _, object := range d.Objects {
		p.Own = max(p.Own, OwnWave(object))
	}
	if len(d.Objects) == 1 {
		p.Own = OwnWave(d.Objects[0])
	}
	return p
}

// Sequence adds the annotation with this wave to every object in a document.
func Sequence(doc string, wave int) (string, error) {
	return annotate(doc, entry{Wave, strconv.Itoa(wave)})
}
