// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// operationCheck compares the objects in the cluster before and after an operation with the
// changes that the model expects.
type operationCheck struct {
	*modelStep
	before, after map[string]liveObject
	loose         map[types.UID]map[string]bool
	problems      []string
	// removed is true if a failed install has uninstalled the release.
	removed bool
	// left is the number of objects that exist although they are no longer declared and their
	// policy is not keep. Stock Helm can leave such objects.
	left int
}

func (c *operationCheck) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// checkSuccess checks an operation that succeeded: all declared objects exist as declared,
// and no others.
func (c *operationCheck) checkSuccess() {
	for _, id := range sorted(c.declared) {
		if now, there := c.after[id]; there {
			c.checkContent(id, now)
		} else {
			c.problem("%s is missing", id)
		}
	}
	all := maps.Clone(c.before)
	maps.Copy(all, c.after)
	for _, id := range sorted(all) {
		was, before := c.before[id]
		now, after := c.after[id]
		if before && after {
			c.checkUnchanged(id, was, now)
		}
		if c.declared[id] == nil {
			c.checkUndeclared(id, before, after)
		}
	}
}

// checkUndeclared checks an object that the new revision does not declare. before and after
// tell whether it existed before and after the operation.
func (c *operationCheck) checkUndeclared(id string, before, after bool) {
	if !c.inChain(id) {
		if before != after {
			c.problem("%s is no object of the release: before %t, after %t", id, before, after)
		}
		return
	}
	switch expected := c.outcomeOf(id, c.before[id].fields); {
	case expected == deleted && after:
		c.problem("%s is left", id)
	case expected == kept && before && !after:
		c.problem("%s was to be kept", id)
	case expected == deletedOrKept && after:
		c.left++
	}
}

// checkUnchanged checks that an object was not recreated, and that fields that other clients
// have set are kept.
func (c *operationCheck) checkUnchanged(id string, was, now liveObject) {
	if was.uid != now.uid {
		c.problem("%s is another object than before", id)
		return
	}
	if c.declared[id] == nil && !c.inChain(id) && !maps.Equal(was.fields, now.fields) {
		c.problem("%s is no object of the release and was changed:\n    was %s\n    is  %s", id, formatFields(was.fields), formatFields(now.fields))
	}
	for key := range was.fields {
		_, has := now.fields[key]
		switch declared := c.declared[id] != nil; {
		case !isForeign(key):
		case c.force && declared && has:
			c.problem("%s still has %q, which a replacement has not", id, key)
		case !has && (!c.force || !declared) && c.mustKeepFields(id):
			c.problem("%s has lost %q, which somebody else has set", id, key)
		}
	}
}

// checkContent checks that an object has the declared fields, and records its other fields in
// c.loose.
func (c *operationCheck) checkContent(id string, now liveObject) {
	was := c.before[id]
	extra := map[string]bool{}
	for key, value := range now.fields {
		want, declared := c.declared[id][key]
		switch {
		case declared && value != want:
			c.problem("%s has %q: %q, want %q", id, key, value, want)
		case declared, isForeign(key) && was.fields[key] != "":
		case c.loose[now.uid][key] && !c.force, c.mayHaveField(id, key, was.fields):
			extra[key] = true
		default:
			c.problem("%s has %q: %q, which is not declared", id, key, value)
		}
	}
	for key := range c.declared[id] {
		if _, has := now.fields[key]; !has {
			c.problem("%s has no %q", id, key)
		}
	}
	c.loose[now.uid] = extra
}

// isForeign reports whether a field is one that only changeObject sets, as another client.
func isForeign(key string) bool {
	return strings.HasPrefix(key, "label f-") || strings.HasPrefix(key, "data f-")
}

// checkFailure checks an operation that failed: it has created only declared objects, and has
// deleted nothing, unless deletesFirst is true. If cleaned is true, the objects that it has
// created must have been deleted again.
func (c *operationCheck) checkFailure(deletesFirst, cleaned bool) {
	for _, id := range sorted(c.after) {
		fields, declared := c.declared[id]
		kept := c.removed && isKeepPolicy(fields["policy"])
		if _, before := c.before[id]; !before && !kept && (cleaned || !declared) {
			c.problem("%s was created by what failed (declared: %t)", id, declared)
		}
	}
	c.noteForeignFields()
	for _, id := range sorted(c.before) {
		was := c.before[id]
		now, after := c.after[id]
		switch {
		case after:
			if !c.force {
				c.checkUnchanged(id, was, now)
			}
		case deletesFirst && c.declared[id] == nil && c.inChain(id) && c.outcomeOf(id, was.fields) != kept:
		default:
			c.problem("%s was deleted by what failed", id)
		}
	}
}

// noteForeignFields records in c.loose the undeclared fields of objects that the release has
// adopted.
func (c *operationCheck) noteForeignFields() {
	for id, now := range c.after {
		if was := c.before[id]; c.declared[id] == nil || c.inChain(id) || was.uid != now.uid {
			continue
		}
		extra := map[string]bool{}
		for key := range now.fields {
			_, declared := c.declared[id][key]
			extra[key] = !declared && !isForeign(key)
		}
		c.loose[now.uid] = extra
	}
}

// formatFields returns fields as one line of text.
func formatFields(fields map[string]string) string {
	var parts []string
	for _, key := range sorted(fields) {
		parts = append(parts, key+"="+fields[key])
	}
	return strings.Join(parts, ", ")
}
