// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

// State is what a preview has found out about an object, such that a later preview of the same operation can be
// compared with it (docs/reference.md, "Saved plans"). It contains the contents of Secrets.
type State struct {
	Action Action `json:"action"`
	// Object names the object, as in "apps/v1 Deployment shop/web".
	Object string `json:"object"`
	// Live contains the fields of the object in the cluster that the release declares, by their paths.
	Live map[string]any `json:"live,omitempty"`
	// Changes contains the fields that the operation changes, by their paths.
	Changes map[string]FieldChange `json:"changes,omitempty"`
}

// FieldChange is the value of a field before and after an operation. A value is nil if the field does not exist.
type FieldChange struct {
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
}

// States returns the states of all objects of the preview, in its order.
func (p *Preview) States() []State {
	var states []State
	p.each(func(o *Object) { states = append(states, o.state()) })
	return states
}

func (o *Object) state() State {
	s := State{Action: o.Action, Object: o.title()}
	t := o.dryRun
	if t == nil || t.After == nil {
		return s
	}
	after := withoutOwnUID(object.WithoutServerFields(withoutAssignedAddresses(*t).Object), string(t.After.GetUID()))
	s.Changes = map[string]FieldChange{}
	if t.Before == nil {
		addChanges(s.Changes, "", nil, after)
		return s
	}
	before := object.WithoutServerFields(t.Before.Object)
	addChanges(s.Changes, "", before, withoutOwnUID(after, string(t.Before.GetUID())))
	if declared, ok := t.Info.Object.(*unstructured.Unstructured); ok {
		s.Live = map[string]any{}
		addDeclared(s.Live, "", object.WithoutServerFields(declared.Object), before)
	}
	return s
}

func (o *Object) title() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.APIVersion + " " + o.Kind + " " + name
}

// withoutAssignedAddresses returns the object as the operation would leave it, without what the server would assign
// differently to the actual request: in a Service, the addresses and node ports that are not declared.
func withoutAssignedAddresses(t objectwriter.DryRunResult) *unstructured.Unstructured {
	if t.Before != nil {
		return withoutAssignedPorts(t)
	}
	if kind := t.Info.Mapping.GroupVersionKind; kind.Group != "" || kind.Kind != "Service" {
		return t.After
	}
	t.Before = &unstructured.Unstructured{Object: map[string]any{}}
	after := withoutAssignedPorts(t).DeepCopy()
	declared, _ := t.Info.Object.(*unstructured.Unstructured)
	spec, _ := after.Object["spec"].(map[string]any)
	for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		if _, found, _ := unstructured.NestedFieldNoCopy(declared.Object, "spec", field); !found {
			delete(spec, field)
		}
	}
	return after
}

// withoutOwnUID returns content with the UID of the object replaced: in a dry run, each answer of the server has
// another one, which the selector and the labels of a Job contain.
func withoutOwnUID(content map[string]any, uid string) map[string]any {
	if uid == "" {
		return content
	}
	changed, _ := replaceText(content, uid, "(uid)").(map[string]any)
	return changed
}

func replaceText(value any, old, replacement string) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, inner := range v {
			m[key] = replaceText(inner, old, replacement)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = replaceText(v[i], old, replacement)
		}
		return list
	case string:
		return strings.ReplaceAll(v, old, replacement)
	}
	return value
}

// addChanges adds the differences between two values to changes. path is their path.
func addChanges(changes map[string]FieldChange, path string, before, after any) {
	if b, ok := before.(map[string]any); ok {
		if a, ok := after.(map[string]any); ok {
			for key := range b {
				addChanges(changes, join(path, key), b[key], a[key])
			}
			for key := range a {
				if _, found := b[key]; !found {
					addChanges(changes, join(path, key), nil, a[key])
				}
			}
			return
		}
	}
	if b, ok := before.([]any); ok {
		if a, ok := after.([]any); ok && len(a) == len(b) {
			for i := range a {
				addChanges(changes, path+"["+elementKey(i, b[i], a[i])+"]", b[i], a[i])
			}
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		changes[path] = FieldChange{before, after}
	}
}

// addDeclared adds those fields of live, the object in the cluster, that are declared to fields. The elements of a
// list are identified by their names if all of them have one; other lists are added as a whole.
func addDeclared(fields map[string]any, path string, declared, live any) {
	if d, ok := declared.(map[string]any); ok {
		if l, ok := live.(map[string]any); ok {
			for key := range d {
				if value, found := l[key]; found {
					addDeclared(fields, join(path, key), d[key], value)
				}
			}
			return
		}
	}
	if d, ok := byName(declared); ok {
		if l, ok := byName(live); ok {
			for name := range d {
				if value, found := l[name]; found {
					addDeclared(fields, path+"["+name+"]", d[name], value)
				}
			}
			return
		}
	}
	fields[path] = live
}

// elementKey returns what identifies the elements i of two lists in a path: their name, if both have the same one.
func elementKey(i int, before, after any) string {
	b, _ := before.(map[string]any)
	a, _ := after.(map[string]any)
	if name, _ := b["name"].(string); name != "" && name == a["name"] {
		return name
	}
	return strconv.Itoa(i)
}

// byName returns the elements of a list by their names. ok is false if value is no list, or not all elements have
// different names.
func byName(value any) (elements map[string]any, ok bool) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return nil, false
	}
	elements = make(map[string]any, len(list))
	for _, element := range list {
		m, _ := element.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || elements[name] != nil {
			return nil, false
		}
		elements[name] = element
	}
	return elements, true
}

// join returns the path of a field. A key with a dot or slash is quoted.
func join(path, key string) string {
	if strings.ContainsAny(key, "./[]") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Difference is a difference between the states of an object in two previews.
type Difference struct {
	// Object names the object. Action is what the earlier preview would do with it, and Now what the later one
	// would do; both are empty if the preview does not contain the object.
	Object      string
	Action, Now Action
	// Fields contains the paths of the fields that differ, sorted. It is empty if the actions differ.
	Fields []string
}

// Compare returns the differences between the states of an earlier and a later preview of the same operation.
func Compare(earlier, later []State) []Difference {
	var differences []Difference
	now := make(map[string]State, len(later))
	for _, s := range later {
		now[s.Object] = s
	}
	for _, was := range earlier {
		is, found := now[was.Object]
		delete(now, was.Object)
		d := Difference{Object: was.Object, Action: was.Action, Now: is.Action}
		if found && was.Action == is.Action {
			if d.Fields = differentFields(was, is); len(d.Fields) == 0 {
				continue
			}
		}
		differences = append(differences, d)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		differences = append(differences, Difference{Object: name, Now: now[name].Action})
	}
	return differences
}

func differentFields(a, b State) []string {
	paths := map[string]bool{}
	for path := range mergedKeys(a.Live, b.Live) {
		if !reflect.DeepEqual(a.Live[path], b.Live[path]) {
			paths[path] = true
		}
	}
	for path := range mergedKeys(a.Changes, b.Changes) {
		before, after := map[string]FieldChange{}, a.Changes[path]
		addChanges(before, path, after.From, b.Changes[path].From)
		addChanges(before, path, after.To, b.Changes[path].To)
		for differs := range before {
			paths[differs] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

func mergedKeys[V any](a, b map[string]V) map[string]bool {
	keys := make(map[string]bool, len(a)+len(b))
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}

// Without returns those differences that others does not contain.
func Without(differences, others []Difference) []Difference {
	var rest []Difference
	for _, d := range differences {
		i := slices.IndexFunc(others, func(o Difference) bool { return o.Object == d.Object })
		if i >= 0 && len(d.Fields) > 0 {
			d.Fields = slices.DeleteFunc(slices.Clone(d.Fields), func(path string) bool { return slices.Contains(others[i].Fields, path) })
			if len(d.Fields) == 0 {
				continue
			}
		}
		rest = append(rest, d)
	}
	return rest
}
