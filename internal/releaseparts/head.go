// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Head is what is known of a stored release without its sections. It contains no values, no
// manifests, no notes and no files, and its size is limited. It is stored as JSON.
type Head struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Revision  int    `json:"revision"`

	Status release.Status `json:"status"`
	// Description is the description of the release. If it is very long, this is its beginning.
	Description   string    `json:"description,omitempty"`
	FirstDeployed time.Time `json:"firstDeployed"`
	LastDeployed  time.Time `json:"lastDeployed"`
	Deleted       time.Time `json:"deleted"`

	// Labels are the labels that users have given to the release.
	Labels map[string]string `json:"labels,omitempty"`
	// Chart contains those fields of the metadata of the chart that the commands list, history
	// and status print; nil if the release has no chart, or its chart no metadata.
	Chart *chart.Metadata `json:"chart,omitempty"`
	// Hooks contains the last runs of those hooks that have run.
	Hooks []HookRun `json:"hooks,omitempty"`

	// Order says whether the revision has an order.
	Order orderrecord.State `json:"order,omitempty"`
	// Lease and Progress are those of the order record.
	Lease    *orderrecord.Lease    `json:"lease,omitempty"`
	Progress *orderrecord.Progress `json:"progress,omitempty"`
	// IsRecordWhole says that the section with the order record contains the lease and the
	// progress too, because it cannot be restored otherwise, or because the progress is large.
	IsRecordWhole bool `json:"wholeRecord,omitempty"`
}

// Revision is what a storage driver reads of a stored revision without its sections.
type Revision struct {
	// Release is the stored release. What is in sections is missing, such as values and manifests.
	Release *release.Release
	// ID is the name of the object that stores the revision, if this name identifies the revision in commands.
	// Otherwise it is empty.
	ID string
	// Order says whether the revision has an order.
	Order orderrecord.State
	// OrderErr says why Order is orderrecord.Unknown.
	OrderErr error
}

// NewRevision returns the Revision of a release that was read completely, without an ID.
func NewRevision(rel *release.Release) Revision {
	state, err := orderrecord.StateOf(rel)
	return Revision{Release: rel, Order: state, OrderErr: err}
}

// HookRun is the last run of a hook.
type HookRun struct {
	// Index is the index of the hook in the hooks of the release.
	Index       int               `json:"index"`
	Kind        string            `json:"kind,omitempty"`
	Name        string            `json:"name,omitempty"`
	Phase       release.HookPhase `json:"phase,omitempty"`
	StartedAt   time.Time         `json:"startedAt"`
	CompletedAt time.Time         `json:"completedAt"`
}

// Release returns a release that contains what the head knows. It has no manifest, no hooks
// and no values. Its order record contains the lease and the progress, so that an operation can
// find out whether another one works on the release.
func (h *Head) Release() *release.Release {
	rel := &release.Release{
		Name: h.Name, Namespace: h.Namespace, Version: h.Revision,
		Labels: h.Labels, Info: &release.Info{},
		Chart: &chart.Chart{Metadata: h.Chart},
	}
	h.setInfo(rel.Info)
	if h.Lease == nil && h.Progress == nil {
		return rel
	}
	// The error is that the progress exceeds a limit. A head that this package has written has
	// none.
	if ch, err := orderrecord.WithRecord(rel.Chart, &orderrecord.Record{
		Charts: &sequencer.Chart{}, Lease: h.Lease, Progress: h.Progress,
	}); err == nil {
		rel.Chart = ch
	}
	return rel
}

// Stored returns what the head says about the stored revision, which has an ID or none.
func (h *Head) Stored(id string) Revision {
	r := Revision{Release: h.Release(), ID: id, Order: h.Order}
	if h.Order == orderrecord.Unknown {
		r.OrderErr = fmt.Errorf("the order record of release %s, revision %d, cannot be used: \"helm dag %s --revision %d\" says why", h.Name, h.Revision, h.Name, h.Revision)
	}
	return r
}

// setInfo sets those fields of the info of a release that the head contains. A description that
// is already there is the complete one.
func (h *Head) setInfo(info *release.Info) {
	info.Status = h.Status
	info.FirstDeployed, info.LastDeployed, info.Deleted = h.FirstDeployed, h.LastDeployed, h.Deleted
	if info.Description == "" {
		info.Description = h.Description
	}
}
