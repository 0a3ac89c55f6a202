// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"time"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReleaseVersion is one revision of a release. Its metadata.name is a lower-case ULID, which
// identifies it. It contains nothing confidential: values, manifests, hooks, notes and the chart
// are stored in Secrets, which it names and owns. Like Release, it has no status subresource.
type ReleaseVersion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ReleaseVersionSpec   `json:"spec"`
	Status ReleaseVersionStatus `json:"status,omitempty"`

	// UnknownFields is as in Release.
	UnknownFields []string `json:"-"`
}

// ReleaseVersionSpec is what never changes in a ReleaseVersion. The API server rejects changes.
type ReleaseVersionSpec struct {
	ReleaseName string `json:"releaseName"`
	Revision    int64  `json:"revision"`
	Chart       Chart  `json:"chart,omitzero"`
}

// ReleaseVersionStatus is the status of a ReleaseVersion.
type ReleaseVersionStatus struct {
	Phase         release.Status `json:"phase,omitempty"`
	Description   string         `json:"description,omitempty"`
	FirstDeployed time.Time      `json:"firstDeployed,omitzero"`
	LastDeployed  time.Time      `json:"lastDeployed,omitzero"`
	// Deleted is when the release was uninstalled.
	Deleted time.Time `json:"deleted,omitzero"`
	// Labels are the labels that users set with "helm install --labels".
	Labels map[string]string `json:"labels,omitempty"`
	// Hooks are the hooks that have run, and how their last runs ended.
	Hooks []Hook `json:"hooks,omitempty"`
	// Order says whether the revision was deployed in order, as in "helm history". It is one of
	// "ordered", "ignored" and "unknown", or empty if the revision has no order.
	Order string `json:"order,omitempty"`
	// Operation names the process that works on the revision; nil if none does.
	Operation *Operation `json:"operation,omitempty"`
	// Progress says which nodes of the deployment graph are finished.
	Progress *Progress `json:"progress,omitempty"`
	// WholeRecord says that the payload contains the operation and the progress too, for
	// example because a newer version of helm has written them.
	WholeRecord bool `json:"wholeRecord,omitempty"`
	// Payload names the Secrets with the confidential parts. It is empty until all of them
	// are stored.
	Payload []Section `json:"payload,omitempty"`
}

// Hook is a hook of a revision, and how its last run ended.
type Hook struct {
	// Index is the position of the hook among the hooks of the revision, from 0.
	Index       int64             `json:"index"`
	Name        string            `json:"name,omitempty"`
	Kind        string            `json:"kind,omitempty"`
	Phase       release.HookPhase `json:"phase,omitempty"`
	StartedAt   time.Time         `json:"startedAt,omitzero"`
	CompletedAt time.Time         `json:"completedAt,omitzero"`
}

// Operation corresponds to orderrecord.Lease, field by field.
type Operation struct {
	Revision  int64  `json:"revision"`
	ID        string `json:"id"`
	Operation string `json:"operation"`
	Host      string `json:"host,omitempty"`
	PID       int64  `json:"pid,omitempty"`
	// StartID distinguishes the process from others with the same process ID.
	StartID   string    `json:"startID,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	RenewedAt time.Time `json:"renewedAt,omitzero"`
	// Seconds is the number of seconds after RenewedAt at which the lock expires.
	Seconds int64 `json:"seconds"`
}

// Progress corresponds to orderrecord.Progress, field by field.
type Progress struct {
	Revision     int64    `json:"revision"`
	DoneNodes    []string `json:"doneNodes,omitempty"`
	RunningNodes []string `json:"runningNodes,omitempty"`
	TotalNodes   int64    `json:"totalNodes"`
	Uninstalling bool     `json:"uninstalling,omitempty"`
}

// Section is a part of the payload of a revision, such as its values.
type Section struct {
	Section string `json:"section"`
	// Digest is the SHA-256 of the contents, as in "sha256:" and 64 hexadecimal digits.
	Digest string `json:"digest"`
	// Size is the number of bytes of the contents.
	Size int64 `json:"size"`
	// Secrets are the names of the Secrets whose contents, joined in this order, are the
	// section.
	Secrets []string `json:"secrets"`
}
