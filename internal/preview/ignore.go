// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/ignorefile"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/patch"
	"github.com/ordered-helm/helm/internal/redact"
)

// noteIgnored is a value of Object.Note.
const noteIgnored = "only fields that are ignored would change (--ignore)"

// change is the change of an object, according to a dry run.
type change struct {
	// after is the object as the operation would leave it, except for ports that the server assigns.
	after    *unstructured.Unstructured
	redactor *redact.Redactor
}

// Ignore makes the preview ignore the changes of fields that match the rules of a file
// (docs/reference.md, "Rules for ignoring drift"): an object in which nothing else would change
// counts as unchanged, and diffs do not show these fields. It must be called before SetContext.
func (p *Preview) Ignore(file *ignorefile.File) error {
	var err error
	p.each(func(o *Object) {
		group, _, hasGroup := strings.Cut(o.APIVersion, "/")
		if !hasGroup {
			group = ""
		}
		rules := file.For(ignorefile.Object{Group: group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Labels: o.labels})
		switch {
		case err != nil || len(rules) == 0:
		case o.Action == Change && o.change != nil:
			err = o.ignore(file, rules)
		case o.Action == Recreate:
			o.Drift = o.overwritten.fields(file)
		}
	})
	p.summarize()
	return err
}

// ignore makes the object ignore changes of the fields that match rules, those of file about the object.
func (o *Object) ignore(file *ignorefile.File, rules ignorefile.Rules) error {
	info, before := o.dryRun.Info, o.dryRun.Before
	live, planned := contentWithoutServerFields(before), contentWithoutServerFields(o.change.after)
	managers := fielddiff.ManagersOf(before)
	remaining, ignored := 0, 0
	for _, d := range fielddiff.Compare(live, planned, patch.SchemaOf(info)) {
		manager, _ := managers.Of(d.Path)
		if !rules.IgnoreObject() && !rules.IgnoreField(d.Path, manager) {
			remaining++
			continue
		}
		ignored++
		planned = withLiveField(planned, live, d.Path)
	}
	switch {
	case ignored == 0:
		return nil
	case remaining == 0:
		*o = Object{Action: Unchanged, APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Note: noteIgnored}
		return nil
	}
	var err error
	if o.live, o.planned, err = textsOf(before, &unstructured.Unstructured{Object: planned}, o.change.redactor); err != nil {
		return fmt.Errorf("%s: %w", object.Describe(info), err)
	}
	o.Diff = unifiedDiff(o.live, o.planned, defaultContext)
	o.Drift = o.overwritten.fields(file)
	return nil
}

// withLiveField returns planned with the field at path as it is in live. It removes the maps around the field that are
// empty then, and do not exist in live.
func withLiveField(planned, live map[string]any, path fielddiff.Path) map[string]any {
	changed := fielddiff.Set(planned, path, fielddiff.ValueAt(live, path))
	for at := path[:len(path)-1]; len(at) > 0 && fielddiff.ValueAt(live, at) == nil; at = at[:len(at)-1] {
		if parent, isMap := fielddiff.ValueAt(changed, at).(map[string]any); !isMap || len(parent) > 0 {
			break
		}
		changed = fielddiff.Set(changed, at, nil)
	}
	content, _ := changed.(map[string]any)
	return content
}
