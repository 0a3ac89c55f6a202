// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fielddiff

import (
	"bytes"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Managers knows which clients have set the fields of an object in the cluster, according to its
// metadata.managedFields.
type Managers struct {
	entries []metav1.ManagedFieldsEntry
	// sets contains the fields of each entry; nil if they cannot be read.
	sets []*fieldpath.Set
}

// ManagersOf returns the Managers of live, an object in the cluster.
func ManagersOf(live *unstructured.Unstructured) *Managers {
	m := &Managers{entries: live.GetManagedFields()}
	m.sets = make([]*fieldpath.Set, len(m.entries))
	for i, entry := range m.entries {
		if entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) == nil {
			m.sets[i] = set
		}
	}
	return m
}

// Of returns the client that has set the field at path last, and when that client has last changed
// the object. The manager is empty and the time zero if this is not known, for example because
// the field has been removed.
func (m *Managers) Of(path Path) (manager string, at time.Time) {
	best := 0
	for i, set := range m.sets {
		depth := 0
		if set != nil {
			depth = owns(set, path)
		}
		if depth == 0 || depth < best {
			continue
		}
		changed := time.Time{}
		if t := m.entries[i].Time; t != nil {
			changed = t.UTC()
		}
		// A client that has set the field itself counts more than one that has set what contains it: the times of
		// both have only seconds.
		if depth > best || changed.After(at) {
			best, manager, at = depth, m.entries[i].Manager, changed
		}
	}
	return manager, at
}

// owns returns how much of path a set of managed fields contains, as a number of elements: all of them if it contains the
// field at path or something below it, fewer if it contains a list or map above it as a whole, and 0 if it contains none
// of these.
func owns(set *fieldpath.Set, path Path) int {
	for i, e := range path {
		found, isMember := false, false
		var below *fieldpath.Set
		set.Members.Iterate(func(pe fieldpath.PathElement) { isMember = isMember || e.matches(pe) })
		set.Children.Iterate(func(pe fieldpath.PathElement) {
			if !found && e.matches(pe) {
				found, below = true, set.Children.Descend(pe)
			}
		})
		switch {
		case !found && isMember, found && i == len(path)-1:
			return i + 1
		case !found:
			return 0
		}
		set = below
	}
	return 0
}

// matches reports whether the element selects what pe, an element of managed fields, selects. The
// key of an item in managed fields can have more fields than that in a path.
func (e Element) matches(pe fieldpath.PathElement) bool {
	switch e.Kind {
	case Field:
		return pe.FieldName != nil && *pe.FieldName == e.Name
	case Key:
		if pe.Key == nil {
			return false
		}
		for _, field := range *pe.Key {
			if field.Name == e.Name {
				return fmt.Sprint(field.Value.Unstructured()) == fmt.Sprint(e.Value)
			}
		}
	case Value:
		return pe.Value != nil && fmt.Sprint((*pe.Value).Unstructured()) == fmt.Sprint(e.Value)
	case Index:
		return pe.Index != nil && *pe.Index == e.Index
	}
	return false
}
