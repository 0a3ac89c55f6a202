// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/releaseparts"
	"github.com/ordered-helm/helm/internal/releasequery"
)

// These types have every field and method of Helm's, with the same meaning. To read the latest
// revision of a release, they read no other one, if the storage driver is "crd" or
// "chunked-secret".
type (
	// Get reads a stored release (helm get).
	Get = releasequery.Get
	// GetMetadata reads the Metadata of a stored release (helm get metadata).
	GetMetadata = releasequery.GetMetadata
	// GetValues reads the values of a stored release (helm get values).
	GetValues = releasequery.GetValues
	// Status reads a stored release and, if ShowResources is set, its objects in the cluster
	// (helm status).
	Status = releasequery.Status
	// List lists releases (helm list). In addition to Helm's fields, it has MetadataOnly, with which
	// it reads less, and Lifecycle.
	List = releasequery.List
	// History lists the stored revisions of a release (helm history). In addition to Helm's Run, it
	// has the method Revisions, which reads less.
	History = releasequery.History
	// Revision is what History.Revisions returns of a stored revision.
	Revision = releaseparts.Revision
	// OrderState says whether a Revision has an order.
	OrderState = orderrecord.State
)

// The values of OrderState.
const (
	// NotOrdered: the revision has no order.
	NotOrdered = orderrecord.NotOrdered
	// OrderFollowed: the revision was deployed in order.
	OrderFollowed = orderrecord.Ordered
	// OrderIgnored: another program deployed the revision without an order, with the order record
	// of an earlier revision.
	OrderIgnored = orderrecord.Ignored
	// OrderUnknown: the order record of the revision cannot be used.
	OrderUnknown = orderrecord.Unknown
)

// NewGet returns a Get with Helm's defaults.
func NewGet(cfg *Configuration) *Get { return releasequery.NewGet(cfg) }

// NewGetMetadata returns a GetMetadata with Helm's defaults.
func NewGetMetadata(cfg *Configuration) *GetMetadata { return releasequery.NewGetMetadata(cfg) }

// NewGetValues returns a GetValues with Helm's defaults.
func NewGetValues(cfg *Configuration) *GetValues { return releasequery.NewGetValues(cfg) }

// NewStatus returns a Status with Helm's defaults.
func NewStatus(cfg *Configuration) *Status { return releasequery.NewStatus(cfg) }

// NewList returns a List with Helm's defaults.
func NewList(cfg *Configuration) *List { return releasequery.NewList(cfg) }

// NewHistory returns a History with Helm's defaults.
func NewHistory(cfg *Configuration) *History { return releasequery.NewHistory(cfg) }

// ParseRevision returns the number of a revision of a release, for the fields Version of actions.
// The text is the number or, if the storage driver is "crd", the name of the ReleaseVersion that
// stores the revision (docs/reference.md, "Releases as objects"). If it is neither, the error
// wraps strconv.ErrSyntax or strconv.ErrRange.
func ParseRevision(ctx context.Context, cfg *Configuration, release, text string) (int, error) {
	return releasequery.ParseRevision(ctx, cfg, release, text)
}

// ReleaseVersionOf returns the name of the ReleaseVersion that stores a revision, which was read or
// written with cfg. It is empty unless the storage driver is "crd".
func ReleaseVersionOf(cfg *Configuration, release string, revision int) string {
	return releasequery.VersionOf(cfg, release, revision)
}
