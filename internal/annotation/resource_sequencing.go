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

	// otherKeys contains the keys of those layers in DependsOn that are not under DependsOnKey.
	otherKeys map[string]string
}

// KeyOf returns the key of the annotation that contains layer, one of DependsOn. If there are
// several, it returns the first.
func (r *ResourceSequencing) KeyOf(layer string) string {
	return cmp.Or(r.otherKeys[layer], r.DependsOnKey)
}

// ReadResourceSequencing reads the sequencing annotations of a resource (see Keys), including
// alternative keys. Each value must be a string or a result of DecodeYAML. The error joins
// a *ValueError for each invalid annotation.
func ReadResourceSequencing(annotations map[string]any) (ResourceSequencing, error) {
	var r ResourceSequencing
	var problems [5]error
	r.Layer, problems[0] = readLayer(annotations)
	problems[1] = r.readDependsOn(annotations)
	r.Success, problems[2] = ReadReadinessExpressions(ReadinessSuccess, annotations[ReadinessSuccess])
	r.Failure, problems[3] = ReadReadinessExpressions(ReadinessFailure, annotations[ReadinessFailure])
	r.Timeout, problems[4] = ReadDuration(ReadinessTimeout, annotations[ReadinessTimeout])
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
	all := map[string]bool{}
	var problems []error
	for _, key := range []string{
		DependsOnLayers, dependsOnLayersProposed,
		DependsOnResourceGroups, dependsOnResourceGroupsProposed,
	} {
		names, err := ReadLayerNames(key, annotations[key])
		problems = append(problems, err)
		if len(names) > 0 && r.DependsOnKey == "" {
			r.DependsOnKey = key
		}
		for _, name := range names {
			if key != r.DependsOnKey && !all[name] {
				if r.otherKeys == nil {
					r.otherKeys = map[string]string{}
				}
				r.otherKeys[name] = key
			}
			all[name] = true
		}
	}
	if len(all) > 0 {
		r.DependsOn = slices.Sorted(maps.Keys(all))
	}
	return errors.Join(problems...)
}
