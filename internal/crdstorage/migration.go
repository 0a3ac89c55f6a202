// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"
	"errors"

	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// CreatePlaceholder creates the placeholder for stock Helm of a release that was moved to this driver. Its name must not
// be in use by another driver any more.
func (d *Driver) CreatePlaceholder(ctx context.Context, name string) error {
	return d.withParent(ctx, name, func(c *clients) error { return c.helm.Create(ctx, d.knownRelease(name)) })
}

// RemovePlaceholder deletes the placeholder for stock Helm of a release that is about to be moved to another driver.
func (d *Driver) RemovePlaceholder(ctx context.Context, name string) error {
	err := d.withParent(ctx, name, func(c *clients) error { return c.helm.Remove(ctx, d.knownRelease(name)) })
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	return err
}

// withParent reads the Release with a name, and then calls do.
func (d *Driver) withParent(ctx context.Context, name string, do func(c *clients) error) error {
	c, err := d.connect()
	if err != nil {
		return err
	}
	parent, err := c.objects.Releases.Get(ctx, name)
	if apierrors.IsNotFound(err) && !isDefinitionsError(err) {
		return driver.ErrReleaseNotFound
	}
	if err != nil {
		return err
	}
	d.rememberRelease(parent)
	return do(c)
}
