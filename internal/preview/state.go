// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/patch"
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
	if t == nil {
		return s
	}
	if declared, ok := t.Info.Object.(*unstructured.Unstructured); ok && t.Before != nil {
		s.Live = map[string]any{}
		addDeclared(s.Live, nil, object.WithoutServerFields(declared.Object), object.WithoutServerFields(t.Before.Object))
	}
	if t.After == nil {
		return s
	}
	after := withoutOwnUID(object.WithoutServerFields(withoutAssignedAddresses(*t).Object), string(t.After.GetUID()))
	if t.Before == nil {
		s.Changes = map[string]FieldChange{"": {To: after}}
		return s
	}
	before := object.WithoutServerFields(t.Before.Object)
	after = withoutOwnUID(after, string(t.Before.GetUID()))
	s.Changes = map[string]FieldChange{}
	for _, d := range fielddiff.Compare(before, after, patch.SchemaOf(t.Info)) {
		s.Changes[d.Path.String()] = FieldChange{From: d.Live, To: d.Declared}
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

// addDeclared adds those fields of live, the object in the cluster, that are declared to fields. The elements of a
// list are identified by their names if all of them have one; other lists are added as a whole.
func addDeclared(fields map[string]any, path fielddiff.Path, declared, live any) {
	if d, ok := declared.(map[string]any); ok {
		if l, ok := live.(map[string]any); ok {
			for key := range d {
				if value, found := l[key]; found {
					addDeclared(fields, path.With(fielddiff.Element{Kind: fielddiff.Field, Name: key}), d[key], value)
				}
			}
			return
		}
	}
	if d, ok := byName(declared); ok {
		if l, ok := byName(live); ok {
			for name := range d {
				if value, found := l[name]; found {
					addDeclared(fields, path.With(fielddiff.Element{Kind: fielddiff.Key, Name: "name", Value: name}), d[name], value)
				}
			}
			return
		}
	}
	fields[path.String()] = live
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

// Difference is a difference between the states of an object in two previews.
type Difference struct {
	// Object names the object. Action is what the earlier preview would do with it, and Now what the later one
	// would do; both are empty if the preview does not contain the object.
	Object      string
	Action, Now Action
	// Live contains the paths of the fields that differ in the cluster, and Planned those of the other fields whose
	// planned values differ. Both are sorted, and empty if the actions differ.
	Live, Planned []string
}

// Fields returns the paths of all fields that differ, sorted.
func (d Difference) Fields() []string {
	return slices.Sorted(slices.Values(slices.Concat(d.Live, d.Planned)))
}

// Compare returns the differences between the states of an earlier and a later preview of the same operation.
func Compare(earlier, later []State) []Difference {
	var differences []Difference
	now := make(map[string][]State, len(later)) // a chart can declare an object twice
	for _, s := range later {
		now[s.Object] = append(now[s.Object], s)
	}
	for _, was := range earlier {
		d := Difference{Object: was.Object, Action: was.Action}
		if found := now[was.Object]; len(found) > 0 {
			d.Now, now[was.Object] = found[0].Action, found[1:]
			if was.Action == d.Now {
				if d.Live, d.Planned = differentFields(was, found[0]); len(d.Live)+len(d.Planned) == 0 {
					continue
				}
			}
		}
		differences = append(differences, d)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		for _, is := range now[name] {
			differences = append(differences, Difference{Object: name, Now: is.Action})
		}
	}
	return differences
}

// differentFields returns the fields in which two states differ, as in a Difference.
func differentFields(a, b State) (live, planned []string) {
	inLive, inPlan := map[string]bool{}, map[string]bool{}
	for path := range mergedKeys(a.Live, b.Live) {
		if !reflect.DeepEqual(a.Live[path], b.Live[path]) {
			inLive[path] = true
		}
	}
	for path := range mergedKeys(a.Changes, b.Changes) {
		was, is := a.Changes[path], b.Changes[path]
		for _, below := range differences(was.From, is.From) {
			inLive[concatenate(path, below)] = true
		}
		for _, below := range differences(was.To, is.To) {
			inPlan[concatenate(path, below)] = true
		}
	}
	maps.DeleteFunc(inPlan, func(path string, _ bool) bool { return inLive[path] })
	return slices.Sorted(maps.Keys(inLive)), slices.Sorted(maps.Keys(inPlan))
}

// differences returns the paths of the fields in which two values differ. Items of lists are identified by their
// positions: their names can be different in each answer of the server.
func differences(a, b any) []fielddiff.Path {
	const root = "root"
	var paths []fielddiff.Path
	for _, d := range fielddiff.Compare(map[string]any{root: a}, map[string]any{root: b}, nil) {
		paths = append(paths, d.Path[1:])
	}
	return paths
}

func concatenate(path string, below fielddiff.Path) string {
	text := below.String()
	if path == "" || text == "" || text[0] == '[' {
		return path + text
	}
	return path + "." + text
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

// WithoutUnstable returns the differences without planned values that also differ in others, the differences between two
// previews right after one another: the server answers them differently each time.
func WithoutUnstable(differences, others []Difference) []Difference {
	var rest []Difference
	for _, d := range differences {
		i := slices.IndexFunc(others, func(o Difference) bool { return o.Object == d.Object })
		if i >= 0 && len(d.Planned) > 0 {
			d.Planned = slices.DeleteFunc(slices.Clone(d.Planned), func(path string) bool { return slices.Contains(others[i].Planned, path) })
			if len(d.Live)+len(d.Planned) == 0 {
				continue
			}
		}
		rest = append(rest, d)
	}
	return rest
}
