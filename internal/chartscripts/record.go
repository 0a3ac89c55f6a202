// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// recordFile is the name of the file in the chart of a stored release that contains what the release
// needs to run the scripts of its subcharts: stored releases do not contain subcharts. The scripts of
// the outermost chart are among its own files.
const recordFile = ".ordered-helm/scripts.json"

// recordVersion is the version of the JSON format that this package writes.
const recordVersion = 1

// Limits of a stored record, which anybody can have written who can write releases.
const (
	maxRecordedCharts = 10_000
	maxRecordedDepth  = 100
)

// record is the content of recordFile.
type record struct {
	Version int             `json:"version"`
	Charts  []recordedChart `json:"charts,omitempty"`
	// Accepted contains the permissions that were accepted, by the path of the chart. It is
	// information for people alone: every operation asks again.
	Accepted map[string][]luasandbox.Permission `json:"accepted,omitempty"`
}

// recordedChart is a subchart. If it has no scripts, scripts of other charts see its values.
type recordedChart struct {
	// Path contains the names of the charts from the outermost chart, without it, to this one.
	Path     []string        `json:"path"`
	Metadata *chart.Metadata `json:"metadata"`
	// Values are the default values, unless those of the outermost chart include them.
	Values map[string]any `json:"values,omitempty"`
	// Files are the scripts and the PermissionsFile.
	Files []*chart.File `json:"files,omitempty"`
	// Documents is the path with which the sources of its documents begin, if it is not the path of the
	// chart.
	Documents string `json:"documents,omitempty"`
}

// WithRecord returns a copy of the outermost chart of a release with a record of charts, which Read
// returned for it, and of the permissions that were accepted for them. It returns ch itself if there is
// nothing to record.
func WithRecord(ch *chart.Chart, charts []*Chart, accepted map[string][]luasandbox.Permission) (*chart.Chart, error) {
	rec := record{Version: recordVersion, Accepted: accepted}
	if len(charts) > 0 {
		scripts := map[string]*Chart{}
		for _, c := range charts {
			scripts[c.Path] = c
		}
		rec.addBelow(ch, ch, nil, scripts)
	}
	if len(rec.Charts) == 0 && len(rec.Accepted) == 0 {
		return ch, nil
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return nil, fmt.Errorf("record the scripts of the charts: %w", err)
	}
	recorded := *ch
	recorded.Files = append(slices.Clone(ch.Files), &chart.File{Name: recordFile, Data: data})
	return &recorded, nil
}

// addBelow records the subcharts of ch, which has this path, and their subcharts. scripts contains those with
// scripts, by their path. Of the others, the default values are recorded that scripts would not see
// otherwise. A chart comes before its subcharts.
func (r *record) addBelow(root, ch *chart.Chart, at []string, scripts map[string]*Chart) {
	for _, sub := range ch.Dependencies() {
		names := append(slices.Clone(at), sub.Name())
		recorded := recordedChart{Path: names, Metadata: &chart.Metadata{Name: sub.Name()}}
		inTree := strings.Join(append([]string{root.ChartFullPath()}, names...), "/charts/")
		if c := scripts[inTree]; c != nil {
			recorded.Metadata, recorded.Files = sub.Metadata, slices.Clone(c.Files)
			recorded.Files = append(recorded.Files, permissionsFile(sub)...)
		}
		if documents := sub.ChartFullPath(); documents != inTree {
			recorded.Documents = documents
		}
		if !includes(root.Values, names, sub.Values) {
			recorded.Values = sub.Values
		}
		r.Charts = append(r.Charts, recorded)
		r.addBelow(root, sub, names, scripts)
	}
}

// permissionsFile returns the PermissionsFile of a chart, if it has one.
func permissionsFile(ch *chart.Chart) []*chart.File {
	for _, f := range ch.Files {
		if f != nil && f.Name == PermissionsFile {
			return []*chart.File{f}
		}
	}
	return nil
}

// includes reports whether values contain all keys of the default values of the subchart at a path, so
// that the default values change nothing.
func includes(values map[string]any, path []string, defaults map[string]any) bool {
	return includesAll(field.Map(values, path...), defaults)
}

func includesAll(values, defaults map[string]any) bool {
	for key := range defaults {
		if _, exists := values[key]; !exists {
			return false
		}
		below, found := field.Map(defaults, key), field.Map(values, key)
		if below != nil && found != nil && !includesAll(found, below) {
			return false
		}
	}
	return true
}

// WithoutRecord returns a copy of a chart without a record of scripts, or the chart itself if it has
// none.
func WithoutRecord(ch *chart.Chart) *chart.Chart {
	if !slices.ContainsFunc(ch.Files, isRecord) {
		return ch
	}
	bare := *ch
	bare.Files = slices.DeleteFunc(slices.Clone(ch.Files), isRecord)
	return &bare
}

func isRecord(f *chart.File) bool { return f != nil && f.Name == recordFile }

// Stored is what a stored release contains about scripts.
type Stored struct {
	// Chart is the outermost chart, with the recorded subcharts. Of these, it has only what scripts
	// need.
	Chart *chart.Chart
	// Charts are the charts with scripts, as Read returns them.
	Charts []*Chart
	// Accepted contains the permissions that were accepted when the release was stored, by the
	// path of the chart.
	Accepted map[string][]luasandbox.Permission
}

// InvalidRecordError reports that what a release has stored about scripts cannot be used.
type InvalidRecordError struct {
	Release  string
	Revision int
	Err      error
}

func (e *InvalidRecordError) Error() string {
	return fmt.Sprintf("the scripts of release %s, revision %d, cannot be read: %v: use --no-scripts to run none", e.Release, e.Revision, e.Err)
}

func (e *InvalidRecordError) Unwrap() error { return e.Err }

// FromRelease returns what a release has stored about scripts. If it is invalid, the error is an
// *InvalidRecordError. The chart of the release can be missing.
func FromRelease(rel *release.Release) (*Stored, error) {
	if rel.Chart == nil || rel.Chart.Metadata == nil {
		return &Stored{Chart: &chart.Chart{Metadata: &chart.Metadata{}}}, nil
	}
	bare := WithoutRecord(rel.Chart)
	root := &chart.Chart{Metadata: bare.Metadata, Values: bare.Values, Files: withoutNull(bare.Files)}
	stored := &Stored{Chart: root}
	if i := slices.IndexFunc(rel.Chart.Files, isRecord); i >= 0 {
		if err := stored.addRecord(rel.Chart.Files[i].Data); err != nil {
			return nil, &InvalidRecordError{rel.Name, rel.Version, err}
		}
		return stored, nil
	}
	var err error
	if stored.Charts, err = Read(root); err != nil {
		return nil, &InvalidRecordError{rel.Name, rel.Version, err}
	}
	return stored, nil
}

// addRecord adds what is recorded about subcharts.
func (s *Stored) addRecord(data []byte) error {
	rec, err := decodeRecord(data)
	if err != nil {
		return err
	}
	if err := addRecorded(s.Chart, rec.Charts); err != nil {
		return err
	}
	s.Accepted = rec.Accepted
	documents := map[string]string{}
	for _, r := range rec.Charts {
		documents[strings.Join(append([]string{s.Chart.Name()}, r.Path...), "/charts/")] = r.Documents
	}
	s.Charts, err = readTree(s.Chart, func(_ *chart.Chart, at string) string { return cmp.Or(documents[at], at) })
	return err
}

func decodeRecord(data []byte) (*record, error) {
	rec := &record{}
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, err
	}
	switch {
	case rec.Version < 1:
		return nil, errors.New("the record has no version")
	case rec.Version > recordVersion:
		return nil, fmt.Errorf("the record has version %d, but this program supports versions up to %d: upgrade Ordered Helm", rec.Version, recordVersion)
	case len(rec.Charts) > maxRecordedCharts:
		return nil, fmt.Errorf("the record contains %d charts: at most %d are possible", len(rec.Charts), maxRecordedCharts)
	}
	return rec, nil
}

// addRecorded adds recorded subcharts, and the charts around them, to the outermost chart.
func addRecorded(root *chart.Chart, recorded []recordedChart) error {
	added := map[*chart.Chart]bool{}
	for _, r := range recorded {
		if len(r.Path) == 0 || len(r.Path) > maxRecordedDepth || r.Metadata == nil {
			return errors.New("the record contains a chart without a name, or in too many charts")
		}
		ch := root
		for _, name := range r.Path {
			if name == "" || strings.Contains(name, "/") {
				return fmt.Errorf("the record contains a chart with the invalid name %q", name)
			}
			ch = subchart(ch, name)
		}
		if added[ch] {
			return fmt.Errorf("the record contains the chart %s twice", strings.Join(r.Path, "/"))
		}
		added[ch] = true
		metadata := *r.Metadata
		metadata.Name = r.Path[len(r.Path)-1]
		ch.Metadata, ch.Values, ch.Files = &metadata, r.Values, withoutNull(r.Files)
	}
	return nil
}

// withoutNull returns files without null, which a release can contain that somebody else has written.
func withoutNull(files []*chart.File) []*chart.File {
	return slices.DeleteFunc(slices.Clone(files), func(f *chart.File) bool { return f == nil })
}

// subchart returns the subchart with a name. If there is none, it adds one.
func subchart(ch *chart.Chart, name string) *chart.Chart {
	for _, sub := range ch.Dependencies() {
		if sub.Name() == name {
			return sub
		}
	}
	sub := &chart.Chart{Metadata: &chart.Metadata{Name: name}}
	ch.AddDependency(sub)
	return sub
}
