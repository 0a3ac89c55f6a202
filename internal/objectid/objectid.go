// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package objectid identifies the objects in manifests, without asking a cluster.
package objectid

import (
	"cmp"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/kind"
)

// ID identifies an object in a cluster.
type ID struct {
	Group, Kind string
	// Namespace is that of the release if the object does not specify one. It is empty for
	// kinds that are known to be cluster-scoped.
	Namespace string
	Name      string
}

// String returns the kind and the name, for example "Deployment/web".
func (id ID) String() string { return id.Kind + "/" + id.Name }

// GroupKind identifies a kind.
type GroupKind struct{ Group, Kind string }

// GroupKindOf returns the kind of the object id.
func GroupKindOf(id ID) GroupKind { return GroupKind{id.Group, id.Kind} }

// Definition returns the kind that a CustomResourceDefinition defines, and whether this kind
// is cluster-scoped. isCRD reports whether object is a CustomResourceDefinition.
func Definition(object map[string]any) (defined GroupKind, clusterScoped, isCRD bool) {
	if field.String(object, "kind") != "CustomResourceDefinition" {
		return GroupKind{}, false, false
	}
	spec := field.Map(object, "spec")
	return GroupKind{field.String(spec, "group"), field.String(spec, "names", "kind")}, field.String(spec, "scope") == "Cluster", true
}

// Scopes says for custom kinds whether they are cluster-scoped.
type Scopes map[GroupKind]bool

// Add adds the kind that object defines, if object is a CustomResourceDefinition.
func (s Scopes) Add(object map[string]any) {
	if defined, clusterScoped, isCRD := Definition(object); isCRD {
		s[defined] = clusterScoped
	}
}

// Identify returns the ID of an object. namespace is the namespace of the release. A kind
// that is not in s is namespaced, unless Kubernetes itself has a cluster-scoped kind of this
// name.
func (s Scopes) Identify(object map[string]any, namespace string) ID {
	metadata := field.Map(object, "metadata")
	id := ID{
		Group: kind.Group(field.String(object, "apiVersion")), Kind: field.String(object, "kind"), Name: field.String(metadata, "name"),
	}
	clusterScoped, custom := s[GroupKindOf(id)]
	if !custom {
		clusterScoped = kind.IsClusterScoped(id.Group, id.Kind)
	}
	if !clusterScoped {
		id.Namespace = cmp.Or(field.String(metadata, "namespace"), namespace)
	}
	return id
}
