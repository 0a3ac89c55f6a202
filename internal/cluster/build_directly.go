// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"maps"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// errUnsupported means that the fast code in this package cannot process a manifest. The
// caller must then use Helm's client, which is slower but returns Helm's error messages.
var errUnsupported = errors.New("not supported without Helm's client")

// buildDirectly does what Build does, without Helm's client. It fails for manifests that
// only that client can process.
func (b *directBuilder) buildDirectly(manifest []byte, validate bool) (kube.ResourceList, error) {
	texts, err := splitDocuments(string(manifest))
	if err != nil {
		return nil, err
	}
	parsed, err := b.documents.parse(texts)
	if err != nil {
		return nil, err
	}
	objects := make([]map[string]any, 0, len(parsed))
	for _, object := range parsed {
		if object != nil { // a document with only comments is nil
			objects = append(objects, object)
		}
	}
	return b.buildObjects(objects, validate)
}

// splitDocuments splits a manifest into YAML documents as Helm's client does: any line that
// begins with three dashes ends a document. Each result ends with a line break.
func splitDocuments(manifest string) ([]string, error) {
	if strings.Contains(manifest, "\r") {
		return nil, errUnsupported
	}
	const separator = "---"
	var texts []string
	begin := 0
	for at := 0; at < len(manifest); {
		next := len(manifest)
		if length := strings.IndexByte(manifest[at:], '\n'); length >= 0 {
			next = at + length + 1
		}
		if after, found := strings.CutPrefix(manifest[at:next], separator); found {
			if after = strings.TrimSpace(after); after != "" && after[0] != '#' {
				return nil, errUnsupported
			}
			if begin < at {
				texts = append(texts, manifest[begin:at])
			}
			begin = next
		}
		at = next
	}
	if begin < len(manifest) {
		texts = append(texts, yamledit.WithFinalNewline(manifest[begin:]))
	}
	return texts, nil
}

// documentCache caches parsed YAML documents by their text, because two revisions of a
// release have most documents in common.
type documentCache struct {
	mu     sync.Mutex
	parsed map[string]map[string]any
}

// parse parses YAML documents in parallel. The result for a document without content is nil.
func (d *documentCache) parse(texts []string) ([]map[string]any, error) {
	all := make([]map[string]any, len(texts))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, text := range texts {
		object, cached := d.cached(text)
		if cached {
			all[i] = object
			continue
		}
		g.Go(func() (err error) {
			all[i], err = yamledit.ParseObject(text)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.parsed == nil {
		d.parsed = make(map[string]map[string]any, len(texts))
	}
	for i, text := range texts {
		d.parsed[text] = all[i]
	}
	return all, nil
}

func (d *documentCache) cached(text string) (object map[string]any, cached bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	object, cached = d.parsed[text]
	return object, cached
}

// buildObjects does what BuildObjects does, without Helm's client. It fails if only that
// client can build an object.
func (b *directBuilder) buildObjects(parsed []map[string]any, validate bool) (kube.ResourceList, error) {
	list := make(kube.ResourceList, len(parsed))
	for i, content := range parsed {
		info, err := b.buildObject(content)
		if err != nil {
			return nil, err
		}
		list[i] = info
	}
	if validate && !b.schemas.AreValidated(list) {
		return nil, errUnsupported
	}
	return list, nil
}

// buildObject builds one object. The result shares all fields except its metadata with
// content, so the caller must not change anything but the metadata.
func (b *directBuilder) buildObject(content map[string]any) (*resource.Info, error) {
	metadata, ok := content["metadata"].(map[string]any)
	if _, isList := content["items"]; isList || !ok {
		return nil, errUnsupported
	}
	var typed metav1.ObjectMeta
	if err := apiruntime.DefaultUnstructuredConverter.FromUnstructured(metadata, &typed); err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: maps.Clone(content)}
	u.Object["metadata"] = maps.Clone(metadata)
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return nil, errUnsupported
	}
	mapping, err := b.connection.Mapping(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return nil, err
	}
	if mapping == nil {
		return nil, errUnsupported
	}
	client, err := b.connection.forMapping(mapping)
	if err != nil {
		return nil, err
	}
	info := &resource.Info{
		Client: client, Mapping: mapping, Object: u,
		Name: typed.Name, Namespace: typed.Namespace, ResourceVersion: typed.ResourceVersion,
	}
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		info.Namespace = ""
		u.SetNamespace("")
	case info.Namespace == "":
		if info.Namespace, err = b.namespace(); err != nil {
			return nil, err
		}
		u.SetNamespace(info.Namespace)
	}
	return info, nil
}
