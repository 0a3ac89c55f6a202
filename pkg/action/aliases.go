// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/client-go/discovery"
)

// Actions that Ordered Helm does not change are Helm's own. One Configuration works with
// these and with the changed actions.
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

// The release states that List can filter by, as in Helm.
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

// The sort orders of List, as in Helm.
const (
	ByNameDesc = helmaction.ByNameDesc
	ByDateAsc  = helmaction.ByDateAsc
	ByDateDesc = helmaction.ByDateDesc
)

var (
	// Timestamper is a copy of the function that Helm calls to get the current time.
	// Setting it has no effect: to change the clock, set the variable in Helm's package.
	Timestamper = helmaction.Timestamper
	// ValidName is Helm's pattern for release names. Use ValidateReleaseName of Helm's
	// package chartutil instead.
	ValidName = helmaction.ValidName
)

// GetVersionSet returns the API versions that a cluster supports. It is Helm's function.
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

// CheckDependencies returns an error that lists the dependencies that a chart declares but
// does not contain. It is Helm's function.
func CheckDependencies(ch *chart.Chart, reqs []*chart.Dependency) error {
	return helmaction.CheckDependencies(ch, reqs)
}

// TemplateName renders the template given with --name-template. It is Helm's function.
func TemplateName(nameTemplate string) (string, error) { return helmaction.TemplateName(nameTemplate) }

// NewHistory returns Helm's History action.
func NewHistory(cfg *Configuration) *History { return helmaction.NewHistory(cfg) }
