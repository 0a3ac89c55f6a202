// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dag

// Reachability answers whether one vertex of a graph depends on another, directly or
// indirectly. It caches the dependents of up to maxCachedVertices vertices. It is not safe
// for concurrent use.
type Reachability struct {
	dependents *Graph
	cache      map[int][]bool
}

// maxCachedVertices is the maximum number of vertices whose dependents are cached. Few are
// enough, because callers usually ask many questions about the same vertex before they ask
// about another.
const maxCachedVertices = 64

// Reachability returns a Reachability for the graph, which must not be changed afterwards.
func (g *Graph) Reachability() *Reachability {
	return &Reachability{dependents: g.Reverse(), cache: map[int][]bool{}}
}

// DependsOn reports whether vertex v depends on vertex w, directly or indirectly.
func (r *Reachability) DependsOn(v, w int) bool {
	dependents, known := r.cache[w]
	if !known {
		if len(r.cache) == maxCachedVertices {
			clear(r.cache)
		}
		dependents = r.dependents.Reachable(w)
		r.cache[w] = dependents
	}
	return dependents[v]
}
