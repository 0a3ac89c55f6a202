// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaserecord stores data about a release inside the stored release
// (docs/reference.md, "The release record"). The dependency graph of the release can be
// rebuilt from this record. The record is necessary because stored releases lack the
// metadata of subcharts, and manifests may lack the comments that name the template of a
// document.
package releaserecord

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// fileName is the name of the file in the stored chart that has the record. Stock Helm
// keeps the file. It prints the file only if it prints all files of a chart, as in "install
// -o json".
const fileName = ".ordered-helm/record.json"

// version is the version of the format that this package writes.
const version = 1

// Record is the data that a release stores about its order and its deployment.
type Record struct {
	// Version is the version of the format.
	Version int `json:"version"`
	// Ordered says whether the release was deployed in order in the revision given by
	// Revision. The graph is also valid in other revisions.
	Ordered bool `json:"sequenced"`
	// Revision is the revision that was deployed in this order; 0 if unknown. A rollback
	// of stock Helm copies the chart, with its record, to a revision that it deploys
	// without an order.
	Revision int `json:"revision,omitempty"`
	// Charts is the tree of charts with their declarations.
	Charts *sequencer.Chart `json:"charts"`
	// DocumentCharts has the path of the chart of each document in the manifest, if the
	// Source comments do not have it.
	DocumentCharts []string `json:"documents,omitempty"`
	// Earlier is the data about earlier revisions. Use EarlierFor to read it.
	Earlier *EarlierRevisions `json:"earlier,omitempty"`
	// Progress is the progress of the deployment. Use ProgressFor to read it.
	Progress *Progress `json:"progress,omitempty"`
	// Lease is the lock of the process that deploys or uninstalls the revision. Use
	// LeaseFor to read it.
	Lease *Lease `json:"lease,omitempty"`
}

// EarlierRevisions is the data that a revision stores about earlier revisions until it is
// deployed, because the earlier revisions may be removed from the history.
type EarlierRevisions struct {
	// Revision is the revision that stores the data.
	Revision int `json:"revision"`
	// Leftovers are objects that may still exist and that this revision does not have.
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// UninstallStarted says whether an uninstall has started since the last deployed
	// revision. The objects of that revision may then be deleted, and other objects may
	// have their names.
	UninstallStarted bool `json:"removed,omitempty"`
}

// Leftover identifies an object.
type Leftover struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Progress is the progress of the deployment of a revision.
type Progress struct {
	// Revision is the revision that is deployed.
	Revision int `json:"revision"`
	// DoneNodes has the IDs of the nodes that are deployed, and ready if the operation
	// waits for them, sorted.
	DoneNodes []string `json:"done,omitempty"`
	// RunningNodes has the IDs of the nodes that were started but are not finished, sorted.
	RunningNodes []string `json:"at,omitempty"`
	// TotalNodes is the number of nodes.
	TotalNodes int `json:"nodes"`
	// Uninstalling says whether DoneNodes has nodes that an uninstall has deleted.
	Uninstalling bool `json:"removing,omitempty"`
}

// ProgressFor returns the progress of a revision. It returns nil if there is no progress,
// or if it belongs to another revision. The record can be nil.
func (r *Record) ProgressFor(revision int) *Progress {
	if r == nil || r.Progress == nil || r.Progress.Revision != revision {
		return nil
	}
	return r.Progress
}

// EarlierFor returns the data of a revision about earlier revisions. It returns nil if
// there is none, or if the record was written for another revision. The record can be nil.
func (r *Record) EarlierFor(revision int) *EarlierRevisions {
	if r == nil || r.Earlier == nil || r.Earlier.Revision != revision {
		return nil
	}
	return r.Earlier
}

// InvalidError reports a record that cannot be used.
type InvalidError struct {
	Release  string
	Revision int
	Err      error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("the release record of %s, revision %d, cannot be used: %v", e.Release, e.Revision, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// WithRecord returns a copy of a chart with a record, which replaces any existing record.
// If the record is nil, the copy has no record. It returns an error if Read would reject
// the record because of its size.
func WithRecord(ch *chart.Chart, r *Record) (*chart.Chart, error) {
	files := removeRecord(ch.Files)
	if r != nil {
		r.Version = version
		data, err := encode(r)
		if err != nil {
			return nil, fmt.Errorf("write the release record: %w", err)
		}
		files = append(slices.Clone(files), &chart.File{Name: fileName, Data: data})
	} else if len(files) == len(ch.Files) {
		return ch, nil
	}
	attached := *ch
	attached.Files = files
	return &attached, nil
}

// WithoutRecord returns a copy of a release without its record, for printing. If there is
// no record, it returns the release itself. The release can be nil.
func WithoutRecord(rel *release.Release) *release.Release {
	if rel == nil || rel.Chart == nil || !slices.ContainsFunc(rel.Chart.Files, isRecord) {
		return rel
	}
	bare := *rel.Chart
	bare.Files = removeRecord(bare.Files)
	detached := *rel
	detached.Chart = &bare
	return &detached
}

func removeRecord(files []*chart.File) []*chart.File {
	if !slices.ContainsFunc(files, isRecord) {
		return files
	}
	if len(files) == 1 {
		return nil // like a chart without files
	}
	return slices.DeleteFunc(slices.Clone(files), isRecord)
}

func isRecord(f *chart.File) bool { return f != nil && f.Name == fileName }

// Read returns the record of a release, or nil if it has none, as for releases that were
// not deployed in order. The error is an *InvalidError.
func Read(rel *release.Release) (*Record, error) {
	if rel.Chart == nil {
		return nil, nil
	}
	i := slices.IndexFunc(rel.Chart.Files, isRecord)
	if i < 0 {
		return nil, nil
	}
	r, err := decode(rel.Chart.Files[i].Data)
	if err != nil {
		return nil, &InvalidError{Release: rel.Name, Revision: rel.Version, Err: err}
	}
	return r, nil
}
