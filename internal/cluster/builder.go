// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster/servervalidation"
	"github.com/ordered-helm/helm/internal/object"
)

// Builder builds objects, with the REST mappings of their kinds, from manifests.
type Builder interface {
	// Build builds the objects of a manifest, in the order of the manifest. If validate is
	// true, it also validates the fields of those objects that the server does not validate
	// itself. The errors are those of Helm's client.
	Build(manifest []byte, validate bool) (kube.ResourceList, error)
	// BuildObjects does what Build does, for objects that are already parsed, for example
	// from JSON. It does not change them. The caller must not change them either, because
	// the result shares parts of them.
	BuildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error)
	// BuildReferences builds objects that are only compared, read or deleted. They need
	// nothing but an API version, a kind and a name. Namespaced objects that do not declare
	// a namespace get the given one.
	BuildReferences(objects []map[string]any, namespace string) (kube.ResourceList, error)
	// InServedVersion returns content, an object, if the cluster serves its kind in the
	// declared API version. If the cluster serves only other versions, the result is an
	// object with one of these versions and only the kind, namespace and name, because
	// fields can have another meaning there. The result is nil if the cluster does not
	// serve the kind, or if it does not serve the declared version and the Kubernetes
	// client is a custom one. Without a cluster, every version counts as served.
	InServedVersion(content map[string]any) (map[string]any, error)
	// ExistingCRDs returns by name when those of the CRDs were created that certainly exist in
	// the cluster, and so do not need to be created. The time is zero for a CRD that cannot be
	// read. With a custom Kubernetes client, all CRDs count as missing.
	ExistingCRDs(ctx context.Context, names []string) map[string]time.Time
}

// delegatingBuilder is the Builder that calls the methods of a Kubernetes client: a custom
// one, one without a cluster or, as the fallback of directBuilder, Helm's own.
type delegatingBuilder struct {
	client    kube.Interface
	discovery Discovery
}

// Build implements Builder.
func (b *delegatingBuilder) Build(manifest []byte, validate bool) (kube.ResourceList, error) {
	return b.client.Build(bytes.NewReader(manifest), validate)
}

// BuildObjects implements Builder.
func (b *delegatingBuilder) BuildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error) {
	_, buildsNothing := b.client.(*kubefake.PrintingKubeClient) // Helm's client without a cluster
	if len(objects) == 0 || buildsNothing {
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

// writeEscaped writes JSON text so that it is also valid YAML: it escapes the characters
// that JSON allows in strings and YAML does not.
func writeEscaped(b *bytes.Buffer, text []byte) {
	for _, c := range string(text) {
		if c >= 0x7f && c <= 0x9f || c == 0xfeff || c == 0xfffe || c == 0xffff {
			fmt.Fprintf(b, "\\u%04x", c)
		} else {
			b.WriteRune(c)
		}
	}
}

// BuildReferences implements Builder.
func (b *delegatingBuilder) BuildReferences(objects []map[string]any, _ string) (kube.ResourceList, error) {
	return b.BuildObjects(objects, false)
}

// InServedVersion implements Builder.
func (b *delegatingBuilder) InServedVersion(content map[string]any) (map[string]any, error) {
	u := &unstructured.Unstructured{Object: content}
	unknown, err := b.discovery.IsUnknownKind(u.GetAPIVersion(), u.GetKind())
	if err != nil || unknown {
		return nil, err
	}
	return content, nil
}

// ExistingCRDs implements Builder.
func (*delegatingBuilder) ExistingCRDs(context.Context, []string) map[string]time.Time { return nil }

// directBuilder is the Builder that replaces Helm's own Kubernetes client. It sends its own
// requests over connection. It calls Helm's client, through fallback, only for what the
// faster code of this package does not support.
type directBuilder struct {
	helm       *kube.Client
	fallback   *delegatingBuilder
	connection *Connection

	defaultNamespace lazy[string]
	schemas          *servervalidation.Validation
	documents        documentCache
}

func newDirectBuilder(helm *kube.Client, c *Connection) *directBuilder {
	return &directBuilder{
		helm: helm, fallback: &delegatingBuilder{client: helm, discovery: c.discoverer}, connection: c,
		schemas: servervalidation.New(c.clientFactory.getter),
	}
}

// Build implements Builder.
func (b *directBuilder) Build(manifest []byte, validate bool) (kube.ResourceList, error) {
	if list, err := b.buildDirectly(manifest, validate); err == nil {
		return list, nil
	}
	return b.fallback.Build(manifest, validate)
}

// BuildObjects implements Builder.
func (b *directBuilder) BuildObjects(objects []map[string]any, validate bool) (kube.ResourceList, error) {
	if list, err := b.buildObjects(objects, validate); err == nil {
		return list, nil
	}
	return b.fallback.BuildObjects(objects, validate)
}

// BuildReferences implements Builder.
func (b *directBuilder) BuildReferences(objects []map[string]any, namespace string) (kube.ResourceList, error) {
	list := make(kube.ResourceList, len(objects))
	for i, content := range objects {
		var err error
		if list[i], err = b.buildReference(content, namespace); err != nil {
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
	mapping, err := b.connection.Mapping(gv.Group+"/", u.GetKind()) // finds the kind in any version
	if err != nil || mapping == nil {
		return nil, err
	}
	return object.Reference(mapping.GroupVersionKind.GroupVersion().String(), u.GetKind(), u.GetNamespace(), u.GetName()), nil
}

// ExistingCRDs implements Builder.
func (b *directBuilder) ExistingCRDs(ctx context.Context, names []string) map[string]time.Time {
	if len(names) == 0 {
		return nil
	}
	present := make(map[string]time.Time, len(names))
	client, err := b.connection.Metadata()
	if err != nil {
		return present
	}
	found := make([]time.Time, len(names))
	var g errgroup.Group
	g.SetLimit(MaxConcurrency)
	for i, name := range names {
		g.Go(func() error {
			if crd, err := client.Resource(crdResource).Get(ctx, name, metav1.GetOptions{}); err == nil {
				found[i] = crd.GetCreationTimestamp().Time
			}
			return nil
		})
	}
	_ = g.Wait() // a CRD that cannot be read counts as missing
	for i, name := range names {
		present[name] = found[i]
	}
	return present
}
