// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaseguard refuses operations that would take away the CustomResourceDefinitions of
// releases while there are Releases: the cluster would delete all of them with the definitions.
// It sends requests only for releases that contain such a definition.
package releaseguard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/releasecrds"
)

// InUseError reports that an operation is refused because of Releases.
type InUseError struct {
	// Definitions are the names of the definitions that the operation would take away.
	Definitions []string
	// Release is one of the Releases, as NAMESPACE/NAME.
	Release string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("the release contains the definition of %s, and the cluster would delete all releases that are stored as objects with it, such as %s: "+
		"uninstall these releases first, or move them to another storage driver", strings.Join(e.Definitions, " and "), e.Release)
}

// CheckUninstall returns an *InUseError if objects, the declared contents of all objects of the
// release that is about to be uninstalled, contain a definition, and there are other Releases. This
// also holds for definitions that the uninstall would keep, because nothing would manage them then.
// If it would not keep them, the Release of the release itself counts, too.
func CheckUninstall(ctx context.Context, reader cluster.Reader, owner object.OwningRelease, objects []map[string]any) error {
	var names []string
	keepsAll := true
	for _, content := range objects {
		o := &unstructured.Unstructured{Object: content}
		if releasecrds.IsDefinition(o.GetAPIVersion(), o.GetKind(), o.GetName()) {
			names = append(names, o.GetName())
			keepsAll = keepsAll && object.ResourcePolicy(o) == kube.KeepPolicy
		}
	}
	if !keepsAll {
		owner = object.OwningRelease{}
	}
	return check(ctx, reader, names, owner)
}

// CheckDeletion returns an *InUseError if list, the objects that are about to be deleted, contains a
// definition that has no annotation in the cluster that keeps it, and there are Releases.
func CheckDeletion(ctx context.Context, reader cluster.Reader, list kube.ResourceList) error {
	var found kube.ResourceList
	for _, info := range list {
		if isDefinition(info) {
			found = append(found, info)
		}
	}
	if len(found) == 0 {
		return nil
	}
	live, err := reader.Live(ctx, found)
	if err != nil {
		return err
	}
	var names []string
	for _, info := range found {
		if o := live[info]; o != nil && object.ResourcePolicy(o) != kube.KeepPolicy {
			names = append(names, info.Name)
		}
	}
	return check(ctx, reader, names, object.OwningRelease{})
}

// WithoutDefinitions returns list without definitions.
func WithoutDefinitions(list kube.ResourceList) kube.ResourceList {
	return slices.DeleteFunc(slices.Clone(list), isDefinition)
}

func isDefinition(info *object.Info) bool {
	apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	return releasecrds.IsDefinition(apiVersion, kind, info.Name)
}

// check returns an *InUseError if names are not empty and there are Releases, except that of owner.
func check(ctx context.Context, reader cluster.Reader, names []string, owner object.OwningRelease) error {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	const enough = 2 // one of them can be that of owner
	releases, err := reader.Releases(ctx, enough)
	if err != nil {
		return fmt.Errorf("the release contains the definition of %s, and whether there are releases that are stored as objects with it is unknown: %w", strings.Join(names, " and "), err)
	}
	for _, r := range releases {
		if r.Name != owner.Name || r.Namespace != owner.Namespace {
			return &InUseError{Definitions: names, Release: r.Namespace + "/" + r.Name}
		}
	}
	return nil
}
