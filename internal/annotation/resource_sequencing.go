// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"
)

// ResourceSequencing holds what the annotations of a resource declare about its order and
// readiness.
type ResourceSequencing struct {
	// Layer is the layer that the resource belongs to, or empty if there is none.
	Layer string
	// DependsOn lists the layers that must be ready before the resource is deployed, sorted.
	DependsOn []string
	// DependsOnKey is the key of the annotation that contains DependsOn. If there are several,
	// it is the first. KeyOf returns the key of a single layer.
	DependsOnKey string
	// Success and Failure are the readiness expressions.
	Success, Failure []ReadinessExpression
	// Timeout is the readiness timeout, or 0 if there is none.
	Timeout time.Duration

	// DeployOn lists the operations in which the resource takes part; nil if it takes part in all.
	DeployOn []string
	// External lists the objects and releases outside of the release that must be ready before
	// the resource is deployed, in the canonical form of package externalneed, sorted.
	External []string
	// ExternalKey is the key of the annotation that contains External. If there are several,
	// it is the first. KeyOfExternal returns the key of a single one.
	ExternalKey string
	// ExternalTimeout is the timeout of the wait for External, or 0 if there is none.
	ExternalTimeout time.Duration

	// otherKeys contains the keys of those layers in DependsOn that are not under DependsOnKey,
	// and externalKeys those of External that are not under ExternalKey.
	otherKeys, externalKeys map[string]string
}

// KeyOf returns the key of the annotation that contains layer, one of DependsOn. If there are
// several, it returns the first.
func (r *ResourceSequencing) KeyOf(layer string) string {
	return cmp.Or(r.otherKeys[layer], r.DependsOnKey)
}

// KeyOfExternal is like KeyOf, for one of External.
func (r *ResourceSequencing) KeyOfExternal(need string) string {
	return cmp.Or(r.externalKeys[need], r.ExternalKey)
}

// ReadResourceSequencing reads the sequencing annotations of a resource (see Keys), including
// alternative keys. Each value must be a string or a result of DecodeYAML. The error joins
// a *ValueError for each invalid annotation.
func ReadResourceSequencing(annotations map[string]any) (ResourceSequencing, error) {
	var r ResourceSequencing
	var problems [8]error
	r.Layer, problems[0] = readLayer(annotations)
	problems[1] = r.readDependsOn(annotations)
	r.Success, problems[2] = ReadReadinessExpressions(ReadinessSuccess, annotations[ReadinessSuccess])
	r.Failure, problems[3] = ReadReadinessExpressions(ReadinessFailure, annotations[ReadinessFailure])
	r.Timeout, problems[4] = ReadDuration(ReadinessTimeout, annotations[ReadinessTimeout])
	problems[5] = r.readExternal(annotations)
	r.ExternalTimeout, problems[6] = ReadDuration(ExternalTimeout, annotations[ExternalTimeout])
	r.DeployOn, problems[7] = ReadDeployOn(annotations[DeployOn])
	return r, errors.Join(problems[:]...)
}

func readLayer(annotations map[string]any) (string, error) {
	layer, err := ReadLayerName(Layer, annotations[Layer])
	if err != nil {
		return "", err
	}
	group, err := ReadLayerName(ResourceGroup, annotations[ResourceGroup])
	if err != nil {
		return "", err
	}
	if layer != "" && group != "" && layer != group {
		return "", newErrorOfKind(Conflict, ResourceGroup, group, "conflicts with %s: %q; a resource belongs to one layer", Layer, layer)
	}
	return cmp.Or(layer, group), nil
}

func (r *ResourceSequencing) readDependsOn(annotations map[string]any) error {
	keys := []string{
		DependsOnLayers, dependsOnLayersProposed,
		DependsOnResourceGroups, dependsOnResourceGroupsProposed,
	}
	names, err := readMerged(annotations, keys, ReadLayerNames)
	r.DependsOn, r.DependsOnKey, r.otherKeys = names.sorted, names.firstKey, names.otherKeys
	return err
}

func (r *ResourceSequencing) readExternal(annotations map[string]any) error {
	needs, err := readMerged(annotations, []string{DependsOnExternal, dependsOnExternalProposed}, ReadExternal)
	r.External, r.ExternalKey, r.externalKeys = needs.sorted, needs.firstKey, needs.otherKeys
	return err
}

// mergedNames contains the names in lists under several keys with the same meaning.
type mergedNames struct {
	sorted []string
	// firstKey is the first key that contains a name. otherKeys contains the keys of those names
	// that are not under firstKey.
	firstKey  string
	otherKeys map[string]string
}

// readMerged reads the lists under several keys with the same meaning. read reads one of them.
func readMerged(annotations map[string]any, keys []string, read func(key string, value any) ([]string, error)) (mergedNames, error) {
	var merged mergedNames
	all := map[string]bool{}
	var problems []error
	for _, key := range keys {
		names, err := read(key, annotations[key])
		problems = append(problems, err)
		if len(names) > 0 && merged.firstKey == "" {
			merged.firstKey = key
		}
		for _, name := range names {
			if key != merged.firstKey && !all[name] {
				if merged.otherKeys == nil {
					merged.otherKeys = map[string]string{}
				}
				merged.otherKeys[name] = key
			}
			all[name] = true
		}
	}
	if len(all) > 0 {
		merged.sorted = slices.Sorted(maps.Keys(all))
	}
	return merged, errors.Join(problems...)
}

// ReadChartExternal reads the lists of external dependencies in the annotations of a Chart.yaml.
// It returns them in the canonical form of package externalneed, sorted, and the key of the first
// annotation that contains any.
func ReadChartExternal(annotations map[string]any) (needs []string, key string, err error) {
	merged, err := readMerged(annotations, []string{DependsOnExternal, dependsOnExternalProposed}, ReadExternal)
	return merged.sorted, merged.firstKey, err
}
