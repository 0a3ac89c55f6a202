// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/lint/rendering"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// renderedObject describes a Kubernetes object in the rendered templates.
type renderedObject struct {
	renderedObjectKey
	// chart is the path of the chart that contains the object, for example "shop/db".
	chart                 string
	kind, name, namespace string
	annotations           *yaml.Node
	// misplacedKeys contains the keys of sequencing annotations in fields where they have
	// no effect, such as "metadata.labels", by field.
	misplacedKeys map[string][]string
	// resource is the parsed document. It is nil for a hook and for the items of a List,
	// which are not separate resources of the deployment plan.
	resource map[string]any
}

// renderedObjectKey identifies an object by its position in the rendered output.
type renderedObjectKey struct {
	// file and document are the Source and Index of the document.
	file     string
	document int
	// index is the index of the object in the document. Only a List contains several objects: itself and its items.
	index int
}

func (o *renderedObject) String() string { return o.kind + "/" + o.name }

// readObjects sets i.objects to the objects in the rendered output, and checks each of them.
// It skips documents that are not valid YAML, because Helm's rules report them.
func (i *chartInspection) readObjects() {
	for _, d := range i.rendering.Documents {
		i.readDocument(d)
	}
	for _, o := range i.objects {
		i.checkObject(o)
	}
}

func (i *chartInspection) readDocument(d rendering.Document) {
	root, err := yamledit.Parse(d.Text)
	if err != nil || root == nil {
		return
	}
	chart := render.ChartOf(i.tree, d.Source)
	for index, node := range render.Objects(root) {
		o := objectOf(node)
		o.renderedObjectKey, o.chart = renderedObjectKey{d.Source, d.Index, index}, chart
		if index == 0 {
			if content, err := yamledit.ParseObject(d.Text); err == nil && len(content) > 0 {
				o.resource = content
			}
		}
		i.objects = append(i.objects, o)
	}
}

func objectOf(node *yaml.Node) *renderedObject {
	text := func(keys ...string) string {
		if n := yamledit.Lookup(node, keys...); n != nil {
			return n.Value
		}
		return ""
	}
	o := &renderedObject{kind: text("kind"), name: text("metadata", "name"), namespace: text("metadata", "namespace")}
	if a := yamledit.Resolve(yamledit.Lookup(node, "metadata", "annotations")); a != nil && a.Kind == yaml.MappingNode {
		o.annotations = a
	}
	o.misplacedKeys = map[string][]string{}
	for _, where := range misplacedKeyPaths() {
		if keys := sequencingKeysIn(yamledit.Lookup(node, where...)); len(keys) > 0 {
			o.misplacedKeys[strings.Join(where, ".")] = keys
		}
	}
	return o
}

// misplacedKeyPaths returns the paths of the fields in which authors of charts put
// sequencing annotations by mistake.
func misplacedKeyPaths() [][]string {
	return [][]string{
		{"metadata"}, {"metadata", "labels"},
		{"spec", "template", "metadata", "annotations"}, {"spec", "template", "metadata", "labels"},
	}
}

// sequencingKeysIn returns the keys of a mapping that are sequencing annotations.
func sequencingKeysIn(mapping *yaml.Node) []string {
	mapping = yamledit.Resolve(mapping)
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	var keys []string
	for n := 0; n < len(mapping.Content); n += 2 {
		if key, _ := source.CutMark(mapping.Content[n].Value); annotation.IsSequencingKey(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// resources returns the rendered resources for sequencer.Inspect.
func (i *chartInspection) resources() []sequencer.Resource {
	var list []sequencer.Resource
	for _, o := range i.objects {
		if o.resource != nil {
			list = append(list, sequencer.Resource{Chart: o.chart, File: o.file, Object: o.resource})
		}
	}
	return list
}

// checkObject adds findings about the annotations of o.
func (i *chartInspection) checkObject(o *renderedObject) {
	for _, where := range slices.Sorted(maps.Keys(o.misplacedKeys)) {
		for _, key := range o.misplacedKeys[where] {
			i.addAs(rule.MisplacedKey, rule.Warning, i.position(o, where+"."+key), fmt.Sprintf("%s: %s has no effect in %s: move it to metadata.annotations", o, key, where))
		}
	}
	if o.annotations == nil {
		return
	}
	texts := map[string]string{}
	// Invalid values do not matter on a hook, and checkPlan reports those in a sequenced chart.
	valuesChecked := i.isSequenced(o.chart) || yamledit.Lookup(o.annotations, release.HookAnnotation) != nil
	for n := 0; n < len(o.annotations.Content); n += 2 {
		key, value := o.annotations.Content[n].Value, o.annotations.Content[n+1]
		if o.annotations.Content[n].ShortTag() == "!!merge" {
			continue
		}
		v := annotation.DecodeYAML(value)
		if texts[key] = ""; v != nil {
			texts[key] = fmt.Sprint(v)
		}
		i.checkAnnotation(o, valuesChecked, key, value, v)
	}
	if o.index == 0 {
		i.checkHook(o, texts)
	}
	if _, err := annotation.ReadOnImmutable(o.resource); err != nil { // nothing for a hook, of which o.resource is nil
		i.add(rule.InvalidOnImmutable, i.position(o, annotation.OnImmutable), fmt.Sprintf("%s: %v", o, err))
	}
}

// checkAnnotation adds findings about one annotation, independently of the others. v is the
// decoded value. valuesChecked says that invalid values of sequencing annotations need no
// finding here.
func (i *chartInspection) checkAnnotation(o *renderedObject, valuesChecked bool, key string, value *yaml.Node, v any) {
	_, isText := v.(string)
	if text, _ := v.(string); annotation.IsSequencingKey(key) && strings.TrimSpace(text) == "" && (isText || v == nil) {
		i.addAs(rule.MalformedValue, rule.Warning, i.position(o, key), fmt.Sprintf("%s: %s has no value and therefore no effect", o, key))
	}
	switch {
	case !annotation.IsSequencingKey(key):
		if !isText && v != nil {
			i.add(rule.AnnotationNotString, i.position(o, key), fmt.Sprintf("%s: %s", o, notString(key, value)))
		}
		return
	case annotation.CanonicalKey(key) != key:
		i.add(rule.TwoSlashKey, i.position(o, key), fmt.Sprintf("%s: Kubernetes and stock Helm reject the key %s: use %s", o, key, annotation.CanonicalKey(key)))
	}
	if valuesChecked || isText { // a text has no effect in a chart that is not sequenced
		return
	}
	var err error
	if annotation.IsList(key) {
		_, _, err = annotation.CanonicalValue(key, value)
	} else {
		_, err = annotation.ReadResourceSequencing(map[string]any{key: v})
	}
	if err != nil {
		i.add(rule.MalformedValue, i.position(o, key), fmt.Sprintf("%s: %v", o, err))
	}
}

// isSequenced reports whether the order that the chart with the path chart declares applies
// (see sequencer.Chart).
func (i *chartInspection) isSequenced(chart string) bool {
	c := i.tree
	for _, name := range strings.Split(chart, "/")[1:] {
		at := slices.IndexFunc(c.Subcharts, func(s *sequencer.Chart) bool { return s.Name == name })
		if at < 0 {
			return false
		}
		c = c.Subcharts[at]
	}
	return c.Sequenced
}

// find returns the rendered objects in file that id can identify. There can be several,
// because an object without a namespace in its metadata matches every namespace.
func (i *chartInspection) find(file string, id sequencer.ID) []*renderedObject {
	var found []*renderedObject
	for _, o := range i.objects {
		if o.file == file && o.kind == id.Kind && o.name == id.Name && (o.namespace == "" || id.Namespace == "" || o.namespace == id.Namespace) {
			found = append(found, o)
		}
	}
	return found
}
