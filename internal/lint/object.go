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
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/yamledit"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// object is an object of a rendered document.
type object struct {
	place
	// chart is the path of the chart that it comes from.
	chart                 string
	kind, name, namespace string
	annotations           *yaml.Node
	// resource is the whole document, nil for an item of a list and for a hook.
	resource map[string]any
}

// place says which object of which document it is.
type place struct {
	// file is the name that the template is rendered under.
	file            string
	document, index int
}

func (o *object) String() string { return o.kind + "/" + o.name }

// readObjects reads what was rendered. What is no YAML is for Helm's rules.
func (i *inspection) readObjects() {
	for _, file := range slices.Sorted(maps.Keys(i.rendered)) {
		for d, document := range render.Split(i.rendered[file]) {
			i.readDocument(file, d, document)
		}
	}
	for _, o := range i.objects {
		i.checkObject(o)
	}
}

func (i *inspection) readDocument(file string, number int, document string) {
	root, err := yamledit.Parse(document)
	if err != nil || root == nil {
		return
	}
	chart := render.ChartOf(i.tree, file)
	for index, node := range render.Objects(root) {
		o := objectOf(node)
		o.place, o.chart = place{file, number, index}, chart
		if index == 0 {
			if content, err := render.Parse(document); err == nil && len(content) > 0 {
				o.resource = content
			}
		}
		i.objects = append(i.objects, o)
	}
}

func objectOf(node *yaml.Node) *object {
	text := func(keys ...string) string {
		if n := yamledit.Lookup(node, keys...); n != nil {
			return n.Value
		}
		return ""
	}
	o := &object{kind: text("kind"), name: text("metadata", "name"), namespace: text("metadata", "namespace")}
	if a := yamledit.Resolve(yamledit.Lookup(node, "metadata", "annotations")); a != nil && a.Kind == yaml.MappingNode {
		o.annotations = a
	}
	return o
}

// resources are what the plan is made of: everything but hooks.
func (i *inspection) resources() []sequencer.Resource {
	var list []sequencer.Resource
	for _, o := range i.objects {
		if o.resource != nil {
			list = append(list, sequencer.Resource{Chart: o.chart, File: o.file, Object: o.resource})
		}
	}
	return list
}

// checkObject checks the annotations of an object as they were rendered.
func (i *inspection) checkObject(o *object) {
	if o.annotations == nil {
		return
	}
	texts := map[string]string{}
	counts := i.sequenced(o.chart)
	for n := 0; n < len(o.annotations.Content); n += 2 {
		key, value := o.annotations.Content[n].Value, o.annotations.Content[n+1]
		if o.annotations.Content[n].ShortTag() == "!!merge" {
			continue
		}
		v := annotation.Value(value)
		texts[key] = fmt.Sprint(v)
		i.checkAnnotation(o, counts, key, value, v)
	}
	if o.index == 0 {
		i.checkHook(o, texts)
	}
}

// checkAnnotation checks what does not depend on what else there is.
func (i *inspection) checkAnnotation(o *object, counts bool, key string, value *yaml.Node, v any) {
	_, isText := v.(string)
	switch {
	case !annotation.IsOurs(key):
		if !isText && v != nil {
			i.add(annotationNotString, i.at(o, key), fmt.Sprintf("%s: %s", o, notString(key, value)))
		}
		return
	case annotation.LegalKey(key) != key:
		i.add(twoSlashKey, i.at(o, key), fmt.Sprintf("%s: Kubernetes refuses the key %s, and so does stock Helm: write %s", o, key, annotation.LegalKey(key)))
	}
	if counts || isText {
		return // the plan says what is wrong, or it does not count
	}
	var err error
	if annotation.IsList(key) {
		_, _, err = annotation.LegalValue(key, value)
	} else {
		_, err = annotation.ReadResource(map[string]any{key: v})
	}
	if err != nil {
		i.add(malformedValue, i.at(o, key), fmt.Sprintf("%s: %v", o, err))
	}
}

// checkHook checks an object's annotations as those of a hook. A hook has no place
// in the order.
func (i *inspection) checkHook(o *object, annotations map[string]string) {
	hook, _, err := render.CheckHook(o.kind, annotations)
	if !hook {
		return
	}
	o.resource = nil
	if err != nil {
		key := release.HookAnnotation
		if value := valueError(err); value != nil {
			key = value.Key
		}
		i.add(invalidHook, i.at(o, key), fmt.Sprintf("%s: %v", o, err))
	}
	var ours []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if annotation.IsOurs(key) {
			ours = append(ours, key)
		}
	}
	if len(ours) > 0 {
		i.add(hookSequencing, i.at(o, ours[0]), fmt.Sprintf("%s is a hook, for which %s does not count", o, strings.Join(ours, ", ")))
	}
}

// sequenced reports whether what the chart declares about order counts.
func (i *inspection) sequenced(chart string) bool {
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

// find lists the objects that an error of the plan speaks of.
func (i *inspection) find(file string, id sequencer.ID) []*object {
	var found []*object
	for _, o := range i.objects {
		if o.file == file && o.kind == id.Kind && o.name == id.Name && (o.namespace == "" || id.Namespace == "" || o.namespace == id.Namespace) {
			found = append(found, o)
		}
	}
	return found
}
