// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"context"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// capturingClient is the client of Helm's driver for one call of a method. It keeps the Secrets
// that the driver reads and writes, whose metadata the driver does not return.
type capturingClient struct {
	typedcorev1.SecretInterface
	secrets []*corev1.Secret
	// change changes Secrets before they are written; nil to change nothing.
	change func(*corev1.Secret) error
}

// find returns the Secret with a release that the driver has read.
func (c *capturingClient) find(rel *release.Release) *corev1.Secret {
	key := keyOf(rel)
	var found *corev1.Secret
	for _, secret := range c.secrets {
		if secret.Name == key && (found == nil || secret.Namespace == rel.Namespace) {
			found = secret
		}
	}
	if found == nil { // its name does not match its contents; only the release itself can be used
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rel.Namespace, Name: key}}
	}
	return found
}

// Get implements typedcorev1.SecretInterface.
func (c *capturingClient) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error) {
	return c.captured(c.SecretInterface.Get(ctx, name, opts))
}

// List implements typedcorev1.SecretInterface.
func (c *capturingClient) List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	list, err := c.SecretInterface.List(ctx, opts)
	if err == nil {
		for i := range list.Items {
			c.secrets = append(c.secrets, &list.Items[i])
		}
	}
	return list, err
}

// Create implements typedcorev1.SecretInterface.
func (c *capturingClient) Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error) {
	if c.change != nil {
		if err := c.change(secret); err != nil {
			return nil, err
		}
	}
	return c.captured(c.SecretInterface.Create(ctx, secret, opts))
}

// Update implements typedcorev1.SecretInterface.
func (c *capturingClient) Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error) {
	if c.change != nil {
		if err := c.change(secret); err != nil {
			return nil, err
		}
	}
	return c.captured(c.SecretInterface.Update(ctx, secret, opts))
}

func (c *capturingClient) captured(secret *corev1.Secret, err error) (*corev1.Secret, error) {
	if err == nil {
		c.secrets = append(c.secrets, secret)
	}
	return secret, err
}
