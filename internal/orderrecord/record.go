// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package orderrecord defines the order record: the data about its order and its progress
// that a revision contains when it is stored (docs/reference.md, "The order record"). The
// deployment graph of the revision can be rebuilt from its manifest and its order record.
// The manifest alone is not enough: stored releases do not contain the metadata of
// subcharts, and the comments in a manifest that name the template of a document may be
// missing. Package history decides when an order record is written.
package orderrecord

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// fileName is the name of the file in the chart of a stored release that contains the order
// record. Stock Helm keeps this file, and prints it only if it prints all files of a chart,
// as in "install -o json".
const fileName = directory + "record.json"

// version is the newest version of the JSON format. Record.format returns the one that a record needs.
const version = 2

// Record is the order record of one revision.
type Record struct {
	// Version is the version of the JSON format.
	Version int `json:"version"`
	// Ordered says whether the revision with the number in Revision was deployed in order.
	// If so, the deployment graph can also be rebuilt for a later revision that contains a
	// copy of the record.
	Ordered bool `json:"sequenced"`
	// IgnoreJobs says whether the ordered deployment of the revision did not wait for Jobs
	// without dependents. A rollback to the revision does not wait for them either.
	IgnoreJobs bool `json:"ignoreJobs,omitempty"`
	// Revision is the revision that the order record was written for; 0 if unknown. It
	// differs from the revision that contains the order record after a rollback with stock
	// Helm, which copies the chart, and with it the order record, to a new revision that it
	// deploys without an order.
	Revision int `json:"revision,omitempty"`
	// Operation is the operation that deployed the revision, if there are resources that do not take part in
	// it, otherwise empty.
	Operation sequencer.Operation `json:"operation,omitempty"`
	// Charts is the tree of the charts of the release, with the layers and dependencies that
	// they declare.
	Charts *sequencer.Chart `json:"charts"`
	// DocumentCharts contains, for each document in the manifest, the path of the chart that
	// the document comes from. It is empty if the Source comments in the manifest contain
	// this information.
	DocumentCharts []string `json:"documents,omitempty"`
	// OrderFiles are the order files that apply to the release, the strongest first.
	OrderFiles []OrderFile `json:"orderFiles,omitempty"`
	// Earlier is what the revision stores about earlier revisions. Use EarlierFor to read
	// it.
	Earlier *EarlierRevisions `json:"earlier,omitempty"`
	// Progress says which nodes of the deployment graph are finished. Use ProgressFor to
	// read it.
	Progress *Progress `json:"progress,omitempty"`
	// HookObjects contains the objects that managed hooks may have left in the cluster. Use
	// HookObjectsFor to read it.
	HookObjects *HookObjects `json:"hookObjects,omitempty"`
	// Lease names the process that works on the revision. Use LeaseFor to read it.
	Lease *Lease `json:"lease,omitempty"`
}

// EarlierRevisions contains data about earlier revisions. A revision stores it until it is
// deployed, because the history limit may delete the earlier revisions before that.
type EarlierRevisions struct {
	// Revision is the revision that stores the data.
	Revision int `json:"revision"`
	// Leftovers are objects that earlier revisions may have left in the cluster and that
	// this revision does not declare.
	Leftovers []Leftover `json:"leftovers,omitempty"`
	// UninstallStarted says whether an uninstall has started after the last revision was
	// deployed. The objects of that revision may then be deleted, and objects of other
	// owners may have their names.
	UninstallStarted bool `json:"removed,omitempty"`
}

// Leftover identifies an object that an earlier revision may have left in the cluster.
type Leftover struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Progress says which nodes of the deployment graph of a revision are deployed or, in an
// uninstall, deleted, so that another operation can continue if this one is interrupted.
type Progress struct {
	// Revision is the revision that is being deployed or uninstalled.
	Revision int `json:"revision"`
	// DoneNodes contains the sorted IDs of the nodes that are deployed, and ready if the
	// operation waits for them.
	DoneNodes []string `json:"done,omitempty"`
	// RunningNodes contains the sorted IDs of the nodes that were started but are not
	// finished.
	RunningNodes []string `json:"at,omitempty"`
	// TotalNodes is the number of nodes in the deployment graph.
	TotalNodes int `json:"nodes"`
	// Uninstalling says whether the operation is an uninstall. The nodes in DoneNodes are
	// then deleted, not deployed.
	Uninstalling bool `json:"removing,omitempty"`
}

// ProgressFor returns the progress of the given revision, or nil if r has none or if it is
// about another revision. r can be nil.
func (r *Record) ProgressFor(revision int) *Progress {
	if r == nil || r.Progress == nil || r.Progress.Revision != revision {
		return nil
	}
	return r.Progress
}

// EarlierFor returns what the given revision stores about earlier revisions, or nil if r
// contains no such data or if another revision stored it. r can be nil.
func (r *Record) EarlierFor(revision int) *EarlierRevisions {
	if r == nil || r.Earlier == nil || r.Earlier.Revision != revision {
		return nil
	}
	return r.Earlier
}

// InvalidError reports that the order record of a revision cannot be used.
type InvalidError struct {
	Release  string
	Revision int
	Err      error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("the order record of release %s, revision %d, cannot be used: %v", e.Release, e.Revision, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// WithRecord returns a copy of the chart ch that contains the order record r instead of its
// present one. If r is nil, the copy contains no order record; if ch contains none either,
// WithRecord returns ch itself. The copy shares everything with ch except the list of files.
// The error says that r exceeds a limit, so that Read would reject it.
func WithRecord(ch *chart.Chart, r *Record) (*chart.Chart, error) {
	files := removeRecord(ch.Files)
	if r != nil {
		r.Version = r.format()
		data, err := encode(r)
		if err != nil {
			return nil, fmt.Errorf("write the order record: %w", err)
		}
		files = append(slices.Clone(files), &chart.File{Name: fileName, Data: data})
	} else if len(files) == len(ch.Files) {
		return ch, nil
	}
	recorded := *ch
	recorded.Files = files
	return &recorded, nil
}

// directory is the directory of all files that Ordered Helm adds to the chart of a stored release.
const directory = ".ordered-helm/"

// WithoutRecord returns a copy of a release without its order record, and without the other files that
// Ordered Helm adds to the chart of a stored release, for output to the user. It returns the release
// itself if there are none. The release can be nil.
func WithoutRecord(rel *release.Release) *release.Release {
	isAdded := func(f *chart.File) bool { return f != nil && strings.HasPrefix(f.Name, directory) }
	if rel == nil || rel.Chart == nil || !slices.ContainsFunc(rel.Chart.Files, isAdded) {
		return rel
	}
	bare := *rel.Chart
	if bare.Files = slices.DeleteFunc(slices.Clone(bare.Files), isAdded); len(bare.Files) == 0 {
		bare.Files = nil // like a chart without files
	}
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

// Read returns the order record of a stored release. It returns nil if there is none, as in
// a release that was stored by stock Helm. If the order record is invalid, the error is an
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
