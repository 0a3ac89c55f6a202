// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

// digits matches the numbers in a text.
var digits = regexp.MustCompile(`\d+`)

// renameKey identifies objects of which one can be another revision of the other: their kind, their namespace, and
// their name without numbers.
type renameKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func renameKeyOf(info *object.Info) renameKey {
	return renameKey{info.Mapping.GroupVersionKind, info.Namespace, digits.ReplaceAllString(info.Name, "#")}
}

// renames finds objects whose only change is that their name, and their content, contain the number of the new
// revision instead of that of an earlier one.
type renames struct {
	revision string
	created  map[renameKey][]*object.Info
}

// newRenames returns renames for the new revision. created are the objects that would be created.
func newRenames(revision int, created []*object.Info) *renames {
	r := &renames{revision: strconv.Itoa(revision), created: map[renameKey][]*object.Info{}}
	for _, info := range created {
		key := renameKeyOf(info)
		r.created[key] = append(r.created[key], info)
	}
	return r
}

// of returns the object that replaces old, an object that would be deleted; nil if none does.
func (r *renames) of(old *object.Info) *object.Info {
	from, isKnown := old.Object.(*unstructured.Unstructured)
	if !isKnown {
		return nil
	}
	for _, info := range r.created[renameKeyOf(old)] {
		to, isKnown := info.Object.(*unstructured.Unstructured)
		earlier := earlierRevision(old.Name, info.Name, r.revision)
		if isKnown && earlier != "" && r.isSame(withoutOwner(from), withoutOwner(to), earlier) {
			return info
		}
	}
	return nil
}

// earlierRevision returns the number in the name before that stands where the name after has the revision; "" if the
// names differ in more than that.
func earlierRevision(before, after, revision string) string {
	earlier := ""
	was, is := digits.FindAllString(before, -1), digits.FindAllString(after, -1)
	for i := range min(len(was), len(is)) {
		switch {
		case was[i] == is[i]:
		case is[i] != revision || earlier != "" && earlier != was[i]:
			return ""
		default:
			earlier = was[i]
		}
	}
	return earlier
}

// withoutOwner returns the content of an object without the label and annotations that name its release, which only objects
// that are about to be written have. It shares most of the content with the object.
func withoutOwner(o *unstructured.Unstructured) map[string]any {
	content := maps.Clone(o.Object)
	metadata, isMap := content["metadata"].(map[string]any)
	if !isMap {
		return content
	}
	metadata = maps.Clone(metadata)
	for field, keys := range map[string][]string{
		"labels": {annotation.ManagedByLabel}, "annotations": {annotation.ReleaseName, annotation.ReleaseNamespace},
	} {
		values, _ := metadata[field].(map[string]any)
		values = maps.Clone(values)
		for _, key := range keys {
			delete(values, key)
		}
		metadata[field] = values
		if len(values) == 0 {
			delete(metadata, field)
		}
	}
	content["metadata"] = metadata
	return content
}

// isSame reports whether two values differ only in the number of the revision.
func (r *renames) isSame(before, after any, earlier string) bool {
	switch b := before.(type) {
	case map[string]any:
		a, isMap := after.(map[string]any)
		if !isMap || len(a) != len(b) {
			return false
		}
		for key, value := range b {
			other, known := a[key]
			if !known || !r.isSame(value, other, earlier) {
				return false
			}
		}
		return true
	case []any:
		a, isList := after.([]any)
		if !isList || len(a) != len(b) {
			return false
		}
		for i := range b {
			if !r.isSame(b[i], a[i], earlier) {
				return false
			}
		}
		return true
	case string:
		a, isText := after.(string)
		return isText && r.isSameText(b, a, earlier)
	}
	return fmt.Sprint(before) == fmt.Sprint(after) // numbers can have different types
}

// isSameText reports whether two texts differ only in the number of the revision. A number beside a dot or a colon is
// part of a version or of the tag of an image instead.
func (r *renames) isSameText(before, after, earlier string) bool {
	if before == after {
		return true
	}
	if digits.ReplaceAllString(before, "#") != digits.ReplaceAllString(after, "#") {
		return false
	}
	was, is := digits.FindAllString(before, -1), digits.FindAllStringIndex(after, -1)
	for i, at := range is {
		number := after[at[0]:at[1]]
		if was[i] == number {
			continue
		}
		beside := after[max(at[0]-1, 0):at[0]] + after[at[1]:min(at[1]+1, len(after))]
		if was[i] != earlier || number != r.revision || strings.ContainsAny(beside, ".:") {
			return false
		}
	}
	return true
}

// findRenames remembers the objects that would be created, to find those that only replace others.
func (b *Builder) findRenames(run *deploy.Run, dryRuns []objectwriter.DryRunResult) {
	var created []*object.Info
	for _, t := range dryRuns {
		if t.Effect == objectwriter.EffectCreated {
			created = append(created, t.Info)
		}
	}
	b.inventory, b.renames = run.Inventory(), newRenames(run.Release().Version, created)
}

// isRenamed reports whether an object that would be deleted is replaced by one that differs only in the number of the
// revision, and sets the action of that object.
func (b *Builder) isRenamed(info *object.Info) bool {
	declared := b.inventory.Find(info)
	if declared == nil {
		return false
	}
	replacement := b.renames.of(declared)
	if replacement == nil {
		return false
	}
	want := newObject(replacement, Create)
	renamed := false
	b.preview.each(func(o *Object) {
		if o.Action == Create && o.isSame(want) {
			o.Action, o.Was, renamed = Rename, info.Name, true
		}
	})
	return renamed
}
