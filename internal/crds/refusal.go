// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/releasecrds"
)

// RefusedError reports CRDs that an operation cannot apply. It has changed nothing.
type RefusedError struct {
	Refusals []Refusal
}

// Refusal says why a CRD is not applied.
type Refusal struct {
	// Name is the name of the CRD, and File is the file that declares it.
	Name, File string
	Err        error
}

func (e *RefusedError) Error() string {
	texts := make([]string, len(e.Refusals))
	for i, r := range e.Refusals {
		message, _ := failure.DescribeRejection(r.Err)
		texts[i] = fmt.Sprintf("CustomResourceDefinition %s (%s): %s", r.Name, r.File, message)
	}
	return fmt.Sprintf("the definitions of the chart cannot be applied; nothing was changed: %s; "+
		"to leave existing definitions as they are, use --crds=create", strings.Join(texts, "; "))
}

// Unwrap returns the errors of all refusals.
func (e *RefusedError) Unwrap() []error {
	errs := make([]error, len(e.Refusals))
	for i, r := range e.Refusals {
		errs[i] = r.Err
	}
	return errs
}

// refusal returns why live, a CRD in the cluster, must not be applied as info declares it; nil
// if it may be. changes says whether it would be changed. release is the release that the
// operation deploys.
func refusal(info *object.Info, live *unstructured.Unstructured, changes bool, release object.OwningRelease) error {
	crd, err := object.AsUnstructured(info.Object)
	if err != nil {
		return err
	}
	if live.GetDeletionTimestamp() != nil {
		return errors.New("it is being deleted: wait until it no longer exists")
	}
	if err := foreign(live, changes, release); err != nil || !changes {
		return err
	}
	if problems := append(changedIdentity(crd, live), droppedVersions(crd, live)...); len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// foreign returns an error if a CRD in the cluster belongs to somebody else.
func foreign(live *unstructured.Unstructured, changes bool, release object.OwningRelease) error {
	reason, isOfOther := object.OwnedByOther(live, release)
	switch {
	case isOfOther && changes:
		return fmt.Errorf("it differs, but %s, which declares it in its templates: change it with that release", strings.Replace(reason, "it now ", "it ", 1))
	case isOfOther:
		return nil
	case object.CheckOwner(live, release) == nil && !object.PolicyKeeps(object.ResourcePolicy(live)):
		// It was moved from templates/ to crds/, or is in both.
		return fmt.Errorf("it belongs to release %s, which deletes it with all its objects when it is no longer in the templates: "+
			"annotate it in the cluster with helm.sh/resource-policy=keep first, or keep it only in the templates", release.Name)
	case changes && releasecrds.IsDefinition(live.GetAPIVersion(), live.GetKind(), live.GetName()):
		return errors.New("it differs, but helm stores releases with it: only \"helm state init\" changes it")
	}
	return nil
}

// changedIdentity says which of the scope, group and names a CRD declares otherwise than the CRD
// in the cluster, whose objects would not be found any more. Short names and categories can
// change.
func changedIdentity(crd, live *unstructured.Unstructured) (problems []string) {
	for _, field := range [][]string{{"scope"}, {"group"}, {"names", "kind"}, {"names", "plural"}, {"names", "singular"}, {"names", "listKind"}} {
		path := append([]string{"spec"}, field...)
		want, _, _ := unstructured.NestedString(crd.Object, path...)
		have, _, _ := unstructured.NestedString(live.Object, path...)
		if want != "" && want != have {
			problems = append(problems, fmt.Sprintf("spec.%s cannot be changed from %s to %s: delete the definition and all its objects first", strings.Join(field, "."), have, want))
		}
	}
	return problems
}

// droppedVersions says which versions a CRD does not declare although the cluster may have stored
// objects in them, which nobody could read any more.
func droppedVersions(crd, live *unstructured.Unstructured) (problems []string) {
	stored, _, _ := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	dropped := slices.DeleteFunc(slices.Clone(stored), func(name string) bool {
		return slices.ContainsFunc(versions, func(entry any) bool {
			version, _ := entry.(map[string]any)
			return version["name"] == name
		})
	})
	if len(dropped) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("objects may be stored in version %[1]s, which the chart no longer declares: "+
		"migrate them to another version, and remove %[1]s from status.storedVersions first", strings.Join(dropped, " and "))}
}
