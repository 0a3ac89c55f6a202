// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// declare adds what the comments about a value say. Of the items of a list, the first one with a
// keyword determines its value.
func (s *schema) declare(a *annotation) {
	switch {
	case a.mergeProperties && len(s.properties) > 0:
		merged := s.properties[0].schema
		for _, p := range s.properties[1:] {
			merged.include(p.schema)
		}
		a.keywords = append(a.keywords, keyword{"additionalProperties", merged.node()})
		fallthrough
	case a.skipProperties:
		s.properties, s.required, s.hidden = nil, nil, nil
	}
	for _, k := range a.keywords {
		if !s.declares(k.name) {
			s.declared = append(s.declared, k)
		}
	}
	s.separateReference()
}

// separateReference moves $ref to allOf if there are other keywords that restrict the value, because
// drafts up to 7 ignore them beside $ref.
func (s *schema) separateReference() {
	const reference = "$ref"
	i := slices.IndexFunc(s.declared, func(k keyword) bool { return k.name == reference })
	isRestriction := func(k keyword) bool { return k.name != reference && !slices.Contains(describing, k.name) }
	if i < 0 || !slices.ContainsFunc(s.declared, isRestriction) {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{mappingNode(textNode(reference), s.declared[i].value)}}
	s.declared = slices.Delete(s.declared, i, i+1)
	if all := slices.IndexFunc(s.declared, func(k keyword) bool { return k.name == "allOf" }); all >= 0 {
		list.Content = append(list.Content, s.declared[all].value.Content...)
		s.declared[all].value = list
		return
	}
	s.declared = append(s.declared, keyword{"allOf", list})
}

// include makes s also accept what other accepts.
func (s *schema) include(other *schema) {
	s.types = unionOfTypes(append(s.types, other.types...))
	for _, p := range other.properties {
		if own := s.property(p.name); own != nil {
			own.include(p.schema)
		} else {
			s.properties = append(s.properties, p)
		}
	}
	if s.items == nil {
		s.items = other.items
	} else if other.items != nil {
		s.items.include(other.items)
	}
	s.declare(&annotation{keywords: other.declared})
	s.required = slices.DeleteFunc(s.required, func(name string) bool { return !slices.Contains(other.required, name) })
}
