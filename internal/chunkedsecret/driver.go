// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chunkedsecret is the storage driver chunked-secret. While a release fits into one
// Secret, it stores the release like Helm's driver for Secrets, with the same requests. A larger
// release is stored in the sections of package releaseparts. Helm's Secret then contains a
// placeholder with the head of the release and the references to the sections.
//
// Each write has one request that makes it valid: the one that replaces Helm's Secret. Before it,
// an annotation of this Secret names the parts that are about to be created, so that the next
// write can delete them if this one is interrupted. These requests contain the resource version
// of the Secret, so that a write never refers to parts that another process deletes.
package chunkedsecret

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releasestorage"
)

// DriverName is the name of the driver, also as the value of HELM_DRIVER.
const DriverName = "chunked-secret"

// maxConflicts is how often a write is repeated because another process has changed the Secret
// meanwhile.
const maxConflicts = 5

// Driver implements Helm's interface driver.Driver. It is safe for concurrent use.
type Driver struct {
	options releasestorage.Options
	// client sends the requests of Helm's driver, for releases that fit into one Secret.
	client *releasestorage.SecretClient
	cache  sectionCache

	mu sync.Mutex
	// revisions contains what was last read or written of each revision, by key.
	revisions map[string]*storedRevision
}

// New returns the storage driver. It sends no requests.
func New(o releasestorage.Options) *Driver {
	return &Driver{options: o, client: releasestorage.NewSecretClient(o), revisions: map[string]*storedRevision{}}
}

// Name implements driver.Driver.
func (d *Driver) Name() string { return DriverName }

// Get implements driver.Queryor. If a part of the revision is missing or was altered, the error is
// a *releaseparts.PartError.
func (d *Driver) Get(key string) (*release.Release, error) {
	ctx := background()
	s, rel, err := d.read(key)
	if err != nil {
		return nil, err
	}
	return d.complete(ctx, s, rel)
}

// read reads the Secret of a revision, and returns what it contains.
func (d *Driver) read(key string) (*storedRevision, *release.Release, error) {
	c := &capturingClient{SecretInterface: d.client}
	rel, err := d.helm(c).Get(key)
	if err != nil {
		return nil, nil, err
	}
	s, err := newStoredRevision(c.secrets[0], rel, d.options.ReadPlaceholders)
	if err != nil {
		return nil, nil, err
	}
	d.remember(s)
	return s, rel, nil
}

// Query implements driver.Queryor. Revisions of which a part cannot be read are returned as by
// placeholder.NewUnreadable.
func (d *Driver) Query(labels map[string]string) ([]*release.Release, error) {
	ctx := background()
	list, stored, err := d.query(labels)
	if err != nil {
		return nil, err
	}
	for i, rel := range list {
		if list[i], err = d.completeIfPossible(ctx, stored[i], rel); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// List implements driver.Queryor. It calls filter with the head of a release, and reads the
// sections only of the releases that filter accepts. Releases of other drivers are listed as
// their placeholders.
func (d *Driver) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	ctx := background()
	c := &capturingClient{SecretInterface: d.client}
	var listed []*release.Release
	if _, err := d.helm(c).List(func(rel *release.Release) bool {
		listed = append(listed, rel)
		return false
	}); err != nil {
		return nil, err
	}
	var accepted []*release.Release
	for _, rel := range listed {
		s, err := newStoredRevision(c.find(rel), rel, d.options.ReadPlaceholders)
		other, _ := errors.AsType[*placeholder.DriverError](err)
		moving, _ := errors.AsType[*placeholder.MigrationError](err)
		if other != nil || moving != nil {
			if filter(rel) {
				accepted = append(accepted, rel)
			}
			continue
		}
		if err != nil {
			d.options.Log("list: %s", err)
			continue
		}
		if !filter(s.summary(rel)) {
			continue
		}
		if rel, err = d.completeIfPossible(ctx, s, rel); err != nil {
			return nil, err
		}
		accepted = append(accepted, rel)
	}
	return accepted, nil
}

// Create implements driver.Creator.
func (d *Driver) Create(key string, rel *release.Release) error {
	fits, err := fits(rel)
	if err != nil {
		return fmt.Errorf("create: failed to encode release %q: %w", rel.Name, err)
	}
	if !fits {
		return d.createLarge(background(), key, rel)
	}
	c := &capturingClient{SecretInterface: d.client}
	if err := d.helm(c).Create(key, rel); err != nil {
		return err
	}
	d.remember(&storedRevision{secret: withoutData(c.secrets[0])})
	return nil
}

// Update implements driver.Updator.
func (d *Driver) Update(key string, rel *release.Release) error {
	ctx := background()
	s := d.recall(key)
	var err error
	for range maxConflicts {
		if s == nil {
			if s, _, err = d.read(key); err != nil {
				return fmt.Errorf("update: failed to update: %w", err)
			}
		}
		if err = d.update(ctx, s, rel); !apierrors.IsConflict(err) {
			return err
		}
		s = nil
	}
	return err
}

// Delete implements driver.Deletor. Of a large release, it returns only what its head contains.
// The Secrets with its parts are owned by the deleted Secret, so that the garbage collector deletes
// those that Delete cannot delete.
func (d *Driver) Delete(key string) (*release.Release, error) {
	ctx := background()
	s, rel, err := d.read(key)
	if err != nil {
		return nil, err
	}
	if err := d.client.Delete(ctx, key, metav1.DeleteOptions{}); err != nil {
		return rel, err
	}
	d.forget(key)
	d.deleteParts(ctx, s, s.allParts())
	return s.summary(rel), nil
}

// helm returns Helm's driver for Secrets, which sends its requests with the given client.
func (d *Driver) helm(client typedcorev1.SecretInterface) *driver.Secrets {
	secrets := driver.NewSecrets(client)
	secrets.Log = d.options.Log
	return secrets
}

// connect returns a client for the cluster.
func (d *Driver) connect() (kubernetes.Interface, error) { return d.options.Connect() }

// maxRevisions is the maximum number of revisions that a driver remembers.
const maxRevisions = 1000

func (d *Driver) remember(s *storedRevision) {
	if d.options.Namespace == "" {
		return // keys are unique only within a namespace
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.revisions) >= maxRevisions {
		clear(d.revisions) // they are read again when they are needed
	}
	d.revisions[s.secret.Name] = s
}

// recall returns what is known of a revision; nil if nothing is.
func (d *Driver) recall(key string) *storedRevision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.revisions[key]
}

func (d *Driver) forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.revisions, key)
}

// background returns the context of requests.
func background() context.Context {
	return context.Background() //nolint:forbidigo // methods of storage drivers have no context
}

// keyOf returns the key of a release, which is the name of its Secret.
func keyOf(rel *release.Release) string {
	return fmt.Sprintf("%s.%s.v%d", storage.HelmStorageType, rel.Name, rel.Version)
}
