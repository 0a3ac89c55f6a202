// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaserecord keeps, inside a stored release, what it takes to rebuild the
// graph by which the release was deployed: stored releases lose the metadata
// of subcharts, and manifests may lose the comments that tell their source
// (docs/reference.md, "The release record").
package releaserecord

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// fileName is the entry of the stored chart's files that holds the record.
// Stock Helm carries it along; it prints it where it prints a chart's files, as
// "install -o json" does.
const fileName = ".ordered-helm/record.json"

// version is the version of the record's form that this package writes.
const version = 1

// Record is what a release remembers of its order.
type Record struct {
	// Version is the version of the form.
	Version int `json:"version"`
	// Ordered is whether the release was deployed in order: in the revision
	// that Revision names. In others the graph counts all the same.
	Ordered bool `json:"sequenced"`
	// Revision is the revision that was deployed in this order; 0 if that is
	// not known. A rollback of stock Helm copies a chart, and the record in it,
	// into a revision that it deploys without an order.
	Revision int `json:"revision,omitempty"`
	// Charts is the tree of charts with what they declared.
	Charts *sequencer.Chart `json:"charts"`
	// DocumentCharts gives the path of the chart for each document of the
	// manifest, where its Source comments do not tell it.
	DocumentCharts []string `json:"documents,omitempty"`
	// Earlier is what counts of revisions before; EarlierOf tells whether it is
	// known to the revision at hand.
	Earlier *EarlierRevisions `json:"earlier,omitempty"`
	// Progress is how far the deployment came; ProgressOf tells whether it is
	// that of the revision at hand.
	Progress *Progress `json:"progress,omitempty"`
	// Lease is who deploys or removes the revision; LeaseOf tells whether it is
	// about the revision at hand.
	Lease *Lease `json:"lease,omitempty"`
}

// EarlierRevisions is what a revision knows, until it is deployed, of those before it,
// which may be forgotten by then.
type EarlierRevisions struct {
	// Revision is the revision that knows it.
	Revision int `json:"revision"`
	// Leftovers are objects that this revision does not have and that may still be
	// in the cluster.
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// UninstallStarted is whether an uninstall has begun since the last revision that was
	// deployed: what that one had may be gone, and another's in its place.
	UninstallStarted bool `json:"removed,omitempty"`
}

// Leftover names an object.
type Leftover struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for objects outside namespaces.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Progress is how far the deployment of a revision came.
type Progress struct {
	// Revision is the revision whose progress it is.
	Revision int `json:"revision"`
	// DoneNodes are the IDs of the nodes that were deployed, and got ready where
	// that was waited for, sorted.
	DoneNodes []string `json:"done,omitempty"`
	// RunningNodes are the IDs of those that were begun and are not done, sorted.
	RunningNodes []string `json:"at,omitempty"`
	// TotalNodes is how many nodes there are.
	TotalNodes int `json:"nodes"`
	// Uninstalling is whether Done are the nodes that an uninstall has removed.
	Uninstalling bool `json:"removing,omitempty"`
}

// ProgressFor gives the progress of a revision, nil if the record has none or
// that of another revision. A nil record has none.
func (r *Record) ProgressFor(revision int) *Progress {
	if r == nil || r.Progress == nil || r.Progress.Revision != revision {
		return nil
	}
	return r.Progress
}

// EarlierFor gives what a revision knows of those before it, nil if that is nothing
// or the record was written for another revision. A nil record knows nothing.
func (r *Record) EarlierFor(revision int) *EarlierRevisions {
	if r == nil || r.Earlier == nil || r.Earlier.Revision != revision {
		return nil
	}
	return r.Earlier
}

// InvalidError says that a release has a record that cannot be used.
type InvalidError struct {
	Release  string
	Revision int
	Err      error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("the record of order in release %s, revision %d, cannot be used: %v", e.Release, e.Revision, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// WithRecord returns a copy of the chart that carries the record, in place of one
// it may carry already. A nil record leaves the chart without. It is an error
// if Read would refuse the record for its size.
func WithRecord(ch *chart.Chart, r *Record) (*chart.Chart, error) {
	files := removeRecord(ch.Files)
	if r != nil {
		r.Version = version
		data, err := encode(r)
		if err != nil {
			return nil, fmt.Errorf("write the record of order: %w", err)
		}
		files = append(slices.Clone(files), &chart.File{Name: fileName, Data: data})
	} else if len(files) == len(ch.Files) {
		return ch, nil
	}
	attached := *ch
	attached.Files = files
	return &attached, nil
}

// WithoutRecord returns a copy of the release without its record, for printing; the
// release itself if there is none in it. A nil release gives nil.
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
		return nil // as in a chart that never had files
	}
	return slices.DeleteFunc(slices.Clone(files), isRecord)
}

func isRecord(f *chart.File) bool { return f != nil && f.Name == fileName }

// Read gives the record of a release, or nil if it has none, as those that
// were not deployed in order. An error is of type *InvalidError.
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
