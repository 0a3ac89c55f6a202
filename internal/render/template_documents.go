// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// templateDocument is one document of a rendered template.
type templateDocument struct {
	// file is the path of the template. rendered is the text that the template has rendered,
	// and text is the same text with sequencing annotations in the canonical form.
	file, rendered, text string
	// converted contains the keys of annotations that differ between rendered and text.
	converted []convertedKey
	// head determines the place of the document in the manifest. headKnown is false if Helm
	// might read another one.
	head      documentHead
	headKnown bool
	// object is the parsed document, if parsed is set. It is nil if the document contains
	// only comments.
	object map[string]any
	parsed bool
}

// documentHead is what determines the place of a document in the manifest.
type documentHead struct {
	kind, version string
	isHook        bool
}

// templateDocuments splits rendered templates into their documents, sorted by the path of the
// template. It parses them, and converts their sequencing annotations to the canonical form,
// which Kubernetes and Helm's parser accept (see package annotation). It changes nothing else.
// The result contains the parsed documents only if keepObjects is set.
func templateDocuments(files map[string]string, keepObjects bool) ([]templateDocument, error) {
	var docs []templateDocument
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, text := range Split(files[file]) {
			docs = append(docs, templateDocument{file: file, rendered: text})
		}
	}
	err := forEachParallel(len(docs), func(i int) error {
		d := &docs[i]
		if err := d.parse(); err != nil {
			return fmt.Errorf("%s: %w", d.file, err)
		}
		if d.head, d.headKnown = d.readHead(); !keepObjects {
			d.object, d.parsed = nil, false
		}
		return nil
	})
	return docs, err
}

// writtenKeys returns the keys of annotations that were converted in docs, as the templates
// wrote them.
func writtenKeys(docs []templateDocument) map[sequencer.AnnotationKey]string {
	written := map[sequencer.AnnotationKey]string{}
	for i := range docs {
		for _, k := range docs[i].converted {
			written[sequencer.AnnotationKey{File: docs[i].file, Object: k.object, Key: annotation.CanonicalKey(k.key)}] = k.key
		}
	}
	return written
}

// parse sets d.text, d.object and d.parsed. It returns an error if a sequencing annotation is
// invalid, or if the document is too large. Other documents that cannot be parsed are not
// errors, because Helm's parser rejects them later with a better message.
func (d *templateDocument) parse() error {
	if err := yamledit.CheckAliases(d.rendered); err != nil {
		return err
	}
	object, err := yamledit.ParseYAMLObject(d.rendered)
	d.object, d.parsed = object, err == nil
	return d.convert()
}

// convert sets d.text for a document that is parsed, and parses it again if that changes the text.
func (d *templateDocument) convert() (err error) {
	d.text = d.rendered
	if !mayContainOrder(d.text) {
		return nil
	}
	if d.parsed {
		if text, keys, ok := renameKeys(d.text, d.object); ok {
			d.text, d.converted = text, keys
			return nil
		}
	}
	if d.text, d.converted, err = canonicalDocument(d.rendered); err != nil {
		return err
	}
	if d.text != d.rendered {
		object, err := yamledit.ParseYAMLObject(d.text)
		d.object, d.parsed = object, err == nil
	}
	return nil
}

// readHead reads the head of d from d.object. known is false if Helm might read another one,
// for example because the document cannot be parsed, or because Helm ignores the case of field
// names.
func (d *templateDocument) readHead() (head documentHead, known bool) {
	metadata, isMap := mapField(d.object, "metadata")
	annotations, hasAnnotations := mapField(metadata, "annotations")
	known = d.parsed && isMap && hasAnnotations &&
		hasExactNames(d.object, "apiVersion", "kind", "metadata") && hasExactNames(metadata, "name", "annotations") &&
		isTextOrNull(d.object["apiVersion"]) && isTextOrNull(d.object["kind"]) && isTextOrNull(metadata["name"])
	for _, value := range annotations {
		known = known && isTextOrNull(value)
	}
	_, head.isHook = annotations[release.HookAnnotation]
	head.version, head.kind = field.String(d.object, "apiVersion"), field.String(d.object, "kind")
	return head, known
}

// mapField returns the field of object with the given name. isMap is false if the field has a
// value that is not a map.
func mapField(object map[string]any, name string) (value map[string]any, isMap bool) {
	if object[name] == nil {
		return nil, true
	}
	value, isMap = object[name].(map[string]any)
	return value, isMap
}

// hasExactNames reports whether each field of object that Helm takes for one of names has
// exactly this name.
func hasExactNames(object map[string]any, names ...string) bool {
	for field := range object {
		if slices.ContainsFunc(names, func(name string) bool { return field != name && strings.EqualFold(field, name) }) {
			return false
		}
	}
	return true
}

func isTextOrNull(value any) bool {
	_, isText := value.(string)
	return isText || value == nil
}

// asFile returns d, which is not a hook, as a document of the manifest.
func (d *templateDocument) asFile(head documentHead) File {
	return File{
		Name: d.file, Content: d.text, Secret: head.kind == "Secret" && head.version == "v1",
		kind: head.kind, rank: kind.InstallRank(head.kind), object: d.object, parsed: d.parsed && d.isOneDocument(),
	}
}

// isOneDocument reports whether d remains one document, and is parsed as the same object, if
// a Source comment precedes it.
func (d *templateDocument) isOneDocument() bool {
	return !strings.HasPrefix(d.text, "---") && !strings.HasPrefix(d.text, "\ufeff") && !strings.HasPrefix(d.text, "%")
}

// isPartial reports whether a file contains only definitions for other templates. Helm does
// not deploy what such a file renders.
func isPartial(file string) bool { return strings.HasPrefix(path.Base(file), "_") }

// withDocuments returns the texts of the rendered templates in files, with the canonical form
// of docs, their documents. The separators between documents are kept.
func withDocuments(files map[string]string, docs []templateDocument) map[string]string {
	changed := maps.Clone(files)
	for start := 0; start < len(docs); {
		end, file := start, docs[start].file
		var before, after []string
		for ; end < len(docs) && docs[end].file == file; end++ {
			before, after = append(before, docs[end].rendered), append(after, docs[end].text)
		}
		changed[file] = replaceDocuments(files[file], before, after)
		start = end
	}
	return changed
}
