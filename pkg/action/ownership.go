// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/cluster"
)

// What Helm writes on each object of a release.
const (
	managedByLabel             = "app.kubernetes.io/managed-by"
	managedByHelm              = "Helm"
	releaseNameAnnotation      = "meta.helm.sh/release-name"
	releaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
)

// takeOver marks objects, before they are written, as those of the release.
func takeOver(list kube.ResourceList, name, namespace string) error {
	for _, info := range list {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return fmt.Errorf("%s cannot be marked as the release's: %w", describe(info), err)
		}
		object.SetLabels(merged(object.GetLabels(), map[string]string{managedByLabel: managedByHelm}))
		object.SetAnnotations(merged(object.GetAnnotations(), map[string]string{
			releaseNameAnnotation: name, releaseNamespaceAnnotation: namespace,
		}))
	}
	return nil
}

func merged(current, more map[string]string) map[string]string {
	if current == nil {
		return more
	}
	maps.Copy(current, more)
	return current
}

func describe(info *resource.Info) string {
	return fmt.Sprintf("%s %q in namespace %q", info.Mapping.GroupVersionKind.Kind, info.Name, info.Namespace)
}

// owner says whose objects those of an operation are; adoptAny takes over those of
// others.
type owner struct {
	name, namespace string
	adoptAny        bool
}

// existing lists which of the objects are in the cluster already. One that
// does not belong to the release is an error, unless any may be adopted.
func existing(ctx context.Context, c *cluster.Client, list kube.ResourceList, o owner) (kube.ResourceList, error) {
	for _, info := range list {
		if info.Name == "" { // which a list of what is there would not tell
			return nil, fmt.Errorf("could not get information about the resource %s: resource name may not be empty", describe(info))
		}
	}
	live, err := c.Live(ctx, list)
	if err != nil {
		return nil, err
	}
	var present kube.ResourceList
	for _, info := range list {
		object := live[info]
		if object == nil {
			continue
		}
		if !o.adoptAny {
			if err := checkOwner(object, o.name, o.namespace); err != nil {
				return nil, fmt.Errorf("%s exists and cannot be imported into the current release: %w", describe(info), err)
			}
		}
		present.Append(info)
	}
	return present, nil
}

// checkOwner says what of Helm's marks is missing or wrong.
func checkOwner(live runtime.Object, name, namespace string) error {
	object, err := meta.Accessor(live)
	if err != nil {
		return err
	}
	problem := ""
	for _, want := range []struct {
		what       string
		have       map[string]string
		key, value string
	}{
		{"label", object.GetLabels(), managedByLabel, managedByHelm},
		{"annotation", object.GetAnnotations(), releaseNameAnnotation, name},
		{"annotation", object.GetAnnotations(), releaseNamespaceAnnotation, namespace},
	} {
		value, set := want.have[want.key]
		switch {
		case !set:
			problem += fmt.Sprintf("; %s validation error: missing key %q: must be set to %q", want.what, want.key, want.value)
		case value != want.value:
			problem += fmt.Sprintf("; %s validation error: key %q must equal %q: current value is %q", want.what, want.key, want.value, value)
		}
	}
	if problem != "" {
		return errors.New("invalid ownership metadata" + problem)
	}
	return nil
}
