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
)

// The label and the annotations that Helm sets on each object of a release.
const (
	managedByLabel             = "app.kubernetes.io/managed-by"
	managedByHelm              = "Helm"
	releaseNameAnnotation      = "meta.helm.sh/release-name"
	releaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
)

// Owner identifies the release that an object belongs to, or must belong to.
type Owner struct {
	// Name and Namespace are the name and namespace of the release.
	Name, Namespace string
}

// SetOwner sets on each object of list the label and the annotations that mark it as owned
// by the release. It must be called before the objects are written.
func SetOwner(list kube.ResourceList, owner Owner) error {
	for _, info := range list {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return fmt.Errorf("%s cannot be labelled as owned by the release: %w", Describe(info), err)
		}
		object.SetLabels(merge(object.GetLabels(), map[string]string{managedByLabel: managedByHelm}))
		object.SetAnnotations(merge(object.GetAnnotations(), map[string]string{
			releaseNameAnnotation: owner.Name, releaseNamespaceAnnotation: owner.Namespace,
		}))
	}
	return nil
}

func merge(current, more map[string]string) map[string]string {
	if current == nil {
		return more
	}
	maps.Copy(current, more)
	return current
}

// CheckOwner returns Helm's error if an object in the cluster is not labelled as owned by
// the release. The error names the label and the annotations that are missing or different.
func CheckOwner(live runtime.Object, owner Owner) error {
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
		{"annotation", object.GetAnnotations(), releaseNameAnnotation, owner.Name},
		{"annotation", object.GetAnnotations(), releaseNamespaceAnnotation, owner.Namespace},
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

// OwnedByOther reports whether the annotations of an object name another release than
// owner. The reason names that release.
func OwnedByOther(live *unstructured.Unstructured, owner Owner) (reason string, other bool) {
	annotations := live.GetAnnotations()
	found := Owner{annotations[releaseNameAnnotation], annotations[releaseNamespaceAnnotation]}
	if found.Name == "" || found == owner {
		return "", false
	}
	return fmt.Sprintf("it now belongs to release %s in namespace %s", found.Name, found.Namespace), true
}
