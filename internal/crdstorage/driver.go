// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package crdstorage stores releases as objects of the kinds Release and ReleaseVersion: it is the storage
// driver "crd" (docs/reference.md, "Releases as objects"). It implements the interface of Helm's storage
// drivers, so that everything else works as with the others.
package crdstorage

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/crdplaceholder"
	"github.com/ordered-helm/helm/internal/holderlease"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseapplication"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// DriverName is the value of HELM_DRIVER that selects this driver, and the result of Driver.Name.
const DriverName = "crd"

// maxAttempts is how often an object is written again after others have changed it in the meantime.
const maxAttempts = 5

// Options says where releases are stored, and how to connect.
type Options struct {
	// Namespace is the namespace of the releases; empty means all namespaces, for lists.
	Namespace string
	// Connect returns clients for the cluster. It is called once, when the driver is used first.
	Connect func() (kubernetes.Interface, dynamic.Interface, error)
	// Migration says that releases are moved to this driver or from it. Then the driver does not check whether another
	// driver stores a release, creates no placeholder for stock Helm, can create revisions before the newest one, and
	// returns the placeholders of migrations instead of an error.
	Migration bool
	// OwnsObjects says whether the Releases own the objects of the releases.
	OwnsObjects bool
	// Log is called with a format and arguments, like fmt.Printf. It is not nil.
	Log func(string, ...any)
}

// Driver is the storage driver. It is safe for concurrent use.
type Driver struct {
	options Options
	connect func() (*clients, error)
	now     func() time.Time

	// mu guards what is known of the objects in the cluster.
	mu      sync.Mutex
	objects knownObjects
}

var _ driver.Driver = (*Driver)(nil)

// clients are the clients for the objects of a namespace.
type clients struct {
	objects  *releaseapi.Client
	leases   holderlease.Client
	sections *releaseparts.SecretStore
	helm     crdplaceholder.Client
	// applications are the objects that own the Releases.
	applications *releaseapplication.Client
	// raw sends requests for any path; nil if there is no such client.
	raw rest.Interface
}

// versionKey identifies a revision of a release.
type versionKey struct {
	release  string
	revision int
}

// New returns a driver. It sends no requests.
func New(o Options) *Driver {
	return &Driver{
		options: o, now: time.Now, objects: newKnownObjects(),
		connect: sync.OnceValues(func() (*clients, error) {
			kube, objects, err := o.Connect()
			if err != nil {
				return nil, err
			}
			return &clients{
				objects: releaseapi.NewClient(objects, o.Namespace), applications: releaseapplication.NewClient(objects, o.Namespace), leases: holderlease.Client{Leases: kube.CoordinationV1()},
				sections: &releaseparts.SecretStore{Client: kube}, helm: crdplaceholder.Client{Kubernetes: kube, Driver: DriverName}, raw: kube.Discovery().RESTClient(),
			}, nil
		}),
	}
}

// Name implements driver.Driver.
func (d *Driver) Name() string { return DriverName }

// parseKey splits the key of a stored release, as in "sh.helm.release.v1.shop.v3".
func parseKey(key string) (versionKey, error) {
	rest, isRelease := strings.CutPrefix(key, storage.HelmStorageType+".")
	i := strings.LastIndex(rest, ".v")
	if !isRelease || i < 1 {
		return versionKey{}, fmt.Errorf("%q: %w", key, driver.ErrInvalidKey)
	}
	revision, err := strconv.Atoi(rest[i+len(".v"):])
	if err != nil || revision < 1 {
		return versionKey{}, fmt.Errorf("%q: %w", key, driver.ErrInvalidKey)
	}
	return versionKey{rest[:i], revision}, nil
}

// newID returns the ID of a new version: one after the newest version of the release. If a migration creates an older
// version, its ID contains the time at which it was deployed, and follows that of the version before it.
func (d *Driver) newID(parent *releaseapi.Release, head *releaseparts.Head) (string, error) {
	if !d.isBeforeNewest(parent, versionKey{head.Name, head.Revision}) {
		return nextVersionID(d.now(), parent.Status.LatestVersion, rand.Reader)
	}
	return nextVersionID(head.LastDeployed.Time, d.lastIDBefore(head.Name, head.Revision), rand.Reader)
}

// background returns the context of requests: methods of storage drivers have none.
func background() context.Context { return context.Background() } //nolint:forbidigo // as the comment says

// OwnerReference returns the reference to the Release of a release that the driver has read or written; it is empty if
// there is none. owns says whether the objects of the release are to have it.
func (d *Driver) OwnerReference(name string) (reference metav1.OwnerReference, owns bool) {
	parent := d.knownRelease(name)
	if parent == nil {
		return metav1.OwnerReference{}, false
	}
	return releaseapi.OwnerReference(parent), d.options.OwnsObjects
}
