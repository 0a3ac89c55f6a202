// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// releaseField is the key under which Helm's storage drivers store a release in the data of a
// Secret or ConfigMap.
const releaseField = "release"

// secretClient is the client for Secrets of Helm's storage driver.
type secretClient struct {
	*preservingClient[*corev1.Secret, *corev1.SecretList]
	otherSecretMethods
}

// otherSecretMethods contains the methods that Helm's storage driver does not call. Its field
// is nil.
type otherSecretMethods struct{ typedcorev1.SecretInterface }

func newSecretClient(connect func() (kubernetes.Interface, error), namespace string) secretClient {
	return secretClient{preservingClient: &preservingClient[*corev1.Secret, *corev1.SecretList]{
		connect: func() (objectClient[*corev1.Secret, *corev1.SecretList], error) {
			client, err := connect()
			if err != nil {
				return nil, err
			}
			return client.CoreV1().Secrets(namespace), nil
		},
		fields: newFieldCache(),
		items: func(list *corev1.SecretList) []*corev1.Secret {
			return pointersTo(list.Items)
		},
		release:    func(secret *corev1.Secret) string { return string(secret.Data[releaseField]) },
		setRelease: func(secret *corev1.Secret, release string) { secret.Data[releaseField] = []byte(release) },
	}}
}

// SecretClient is a client for the Secrets with releases that keeps the unknown fields of the
// releases. It has only those methods that Helm's storage driver calls.
type SecretClient struct{ secretClient }

// NewSecretClient returns a SecretClient. It sends no requests.
func NewSecretClient(opts Options) *SecretClient {
	return &SecretClient{newSecretClient(opts.Connect, opts.Namespace)}
}

// Forget removes what the client knows about a stored release, because it was written without
// the client.
func (c *SecretClient) Forget(key string) { c.fields.recordDeleted(key) }

// configMapClient is the client for ConfigMaps of Helm's storage driver.
type configMapClient struct {
	*preservingClient[*corev1.ConfigMap, *corev1.ConfigMapList]
	otherConfigMapMethods
}

// otherConfigMapMethods is like otherSecretMethods.
type otherConfigMapMethods struct{ typedcorev1.ConfigMapInterface }

func newConfigMapClient(connect func() (kubernetes.Interface, error), namespace string) configMapClient {
	return configMapClient{preservingClient: &preservingClient[*corev1.ConfigMap, *corev1.ConfigMapList]{
		connect: func() (objectClient[*corev1.ConfigMap, *corev1.ConfigMapList], error) {
			client, err := connect()
			if err != nil {
				return nil, err
			}
			return client.CoreV1().ConfigMaps(namespace), nil
		},
		fields: newFieldCache(),
		items: func(list *corev1.ConfigMapList) []*corev1.ConfigMap {
			return pointersTo(list.Items)
		},
		release:    func(configMap *corev1.ConfigMap) string { return configMap.Data[releaseField] },
		setRelease: func(configMap *corev1.ConfigMap, release string) { configMap.Data[releaseField] = release },
	}}
}

// objectClient has the methods of a client for one kind of object that Helm's storage drivers
// call.
type objectClient[T metav1.Object, L any] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// preservingClient is an objectClient that keeps the unknown fields of the releases in the
// objects. Its methods connect, so that creating it needs no cluster.
type preservingClient[T metav1.Object, L any] struct {
	connect func() (objectClient[T, L], error)
	fields  *fieldCache
	items   func(L) []T
	// release returns the release in an object, and setRelease replaces it.
	release    func(T) string
	setRelease func(T, string)
}

// Get implements objectClient.
func (c *preservingClient[T, L]) Get(ctx context.Context, name string, opts metav1.GetOptions) (none T, _ error) {
	client, err := c.connect()
	if err != nil {
		return none, err
	}
	object, err := client.Get(ctx, name, opts)
	if err == nil {
		c.fields.recordRead(name, c.release(object))
	}
	return object, err
}

// List implements objectClient.
func (c *preservingClient[T, L]) List(ctx context.Context, opts metav1.ListOptions) (none L, _ error) {
	client, err := c.connect()
	if err != nil {
		return none, err
	}
	list, err := client.List(ctx, opts)
	if err == nil && selectsOneRelease(opts) {
		for _, object := range c.items(list) {
			c.fields.recordRead(object.GetName(), c.release(object))
		}
	}
	return list, err
}

// Create implements objectClient.
func (c *preservingClient[T, L]) Create(ctx context.Context, object T, opts metav1.CreateOptions) (none T, _ error) {
	client, err := c.connect()
	if err != nil {
		return none, err
	}
	created, err := client.Create(ctx, object, opts)
	if err == nil {
		c.fields.recordCreated(object.GetName())
	}
	return created, err
}

// Update implements objectClient. The object that it writes contains the unknown fields of the
// stored one.
func (c *preservingClient[T, L]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (none T, _ error) {
	client, err := c.connect()
	if err != nil {
		return none, err
	}
	release, err := c.fields.addUnknownFields(object.GetName(), c.release(object), func() (string, error) {
		stored, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return c.release(stored), nil
	})
	if err != nil {
		return none, err
	}
	c.setRelease(object, release)
	return client.Update(ctx, object, opts)
}

// Delete implements objectClient.
func (c *preservingClient[T, L]) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	if err := client.Delete(ctx, name, opts); err != nil {
		return err
	}
	c.fields.recordDeleted(name)
	return nil
}

// selectsOneRelease reports whether a list request reads the revisions of one release, which
// may then be updated. The results of other list requests, which can be large, are only
// printed.
func selectsOneRelease(opts metav1.ListOptions) bool {
	selector, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return false
	}
	_, found := selector.RequiresExactMatch("name")
	return found
}

func pointersTo[T any](items []T) []*T {
	pointers := make([]*T, len(items))
	for i := range items {
		pointers[i] = &items[i]
	}
	return pointers
}
