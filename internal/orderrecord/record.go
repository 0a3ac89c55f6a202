// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package orderrecord defines the release record: data about the order and the progress of a
// release that is stored inside the stored release (docs/reference.md, "The order record").
// The dependency graph of the release can be rebuilt from the record. The record is necessary
// because stored releases lack the metadata of subcharts, and manifests may lack the comments
// that name the template of a document. Package history decides when to write it.
package orderrecord

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// fileName is the name of the file with the record in the chart of a stored release. Stock
// Helm keeps this file. It prints the file only if it prints all files of a chart, as in
// "install -o json".
const fileName = ".ordered-helm/record.json"

// version is the version of the format that this package writes.
const version = 1

// Record is the content of the release record of one revision.
type Record struct {
	// Version is the version of the format.
	Version int `json:"version"`
	// Ordered is true if the revision Revision was deployed in order. The graph is valid in
	// other revisions, too.
	Ordered bool `json:"sequenced"`
	// Revision is the revision for which the record was written; 0 if unknown. It can
	// differ from the revision that has the record: a rollback of stock Helm copies the
	// chart, with its record, to a new revision that it deploys without an order.
	Revision int `json:"revision,omitempty"`
	// Charts is the tree of the charts of the release, with the layers and dependencies
	// that they declare.
	Charts *sequencer.Chart `json:"charts"`
	// DocumentCharts has, for each document in the manifest, the path of the chart that
	// contains its template. It is empty if the Source comments in the manifest tell this.
	DocumentCharts []string `json:"documents,omitempty"`
	// Earlier has data about earlier revisions. Use EarlierFor to read it.
	Earlier *EarlierRevisions `json:"earlier,omitempty"`
	// Progress says how far the deployment or uninstall is. Use ProgressFor to read it.
	Progress *Progress `json:"progress,omitempty"`
	// Lease is the lock of the process that deploys or uninstalls the revision. Use
	// LeaseFor to read it.
	Lease *Lease `json:"lease,omitempty"`
}

// EarlierRevisions has the data about earlier revisions that a revision stores until it is
// deployed itself, because the earlier revisions may be removed from the history before.
type EarlierRevisions struct {
	// Revision is the revision that stores the data.
	Revision int `json:"revision"`
	// Leftovers are objects of earlier revisions that may still exist in the cluster and
	// that this revision does not have.
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// UninstallStarted is true if an uninstall has started after the last deployed
	// revision. The objects of that revision may then be deleted, and other objects may
	// have their names.
	UninstallStarted bool `json:"removed,omitempty"`
}

// Leftover identifies an object in EarlierRevisions.Leftovers.
type Leftover struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Progress says which nodes of a revision are deployed or, during an uninstall, deleted, so
// that another operation can continue if this one is interrupted.
type Progress struct {
	// Revision is the revision that is being deployed or uninstalled.
	Revision int `json:"revision"`
	// DoneNodes has the IDs of the nodes that are deployed, and ready if the operation
	// waits for them, sorted.
	DoneNodes []string `json:"done,omitempty"`
	// RunningNodes has the IDs of the nodes that were started but are not finished, sorted.
	RunningNodes []string `json:"at,omitempty"`
	// TotalNodes is the number of all nodes.
	TotalNodes int `json:"nodes"`
	// Uninstalling is true during an uninstall. DoneNodes then has the nodes that are
	// deleted.
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

// EarlierFor returns what a revision stores about earlier revisions. It returns nil if
// there is nothing, or if it belongs to another revision. The record can be nil.
func (r *Record) EarlierFor(revision int) *EarlierRevisions {
	if r == nil || r.Earlier == nil || r.Earlier.Revision != revision {
		return nil
	}
	return r.Earlier
}

// InvalidError reports that the record of a revision cannot be used, and why.
type InvalidError struct {
	Release  string
	Revision int
	Err      error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("the release record of %s, revision %d, cannot be used: %v", e.Release, e.Revision, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// WithRecord returns a copy of a chart that contains the record r instead of any existing
// one. The copy shares everything but the list of files. If r is nil, the copy has no
// record; WithRecord then returns the chart itself if it has none either. It returns an
// error if r is so large that Read would reject it.
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

// Read returns the record of a stored release. It returns nil if there is none, because the
// release was not deployed in order. If the record is invalid, the error is an
// *InvalidError.
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
