// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseobjects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/ownerreferences"
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// maxScans is how often Disown looks for objects that have a reference.
const maxScans = 3

// Owners changes the owner references of the objects of releases in a namespace.
type Owners struct {
	Cluster   *cluster.Client
	Kinds     discovery.DiscoveryInterface
	Metadata  metadata.Interface
	Namespace string
}

// releaseOwner is a storage driver that stores releases in objects which own those of the release.
type releaseOwner interface {
	OwnerReference(release string) (reference metav1.OwnerReference, owns bool)
}

// OwnerOf returns the reference to the Release of a release that the storage driver has read or written; nil if it has
// none. owns says whether the objects of the release are to have it.
func OwnerOf(d driver.Driver, name, namespace string) (owner *object.ReleaseReference, owns bool) {
	stores, ok := d.(releaseOwner)
	if !ok {
		return nil, false
	}
	reference, owns := stores.OwnerReference(name)
	if reference.UID == "" {
		return nil, false
	}
	return &object.ReleaseReference{Reference: reference, Namespace: namespace}, owns
}

// Own makes the Release of a release own its objects. d stores the release, whose revisions are given.
func (o *Owners) Own(ctx context.Context, d driver.Driver, revisions []*release.Release) error {
	if len(revisions) == 0 {
		return nil
	}
	owner, owns := OwnerOf(d, revisions[0].Name, o.Namespace)
	if owner == nil || !owns {
		return nil
	}
	objects, err := Read(ctx, o.Cluster, owner, revisions)
	if err != nil {
		return err
	}
	var ownable []ownerreferences.Object
	for _, found := range objects {
		if found.Unownable == "" && !found.Owned {
			ownable = append(ownable, identify(found.Info))
		}
	}
	return ownerreferences.Add(ctx, o.Metadata, owner.Reference, ownable)
}

// Disown takes the references to the Release of a release away from all objects in its namespace, and looks for them again
// until there are none. Objects of kinds that the account is not allowed to list are found if a revision declares them.
func (o *Owners) Disown(ctx context.Context, d driver.Driver, revisions []*release.Release) error {
	if len(revisions) == 0 {
		return nil
	}
	owner, _ := OwnerOf(d, revisions[0].Name, o.Namespace)
	if owner == nil {
		return nil
	}
	declared, err := Read(ctx, o.Cluster, owner, revisions)
	if err != nil {
		return err
	}
	var objects []ownerreferences.Object
	for _, found := range declared {
		if found.Owned {
			objects = append(objects, identify(found.Info))
		}
	}
	for range maxScans {
		found, err := ownerreferences.Find(ctx, o.Kinds, o.Metadata, o.Namespace, owner.Reference.UID)
		if err != nil {
			return err
		}
		objects = append(objects, withoutStorage(found, owner.Reference.Name)...)
		if len(objects) == 0 {
			return nil
		}
		if err := ownerreferences.Remove(ctx, o.Metadata, owner.Reference.UID, objects); err != nil {
			return err
		}
		objects = nil
	}
	return fmt.Errorf("remove the references to Release %s: %w", owner.Reference.Name, errors.New("other programs set them again all the time"))
}

func identify(info *object.Info) ownerreferences.Object {
	return ownerreferences.Object{Resource: info.Mapping.Resource, Namespace: object.Namespace(info), Name: info.Name}
}

// withoutStorage returns objects without those in which the storage driver stores the release.
func withoutStorage(objects []ownerreferences.Object, release string) []ownerreferences.Object {
	return slices.DeleteFunc(objects, func(o ownerreferences.Object) bool {
		return o.Resource.GroupResource() == releaseapi.ReleaseVersionGVR().GroupResource() ||
			o.Name == storage.HelmStorageType+"."+release || strings.HasPrefix(o.Name, storage.HelmStorageType+"."+release+".v")
	})
}
