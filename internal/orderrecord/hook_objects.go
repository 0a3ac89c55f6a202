// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"
)

// HookObjects contains the objects that managed hooks of a revision and of the revisions before
// it may have left in the cluster.
type HookObjects struct {
	// Revision is the revision that stores the data.
	Revision int `json:"revision"`
	// Objects are in the order in which the hooks ran. There can be several with the same
	// name, of which at most one exists.
	Objects []HookObject `json:"objects,omitempty"`
}

// HookObject identifies an object that a managed hook created. An object with the same name
// but another UID is not meant.
type HookObject struct {
	Leftover
	// UID is empty until the object is known to be created.
	UID string `json:"uid,omitempty"`
}

// IsSameName reports whether o and other have the same kind, namespace and name.
func (o HookObject) IsSameName(other HookObject) bool { return o.Leftover == other.Leftover }

// HookObjectsFor returns what the given revision stores about objects of hooks, or nil if r
// contains no such data or if another revision stored it. r can be nil.
func (r *Record) HookObjectsFor(revision int) *HookObjects {
	if r == nil || r.HookObjects == nil || r.HookObjects.Revision != revision {
		return nil
	}
	return r.HookObjects
}

func (h *HookObjects) check() error {
	if h == nil {
		return nil
	}
	if h.Revision < 1 {
		return fmt.Errorf("its objects of hooks have the invalid revision %d", h.Revision)
	}
	for _, o := range h.Objects {
		if err := o.check(); err != nil {
			return err
		}
	}
	return nil
}

// HookObjectsOf returns what the order record of a stored revision says about objects of hooks;
// nil if it says nothing or cannot be used.
func HookObjectsOf(rel *release.Release) *HookObjects {
	rec, err := Read(rel)
	if err != nil {
		return nil
	}
	return rec.HookObjectsFor(rel.Version)
}
