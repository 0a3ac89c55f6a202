// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/client-go/discovery"
)

// The actions that need no change are Helm's own: one Configuration serves
// these and ours alike.
type (
	// Configuration is Helm's Configuration.
	Configuration = helmaction.Configuration
	// RESTClientGetter is Helm's RESTClientGetter.
	RESTClientGetter = helmaction.RESTClientGetter
	// DebugLog is Helm's DebugLog.
	DebugLog = helmaction.DebugLog
	// ChartPathOptions is Helm's ChartPathOptions.
	ChartPathOptions = helmaction.ChartPathOptions
	// Get is Helm's Get.
	Get = helmaction.Get
	// GetMetadata is Helm's GetMetadata.
	GetMetadata = helmaction.GetMetadata
	// GetValues is Helm's GetValues.
	GetValues = helmaction.GetValues
	// History is Helm's History.
	History = helmaction.History
	// List is Helm's List.
	List = helmaction.List
	// ListStates is Helm's ListStates.
	ListStates = helmaction.ListStates
	// Metadata is Helm's Metadata.
	Metadata = helmaction.Metadata
	// Sorter is Helm's Sorter.
	Sorter = helmaction.Sorter
	// Status is Helm's Status.
	Status = helmaction.Status
)

// The states that List can be told to list, as Helm names them.
const (
	ListDeployed        = helmaction.ListDeployed
	ListUninstalled     = helmaction.ListUninstalled
	ListUninstalling    = helmaction.ListUninstalling
	ListPendingInstall  = helmaction.ListPendingInstall
	ListPendingUpgrade  = helmaction.ListPendingUpgrade
	ListPendingRollback = helmaction.ListPendingRollback
	ListSuperseded      = helmaction.ListSuperseded
	ListFailed          = helmaction.ListFailed
	ListUnknown         = helmaction.ListUnknown
	ListAll             = helmaction.ListAll
)

// The orders that List can be told to list in, as Helm names them.
const (
	ByNameDesc = helmaction.ByNameDesc
	ByDateAsc  = helmaction.ByDateAsc
	ByDateDesc = helmaction.ByDateDesc
)

var (
	// Timestamper is Helm's clock as it is when the program starts. To set
	// another one, set Helm's.
	Timestamper = helmaction.Timestamper
	// ValidName is Helm's pattern of release names. Helm's package chartutil
	// has a function that is to be used in its place.
	ValidName = helmaction.ValidName
)

// GetVersionSet asks a cluster for its API versions. It is Helm's.
func GetVersionSet(client discovery.ServerResourcesInterface) (chartutil.VersionSet, error) {
	return helmaction.GetVersionSet(client)
}

// NewGet returns Helm's Get action.
func NewGet(cfg *Configuration) *Get { return helmaction.NewGet(cfg) }

// NewGetMetadata returns Helm's GetMetadata action.
func NewGetMetadata(cfg *Configuration) *GetMetadata { return helmaction.NewGetMetadata(cfg) }

// NewGetValues returns Helm's GetValues action.
func NewGetValues(cfg *Configuration) *GetValues { return helmaction.NewGetValues(cfg) }

// NewList returns Helm's List action.
func NewList(cfg *Configuration) *List { return helmaction.NewList(cfg) }

// NewStatus returns Helm's Status action.
func NewStatus(cfg *Configuration) *Status { return helmaction.NewStatus(cfg) }

// CheckDependencies reports the dependencies that a chart declares but does
// not contain. It is Helm's.
func CheckDependencies(ch *chart.Chart, reqs []*chart.Dependency) error {
	return helmaction.CheckDependencies(ch, reqs)
}

// TemplateName renders a --name-template. It is Helm's.
func TemplateName(nameTemplate string) (string, error) { return helmaction.TemplateName(nameTemplate) }

// NewHistory returns Helm's History action.
func NewHistory(cfg *Configuration) *History { return helmaction.NewHistory(cfg) }
