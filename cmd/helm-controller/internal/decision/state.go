// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

// State is what is known about a HelmRequest and its release.
type State struct {
	Now     time.Time
	Request *v1alpha1.HelmRequest
	// Account is the name of the service account of the request; empty if it has none.
	Account string
	// AllowsNetwork says whether the scripts of charts can have the permission "network" in the
	// namespace.
	AllowsNetwork bool
	// NamespaceTerminating says whether the namespace is being deleted. It is only set with Failure.
	NamespaceTerminating bool
	// Claims are the other requests in the namespace for a release of the same name.
	Claims []Claim
	// Dependencies contains the requests that the request depends on, directly or not, by name.
	Dependencies map[string]Dependency
	// Dependents are the requests that depend on the request, and whose releases are not
	// uninstalled. They are only set if the request is being deleted.
	Dependents []Dependent
	// KnownRevision is the newest revision of the release according to its Release object, 0 if
	// there is none; nil if that is not known.
	KnownRevision *int64

	// Release is nil until it was read (see ReadRelease).
	Release *Release
	// Desired is nil until the chart, the values and the order were read (see LoadChart).
	Desired *Desired
	// IsUninstalled says whether the last action has uninstalled the release.
	IsUninstalled bool
	// Failure is the failure of the last action; nil if there is none.
	Failure *Failure
}

// Claim is another request for the same release.
type Claim struct {
	Name    string
	Created time.Time
	// HasRelease says whether the other request has deployed the release.
	HasRelease bool
}

// Dependency is a request that others depend on.
type Dependency struct {
	Exists, Ready bool
	// DependsOn are the names of the requests on which it depends.
	DependsOn []string
}

// Dependent is a request that depends on another one.
type Dependent struct {
	Name string
	// IsDeleted says whether it is being deleted.
	IsDeleted bool
}

// Release is what is stored of a release.
type Release struct {
	// Revision is the newest revision; 0 if there is no release of the name.
	Revision int64
	Status   release.Status
	// Request is the name of the request that has deployed the release; empty if it was not a
	// request.
	Request string
	// Target describes the revision of spec.rollbackTo; nil if that is not set.
	Target *RollbackTarget
}

// RollbackTarget is a revision to which a release is rolled back.
type RollbackTarget struct {
	Exists bool
	// IsNewest says whether the newest revision has the same content.
	IsNewest bool
	// Revisions are those that exist.
	Revisions []int64
}

// Desired is what a request asks for.
type Desired struct {
	Chart v1alpha1.DeployedChart
	// IsNewest says whether the newest revision of the release has this chart, these values and this
	// order, and belongs to the request.
	IsNewest bool
	// Inputs identifies the chart, the values and the order.
	Inputs string
}

// Failure is an error.
type Failure struct {
	Reason, Message string
	// IsPermanent says that the same would fail again until the request is changed.
	IsPermanent bool
	// IsForbidden says that the service account does not exist or lacks a permission.
	IsForbidden bool
}
