// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releasestatus reads the status of the newest revision of a release, in any namespace,
// with the storage driver of an operation. It reads neither manifests nor values, unless the
// driver cannot do without.
package releasestatus

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// Revision is the newest revision of a release.
type Revision struct {
	// Number is 0 if the release does not exist.
	Number int
	Status release.Status
}

// Options says where releases are stored, and how to connect.
type Options struct {
	// Storage is the storage of the operation.
	Storage *storage.Storage
	// Namespace is the namespace of the releases in Storage.
	Namespace string
	// Metadata and Dynamic return clients for the cluster. They are called when a release is
	// read, by drivers that store releases in the cluster.
	Metadata func() (metadata.Interface, error)
	Dynamic  func() (dynamic.Interface, error)
	// ConnectionString is the connection string for the driver sql.
	ConnectionString string
}

// Reader reads the status of releases. It is safe for concurrent use.
type Reader struct {
	options Options
	sqlName string // the name of the driver in database/sql; tests replace it
}

// New returns a Reader. It sends no requests.
func New(o Options) *Reader { return &Reader{options: o, sqlName: "postgres"} }

// Permission is the permission that Newest needs in the cluster.
type Permission struct {
	Verb     string
	Resource schema.GroupResource
}

// Permission returns the permission that Newest needs in the namespace of the release. It is zero
// if the driver does not store releases in the cluster.
func (r *Reader) Permission() Permission {
	switch gvr := r.listed(); {
	case r.options.Storage.Name() == crdstorage.DriverName:
		return Permission{"get", releaseapi.ReleaseGVR().GroupResource()}
	case gvr.Resource != "":
		return Permission{"list", gvr.GroupResource()}
	}
	return Permission{}
}

// listed returns the resource in whose objects the driver stores releases, with labels that Helm
// defines; its name is empty if the driver stores them elsewhere.
func (r *Reader) listed() schema.GroupVersionResource {
	switch r.options.Storage.Name() {
	case driver.SecretsDriverName, chunkedsecret.DriverName:
		return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	case driver.ConfigMapsDriverName:
		return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	}
	return schema.GroupVersionResource{}
}

// Newest returns the newest revision of a release, or a zero Revision if the release does not
// exist.
func (r *Reader) Newest(ctx context.Context, namespace, name string) (Revision, error) {
	var newest Revision
	var err error
	switch {
	case r.listed().Resource != "":
		newest, err = r.fromLabels(ctx, namespace, name)
	case r.options.Storage.Name() == crdstorage.DriverName:
		newest, err = r.fromObject(ctx, namespace, name)
	case r.options.Storage.Name() == driver.SQLDriverName:
		newest, err = r.fromTable(ctx, namespace, name)
	default:
		newest, err = r.fromStorage(namespace, name)
	}
	if err != nil {
		return Revision{}, fmt.Errorf("read the status of release %s in namespace %s: %w", name, namespace, err)
	}
	return newest, nil
}

// fromLabels reads the labels of the Secrets or ConfigMaps with the revisions of a release.
func (r *Reader) fromLabels(ctx context.Context, namespace, name string) (newest Revision, err error) {
	client, err := r.options.Metadata()
	if err != nil {
		return Revision{}, err
	}
	list, err := client.Resource(r.listed()).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,name=" + name})
	if err != nil {
		return Revision{}, err
	}
	for i := range list.Items {
		labels := list.Items[i].Labels
		if number, err := strconv.Atoi(labels["version"]); err == nil && number > newest.Number {
			newest = Revision{number, release.Status(labels["status"])}
		}
	}
	return newest, nil
}

// fromObject reads the Release with the name of a release.
func (r *Reader) fromObject(ctx context.Context, namespace, name string) (Revision, error) {
	client, err := r.options.Dynamic()
	if err != nil {
		return Revision{}, err
	}
	object, err := releaseapi.NewClient(client, namespace).Releases.Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return Revision{}, nil
	}
	if err != nil {
		return Revision{}, err
	}
	return Revision{int(object.Status.Revision), object.Status.Phase}, nil
}

// errOtherNamespace reports that a driver can read only one namespace.
var errOtherNamespace = errors.New("this storage driver can only read releases in the namespace of the operation")

// fromStorage reads all revisions of a release with the driver.
func (r *Reader) fromStorage(namespace, name string) (newest Revision, err error) {
	if namespace != r.options.Namespace {
		return Revision{}, fmt.Errorf("%w, %s: use a driver that stores releases in the cluster", errOtherNamespace, r.options.Namespace)
	}
	list, err := r.options.Storage.Query(map[string]string{"owner": "helm", "name": name})
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return Revision{}, err
	}
	for _, rel := range list {
		if rel.Version > newest.Number && rel.Info != nil {
			newest = Revision{rel.Version, rel.Info.Status}
		}
	}
	return newest, nil
}
