// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/object"
)

// FindExisting looks for the objects of list in the cluster. IsAbsent and ApplyNode use what
// it finds. It returns an error if an object belongs to another owner, unless TakeOwnership
// is set.
func (a *Applier) FindExisting(ctx context.Context, list kube.ResourceList) error {
	for _, info := range list {
		if info.Name == "" { // unlike Helm's get request, Live's list request would not fail
			return fmt.Errorf("could not get information about the resource %s: resource name may not be empty", object.Describe(info))
		}
	}
	live, err := a.config.Cluster.Live(ctx, list)
	if err != nil {
		return err
	}
	var present []*object.Info
	for _, info := range list {
		found := live[info]
		if found == nil {
			continue
		}
		if !a.config.TakeOwnership {
			if err := object.CheckOwner(found, a.config.Owner); err != nil {
				return fmt.Errorf("%s exists and cannot be imported into the current release: %w", object.Describe(info), err)
			}
		}
		if a.config.Inventory.Find(info) == nil {
			present = append(present, info)
		}
	}
	a.setPresent(present...)
	return nil
}

// setPresent adds objects to present. Without objects, it only makes present non-nil, which
// means that FindExisting has run.
func (a *Applier) setPresent(list ...*object.Info) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.present == nil {
		a.present = map[*object.Info]bool{}
	}
	for _, info := range list {
		a.present[info] = true
	}
}

// IsAbsent reports whether FindExisting has not found an object, and no earlier revision
// declares it. It returns false if FindExisting has not run.
func (a *Applier) IsAbsent(info *object.Info) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.present != nil && !a.present[info] && a.config.Inventory.Find(info) == nil
}

// noneExists reports whether no object of list can exist: there are no earlier revisions,
// and FindExisting has found none of the objects. The objects are then created without
// reading them first.
func (a *Applier) noneExists(list kube.ResourceList) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.Inventory == nil && !slices.ContainsFunc(list, func(info *object.Info) bool { return a.present[info] })
}
