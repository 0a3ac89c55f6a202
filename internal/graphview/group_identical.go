// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// minIdentical is the minimum number of nodes with the same predecessors and successors
// that are drawn in a separate box, with common arrows. Otherwise their arrows would cover
// the drawing.
const minIdentical = 12

// groupIdentical moves those nodes of a box that have the same predecessors and successors
// into a new box inside it, and replaces their arrows with arrows of the new box. Fewer than
// minIdentical nodes stay where they are.
func (a *arranger) groupIdentical(box *item) {
	twins := map[string][]*item{}
	neighbors := a.neighbors(box)
	for _, in := range box.inner {
		if key, known := neighbors[in]; known && !in.box && in.change == unchanged {
			twins[key] = append(twins[key], in)
		}
	}
	groups := map[*item]*item{} // the group of each node
	var inner []*item
	for _, in := range box.inner {
		of := twins[neighbors[in]]
		switch {
		case len(of) < minIdentical || !slices.Contains(of[:1], in) && groups[in] == nil:
			inner = append(inner, in)
		case groups[in] == nil:
			title := fmt.Sprintf("%d nodes with the same dependencies", len(of))
			group := &item{id: "t" + in.id, box: true, kind: kindGroup, title: title, tooltip: title, inner: of}
			for _, twin := range of {
				groups[twin], a.boxOf[twin] = group, group
			}
			a.boxOf[group] = box
			inner = append(inner, group)
		}
	}
	box.inner = inner
	if len(groups) > 0 {
		a.arrows[box] = joinArrows(a.arrows[box], groups)
	}
}

// neighbors returns a key for each item in a box that identifies its predecessors and
// successors: items with the same neighbors have the same key. Items without arrows, or with
// a new or removed arrow, have no key.
func (a *arranger) neighbors(box *item) map[*item]string {
	before, after, changed := map[*item][]string{}, map[*item][]string{}, map[*item]bool{}
	for _, arrow := range a.arrows[box] {
		before[arrow.then] = append(before[arrow.then], arrow.first.id)
		after[arrow.first] = append(after[arrow.first], arrow.then.id)
		if arrow.change != unchanged {
			changed[arrow.first], changed[arrow.then] = true, true
		}
	}
	keys := map[*item]string{}
	for _, in := range box.inner {
		if len(before[in])+len(after[in]) > 0 && !changed[in] {
			slices.Sort(before[in])
			slices.Sort(after[in])
			keys[in] = strings.Join(before[in], " ") + "|" + strings.Join(after[in], " ")
		}
	}
	return keys
}

// joinArrows replaces each end of an arrow that is in groups with its group, and combines
// arrows with the same ends. groups contains the group of each grouped item.
func joinArrows(arrows []*arrow, groups map[*item]*item) []*arrow {
	var joined []*arrow
	known := map[[2]*item]*arrow{}
	for _, each := range arrows {
		ends := [2]*item{cmp.Or(groups[each.first], each.first), cmp.Or(groups[each.then], each.then)}
		if one := known[ends]; one != nil {
			if len(each.reasons) > 0 && !each.reasons[0].Implicit { // an implicit reason is the same for all of them
				one.reasons = append(one.reasons, each.reasons...)
			}
			continue
		}
		one := &arrow{first: ends[0], then: ends[1], reasons: slices.Clone(each.reasons), change: each.change}
		known[ends] = one
		joined = append(joined, one)
	}
	return joined
}
