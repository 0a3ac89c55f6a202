// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/client-go/discovery"

	"github.com/ordered-helm/helm/internal/library"
)

// These types are Helm's own. One Configuration can be used with them and with the actions
// that this package changes.
type (
	// Configuration holds what actions need to work: the Kubernetes client, the release
	// storage, the registry client and a log function. It is Helm's type.
	Configuration = helmaction.Configuration
	// RESTClientGetter provides the client configuration, the discovery client and the REST
	// mapper for a cluster. It is Helm's interface.
	RESTClientGetter = helmaction.RESTClientGetter
	// DebugLog is a function that logs debug messages, with the parameters of fmt.Printf.
	// It is Helm's type.
	DebugLog = helmaction.DebugLog
	// ChartPathOptions says where to find a chart and how to download it: the repository,
	// the version, the credentials and the TLS files. It is Helm's type.
	ChartPathOptions = helmaction.ChartPathOptions
	// ListStates is a set of release states, as a bit mask, by which List filters releases.
	// It is Helm's type.
	ListStates = helmaction.ListStates
	// Metadata is the result of GetMetadata: the chart, its version, the revision and the
	// state of a release. It is Helm's type.
	Metadata = helmaction.Metadata
	// Sorter is the order in which List sorts releases. It is Helm's type.
	Sorter = helmaction.Sorter
)

// The values of ListStates, which can be combined with |. ListAll contains all states
// except ListUnknown. They are Helm's constants.
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

// The values of Sorter. The zero value sorts by name, ascending. They are Helm's constants.
const (
	ByNameDesc = helmaction.ByNameDesc
	ByDateAsc  = helmaction.ByDateAsc
	ByDateDesc = helmaction.ByDateDesc
)

var (
	// Timestamper is a copy of the function that Helm calls to get the current time.
	// Setting this variable has no effect: to change the clock, set the variable with this
	// name in Helm's package.
	Timestamper = helmaction.Timestamper
	// ValidName is a copy of Helm's pattern for release names. To check a name, use
	// ValidateReleaseName of Helm's package chartutil, which also limits the length.
	ValidName = helmaction.ValidName
)

// GetVersionSet returns the API versions and kinds that a cluster supports. It is Helm's
// function.
func GetVersionSet(client discovery.ServerResourcesInterface) (chartutil.VersionSet, error) {
	return helmaction.GetVersionSet(client)
}

// CheckDependencies returns an error that names the dependencies in reqs that ch does not
// contain. It is Helm's function, but names missing libraries separately.
func CheckDependencies(ch *chart.Chart, reqs []*chart.Dependency) error {
	charts, libraries := library.Split(ch.Metadata, reqs)
	err := helmaction.CheckDependencies(ch, charts)
	var missing []string
	for _, l := range libraries {
		if !slices.ContainsFunc(ch.Dependencies(), func(sub *chart.Chart) bool { return sub.Name() == l.Name }) {
			missing = append(missing, l.Name)
		}
	}
	if len(missing) > 0 {
		err = errors.Join(err, fmt.Errorf("found in Chart.yaml, but missing in library/ directory: %s", strings.Join(missing, ", ")))
	}
	return err
}

// TemplateName returns the release name that the Go template nameTemplate generates, as for
// the flag --name-template. It is Helm's function.
func TemplateName(nameTemplate string) (string, error) { return helmaction.TemplateName(nameTemplate) }
