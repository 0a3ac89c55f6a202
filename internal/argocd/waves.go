// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"slices"
	"strconv"
)

// Place is where a document stands in the order of a release.
type Place struct {
	// Level is that of its node; below 0 for definitions from crds/ folders.
	Level int
	// Own is the wave that its author has given it. It counts among documents of
	// the same level.
	Own int
}

// Waves numbers places: a place of a lower level has a lower wave, and so has one
// of the same level with a lower wave of its own. Places of levels from 0 on have
// waves from 0 on, without gaps.
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

// OwnWave reads the wave that the author of an object has given it; 0, as Argo CD
// has it, if there is none or it is no number.
func OwnWave(object map[string]any) int {
	wave, err := strconv.Atoi(annotationOf(object, Wave))
	if err != nil {
		return 0
	}
	return wave
}

// IsHook reports whether the author of an object has made it a hook of Argo CD.
func IsHook(object map[string]any) bool { return annotationOf(object, Hook) != "" }

func annotationOf(object map[string]any, key string) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[key].(string)
	return value
}

// Sequence gives a document its wave.
func Sequence(doc string, wave int) (string, error) {
	return annotate(doc, entry{Wave, strconv.Itoa(wave)})
}
