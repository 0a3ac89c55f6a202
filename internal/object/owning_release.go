// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"errors"
	"fmt"
	"maps"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordered-helm/helm/internal/annotation"
)

// OwningRelease identifies a release, as the owner of objects.
type OwningRelease struct {
	// Name and Namespace are the name and namespace of the release.
	Name, Namespace string
}

// SetOwner sets, on each object in list, Helm's label and annotations that mark the object
// as owned by a release. It must be called before the objects are written.
func SetOwner(list kube.ResourceList, owner OwningRelease) error {
	for _, info := range list {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return fmt.Errorf("%s cannot be labeled as owned by the release: %w", Describe(info), err)
		}
		object.SetLabels(withEntries(object.GetLabels(), map[string]string{annotation.ManagedByLabel: annotation.ManagedByHelm}))
		object.SetAnnotations(withEntries(object.GetAnnotations(), map[string]string{
			annotation.ReleaseName: owner.Name, annotation.ReleaseNamespace: owner.Namespace,
		}))
	}
	return nil
}

// withEntries adds the entries of more to current, and returns the result.
func withEntries(current, more map[string]string) map[string]string {
	if current == nil {
		return more
	}
	maps.Copy(current, more)
	return current
}

// CheckOwner returns an error, with Helm's text, if an object in the cluster is not marked as
// owned by the release. The error names the label and annotations that are missing or wrong.
func CheckOwner(live runtime.Object, owner OwningRelease) error {
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
		{"label", object.GetLabels(), annotation.ManagedByLabel, annotation.ManagedByHelm},
		{"annotation", object.GetAnnotations(), annotation.ReleaseName, owner.Name},
		{"annotation", object.GetAnnotations(), annotation.ReleaseNamespace, owner.Namespace},
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

// OwnedByOther reports whether an object is annotated as owned by another release than owner.
// The reason is a message that names that release.
func OwnedByOther(live *unstructured.Unstructured, owner OwningRelease) (reason string, other bool) {
	annotations := live.GetAnnotations()
	found := OwningRelease{annotations[annotation.ReleaseName], annotations[annotation.ReleaseNamespace]}
	if found.Name == "" || found == owner {
		return "", false
	}
	return fmt.Sprintf("it now belongs to release %s in namespace %s", found.Name, found.Namespace), true
}
