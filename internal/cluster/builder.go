// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
)

// Builder builds objects from what manifests declare.
type Builder interface {
	// Build builds the objects of a manifest with their REST mappings, in the order of the
	// manifest. If validate is true, it checks the fields of objects that the server does
	// not validate. The errors are those of Helm's client.
	Build(manifest []byte, validate bool) (kube.ResourceList, error)
	// BuildObjects is Build for objects that are already parsed, for example from JSON. It
	// does not change them. The caller must not change them either, because the result
	// shares parts of them.
	BuildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error)
	// References finds the API resources of objects, which have at least a kind and a name,
	// so that the objects can be compared, read and deleted. namespace is the namespace of
	// namespaced objects that do not declare one.
	References(objects []map[string]any, namespace string) (kube.ResourceList, error)
	// InServedVersion returns an object in an API version that the cluster serves, or nil
	// if the cluster does not serve its kind in any version. If the version is not the
	// declared one, the result has only the kind and the name of the object, because fields
	// can have another meaning in another version. A custom Kubernetes client is asked for
	// the declared version only. Without a cluster, every version counts as served.
	InServedVersion(content map[string]any) (map[string]any, error)
	// DefinitionsPresent reports for each of the names whether a CRD with this name
	// certainly exists in the cluster, so that the CRD does not need to be built. A CRD that
	// cannot be read counts as missing, and so does every CRD of a custom Kubernetes client.
	DefinitionsPresent(ctx context.Context, names []string) map[string]bool
}

// delegatingBuilder is the Builder for a custom Kubernetes client, and for a client without
// a cluster. It calls the methods of that client.
type delegatingBuilder struct {
	client kube.Interface
	kinds  Kinds
}

// Build implements Builder.
func (b *delegatingBuilder) Build(manifest []byte, validate bool) (kube.ResourceList, error) {
	return b.client.Build(bytes.NewReader(manifest), validate)
}

// BuildObjects implements Builder.
func (b *delegatingBuilder) BuildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	var manifest bytes.Buffer
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("write an object of the manifest: %w", err)
		}
		manifest.WriteString("---\n")
		writeEscaped(&manifest, text)
		manifest.WriteString("\n")
	}
	return b.client.Build(&manifest, validate)
}

// writeEscaped writes the JSON text so that it is also valid YAML: it escapes the control
// characters that only JSON allows.
func writeEscaped(b *bytes.Buffer, text []byte) {
	for _, c := range string(text) {
		if c >= 0x7f && c <= 0x9f || c == 0xfeff || c == 0xfffe || c == 0xffff {
			fmt.Fprintf(b, "\\u%04x", c)
		} else {
			b.WriteRune(c)
		}
	}
}

// References implements Builder.
func (b *delegatingBuilder) References(objects []map[string]any, _ string) (kube.ResourceList, error) {
	return b.BuildObjects(objects, false)
}

// InServedVersion implements Builder.
func (b *delegatingBuilder) InServedVersion(content map[string]any) (map[string]any, error) {
	u := &unstructured.Unstructured{Object: content}
	unknown, err := b.kinds.IsUnknownKind(u.GetAPIVersion(), u.GetKind())
	if err != nil || unknown {
		return nil, err
	}
	return content, nil
}

// DefinitionsPresent implements Builder.
func (*delegatingBuilder) DefinitionsPresent(context.Context, []string) map[string]bool { return nil }

// directBuilder is the Builder for Helm's own Kubernetes client. It sends requests over a
// connection. Helm's client builds only what this package does not support.
type directBuilder struct {
	helm       *kube.Client
	fallback   *delegatingBuilder
	connection *Connection

	defaultNamespace once[string]
	schemas          schemas
	documents        documents
}

func newDirectBuilder(helm *kube.Client, c *Connection) *directBuilder {
	return &directBuilder{
		helm: helm, fallback: &delegatingBuilder{client: helm, kinds: c.discoverer}, connection: c,
		schemas: schemas{getter: c.clients.getter},
	}
}

// Build implements Builder.
func (b *directBuilder) Build(manifest []byte, validate bool) (kube.ResourceList, error) {
	if list, err := b.buildPlain(manifest, validate); err == nil {
		return list, nil
	}
	return b.fallback.Build(manifest, validate)
}

// BuildObjects implements Builder.
func (b *directBuilder) BuildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error) {
	if list, err := b.objects(objects, validate); err == nil {
		return list, nil
	}
	return b.fallback.BuildObjects(objects, validate)
}

// References implements Builder.
func (b *directBuilder) References(objects []map[string]any, namespace string) (kube.ResourceList, error) {
	list := make(kube.ResourceList, len(objects))
	for i, content := range objects {
		var err error
		if list[i], err = b.reference(content, namespace); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// InServedVersion implements Builder.
func (b *directBuilder) InServedVersion(content map[string]any) (map[string]any, error) {
	served, err := b.fallback.InServedVersion(content)
	if err != nil || served != nil {
		return served, err
	}
	u := &unstructured.Unstructured{Object: content}
	gv, err := schema.ParseGroupVersion(u.GetAPIVersion())
	if err != nil {
		return nil, err
	}
	mapping, err := b.connection.Mapping(gv.Group+"/", u.GetKind()) // in any version
	if err != nil || mapping == nil {
		return nil, err
	}
	return object.Reference(mapping.GroupVersionKind.GroupVersion().String(), u.GetKind(), u.GetNamespace(), u.GetName()), nil
}

// DefinitionsPresent implements Builder.
func (b *directBuilder) DefinitionsPresent(ctx context.Context, names []string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	present := make(map[string]bool, len(names))
	client, err := b.connection.Metadata()
	if err != nil {
		return present
	}
	found := make([]bool, len(names))
	var g errgroup.Group
	g.SetLimit(MaxConcurrency)
	for i, name := range names {
		g.Go(func() error {
			_, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			found[i] = err == nil
			return nil
		})
	}
	_ = g.Wait() // a failure counts as missing
	for i, name := range names {
		present[name] = found[i]
	}
	return present
}
