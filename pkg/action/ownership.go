// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// What Helm writes on each object of a release.
const (
	managedByLabel             = "app.kubernetes.io/managed-by"
	managedByHelm              = "Helm"
	releaseNameAnnotation      = "meta.helm.sh/release-name"
	releaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
)

// parallelReads is how many objects are read at once.
const parallelReads = 16

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

// existing lists which of the objects are in the cluster already. One that
// does not belong to the release is an error, unless any may be adopted.
func existing(ctx context.Context, list kube.ResourceList, name, namespace string, adoptAny bool) (kube.ResourceList, error) {
	found := make([]bool, len(list))
	failures := make([]error, len(list))
	var g errgroup.Group
	g.SetLimit(parallelReads)
	for i, info := range list {
		g.Go(func() error {
			if ctx.Err() == nil {
				found[i], failures[i] = exists(info, name, namespace, adoptAny)
			}
			return nil
		})
	}
	_ = g.Wait() // the first failure in the list's order counts, not in time's
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var present kube.ResourceList
	for i, info := range list {
		if failures[i] != nil {
			return nil, failures[i]
		}
		if found[i] {
			present.Append(info)
		}
	}
	return present, nil
}

func exists(info *resource.Info, name, namespace string, adoptAny bool) (bool, error) {
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("could not get information about the resource %s: %w", describe(info), err)
	}
	if adoptAny {
		return true, nil
	}
	if err := checkOwner(live, name, namespace); err != nil {
		return false, fmt.Errorf("%s exists and cannot be imported into the current release: %w", describe(info), err)
	}
	return true, nil
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
