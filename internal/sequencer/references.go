// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "github.com/ordered-helm/helm/internal/reference"

// references returns the objects that must exist so that r can become ready: its namespace,
// the objects that it refers to, and the CustomResourceDefinition of its kind.
func (b *builder) references(r *resource) []ID {
	var ids []ID
	if r.ID.Namespace != b.namespace && r.ID.Namespace != "" { // the namespace of the release exists, because the release is stored in it
		ids = append(ids, ID{Kind: "Namespace", Name: r.ID.Namespace})
	}
	for _, ref := range reference.Of(r.ID.Kind, r.ID.Namespace, r.object) {
		ids = append(ids, ID(ref))
	}
	if definition, custom := b.definitions[[2]string{r.ID.Group, r.ID.Kind}]; custom {
		ids = append(ids, definition)
	}
	return ids
}
