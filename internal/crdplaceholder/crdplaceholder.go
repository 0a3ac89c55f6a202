// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package crdplaceholder writes the Secrets that keep stock Helm away from releases that are stored as objects
// (docs/reference.md, "The driver crd"). There is one for each release, at the place of its first revision.
package crdplaceholder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
	"github.com/ordered-helm/helm/internal/releasestorage"
)

// Client writes placeholders.
type Client struct {
	Kubernetes kubernetes.Interface
	// Driver is the value of HELM_DRIVER with which the releases are stored.
	Driver string
}

// placeholderKey returns the name of the placeholder of a release.
func placeholderKey(release string) string {
	return fmt.Sprintf("%s.%s.v1", storage.HelmStorageType, release)
}

// CheckUnused returns a *placeholder.DriverError if another storage driver has a release with this name.
func (c Client) CheckUnused(ctx context.Context, namespace, name string) error {
	options := releaseSelector(name)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		list, err := c.Kubernetes.CoreV1().Secrets(namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("look for release %s in Secrets: %w", name, err)
		}
		for i := range list.Items {
			if c.isPlaceholder(&list.Items[i]) {
				continue
			}
			return &placeholder.DriverError{Release: name, Namespace: namespace, Driver: "secret", Current: c.Driver}
		}
		return nil
	})
	g.Go(func() error {
		list, err := c.Kubernetes.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: options.LabelSelector, Limit: 1})
		if apierrors.IsForbidden(err) {
			return nil // an account of this driver needs no permission for ConfigMaps
		}
		if err != nil {
			return fmt.Errorf("look for release %s in ConfigMaps: %w", name, err)
		}
		if len(list.Items) > 0 {
			return &placeholder.DriverError{Release: name, Namespace: namespace, Driver: "configmap", Current: c.Driver}
		}
		return nil
	})
	return g.Wait()
}

// Create creates the placeholder of a release. Another process may have created it already.
func (c Client) Create(ctx context.Context, owner *releaseapi.Release) error {
	head := &releaseparts.Head{Name: owner.Name, Namespace: owner.Namespace, Revision: 1, Status: release.StatusPendingInstall}
	secrets := driver.NewSecrets(&placeholderClient{SecretInterface: c.Kubernetes.CoreV1().Secrets(owner.Namespace), ctx: ctx, owner: owner})
	err := secrets.Create(placeholderKey(owner.Name), placeholder.New(c.Driver, head, nil))
	if !errors.Is(err, driver.ErrReleaseExists) {
		return err
	}
	existing, err := c.Kubernetes.CoreV1().Secrets(owner.Namespace).Get(ctx, placeholderKey(owner.Name), metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("read the placeholder of release %s: %w", owner.Name, err)
	case !c.isPlaceholder(existing):
		return &placeholder.DriverError{Release: owner.Name, Namespace: owner.Namespace, Driver: "secret", Current: c.Driver}
	case !releaseapi.IsOwned(existing, owner): // of a Release that is gone, which the garbage collector has not noticed yet
		if err := c.deleteSecret(ctx, owner.Name, existing); err != nil {
			return err
		}
		return c.Create(ctx, owner)
	}
	return nil
}

// Remove deletes the placeholder of a release, and the copies of it that stock Helm has stored in attempts to roll
// back the release.
func (c Client) Remove(ctx context.Context, owner *releaseapi.Release) error {
	list, err := c.Kubernetes.CoreV1().Secrets(owner.Namespace).List(ctx, releaseSelector(owner.Name))
	if err != nil {
		return fmt.Errorf("look for the placeholder of release %s: %w", owner.Name, err)
	}
	for i := range list.Items {
		secret := &list.Items[i]
		if !c.isPlaceholder(secret) || isOfOther(secret, owner) {
			continue
		}
		if err := c.deleteSecret(ctx, owner.Name, secret); err != nil {
			return err
		}
	}
	return nil
}

// deleteSecret deletes a placeholder.
func (c Client) deleteSecret(ctx context.Context, release string, secret *corev1.Secret) error {
	err := c.Kubernetes.CoreV1().Secrets(secret.Namespace).Delete(ctx, secret.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(secret.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the placeholder of release %s: %w", release, err)
	}
	return nil
}

// isOfOther reports whether another Release owns a placeholder: the release was installed again. Copies that stock Helm has
// stored have no owner.
func isOfOther(secret *corev1.Secret, owner *releaseapi.Release) bool {
	return len(secret.OwnerReferences) > 0 && !releaseapi.IsOwned(secret, owner)
}

// releaseSelector selects the objects in which Helm stores the revisions of a release.
func releaseSelector(release string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: "owner=helm,name=" + release}
}

// isPlaceholder reports whether a Secret contains a placeholder of this driver.
func (c Client) isPlaceholder(secret *corev1.Secret) bool {
	text, err := new(releasestorage.Decoder).Text(secret.Data["release"])
	if err != nil {
		return false
	}
	var rel release.Release
	if err := json.Unmarshal(text, &rel); err != nil {
		return false
	}
	name, _ := placeholder.Of(&rel)
	return name == c.Driver
}

// placeholderClient is the client with which Helm's driver creates a placeholder. It adds the owner.
type placeholderClient struct {
	typedcorev1.SecretInterface
	ctx   context.Context //nolint:containedctx // the methods of Helm's driver have none
	owner *releaseapi.Release
}

// Create implements typedcorev1.SecretInterface.
func (c *placeholderClient) Create(_ context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error) {
	secret.OwnerReferences = []metav1.OwnerReference{releaseapi.OwnerReference(c.owner)}
	return c.SecretInterface.Create(c.ctx, secret, options) //nolint:contextcheck // see the field
}
