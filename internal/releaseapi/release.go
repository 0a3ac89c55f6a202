// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Release is an installed release. Its metadata.name is the name of the release.
//
// The definition has no status subresource: with one, a change of labels or owner references
// together with the status would take two requests, and a process that is killed between them
// would leave half of it. Therefore one request writes the whole object, and every write is a
// compare-and-swap of the whole object.
type Release struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status ReleaseStatus `json:"status,omitempty"`

	// UnknownFields is set when an object is read: it names the fields that this program does
	// not know, which a newer version has written. Such an object cannot be updated, because
	// the fields would be lost.
	UnknownFields []string `json:"-"`
}

// ReleaseStatus is the status of a Release.
type ReleaseStatus struct {
	// Chart is the chart of the newest version.
	Chart Chart `json:"chart,omitzero"`
	// Phase is the status of the newest version, as in "helm list".
	Phase release.Status `json:"phase,omitempty"`
	// Description says how the last operation ended.
	Description string `json:"description,omitempty"`
	// CurrentVersion is the name of the ReleaseVersion that is deployed; empty if none is.
	CurrentVersion string `json:"currentVersion,omitempty"`
	// LatestVersion is the name of the newest ReleaseVersion.
	LatestVersion string `json:"latestVersion,omitempty"`
	// Revision is the revision of the newest version. To allocate the next one, it is
	// increased with an update that fails if the object has changed meanwhile.
	Revision int64 `json:"revision,omitempty"`
	// Counts counts what belongs to the release.
	Counts Counts `json:"counts,omitzero"`
	// FirstDeployed and LastDeployed are Helm's timestamps of these names. They keep their
	// fractions of seconds, unlike metav1.Time, because "helm list" prints them.
	FirstDeployed time.Time `json:"firstDeployed,omitzero"`
	LastDeployed  time.Time `json:"lastDeployed,omitzero"`
	// Conditions are of the types ConditionDeployed and ConditionReady.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Chart identifies the chart of a release. Use NewChart, which sets FullName and truncates texts
// that the definitions do not accept.
type Chart struct {
	Name       string `json:"name,omitempty"`
	Version    string `json:"version,omitempty"`
	AppVersion string `json:"appVersion,omitempty"`
	// FullName is the name and version of the chart as in "helm list", for "kubectl get".
	FullName string `json:"fullName,omitempty"`
}

// NewChart returns the Chart with the given metadata, which can be nil.
func NewChart(metadata *chart.Metadata) Chart {
	if metadata == nil {
		return Chart{}
	}
	c := Chart{
		Name: Truncate(metadata.Name, maxChartText), Version: Truncate(metadata.Version, maxChartText), AppVersion: Truncate(metadata.AppVersion, maxChartText),
	}
	c.FullName = c.Name + "-" + c.Version
	return c
}

// Counts counts what belongs to a release.
type Counts struct {
	// Versions is the number of its ReleaseVersions.
	Versions int64 `json:"versions"`
	// Resources and Hooks are the numbers of documents of the newest version.
	Resources int64 `json:"resources"`
	Hooks     int64 `json:"hooks"`
}

const (
	// ConditionDeployed is true if the last operation ended well.
	ConditionDeployed = "Deployed"
	// ConditionReady is true if the last operation has waited until all resources were ready,
	// as of that time. If it has not waited, the condition is unknown with ReasonNotWaited.
	ConditionReady = "Ready"
	// ReasonNotWaited is the reason of an unknown ConditionReady.
	ReasonNotWaited = "NotWaited"
)
