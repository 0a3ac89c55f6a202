// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

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

// recordedChart is a subchart with scripts, or a chart around one, whose default values it sees.
type recordedChart struct {
	// Path contains the names of the charts from the outermost chart, without it, to this one.
	Path     []string        `json:"path"`
	Metadata *chart.Metadata `json:"metadata"`
	// Values are the default values, unless those of the outermost chart include them.
	Values map[string]any `json:"values,omitempty"`
	// Files are the scripts and the PermissionsFile.
	Files []*chart.File `json:"files,omitempty"`
}

// WithRecord returns a copy of the outermost chart of a release with a record of charts, which Read
// returned for it, and of the permissions that were accepted for them. It returns ch itself if there is
// nothing to record.
func WithRecord(ch *chart.Chart, charts []*Chart, accepted map[string][]luasandbox.Permission) (*chart.Chart, error) {
	rec := record{Version: recordVersion, Accepted: accepted}
	scripts, isRecorded := map[string][]*chart.File{}, map[string]bool{}
	for _, c := range charts {
		scripts[c.Path] = c.Files
	}
	for _, c := range charts {
		for around := c.Chart; !around.IsRoot() && !isRecorded[around.ChartFullPath()]; around = around.Parent() {
			path := around.ChartFullPath()
			isRecorded[path] = true
			if recorded, isNeeded := newRecordedChart(ch, around, scripts[path]); isNeeded {
				rec.Charts = append(rec.Charts, recorded)
			}
		}
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

// newRecordedChart returns what is recorded of a subchart of root, which has these scripts. isNeeded is false
// if nothing has to be recorded.
func newRecordedChart(root, ch *chart.Chart, scripts []*chart.File) (recorded recordedChart, isNeeded bool) {
	recorded = recordedChart{Path: namesBelowRoot(ch.ChartFullPath()), Metadata: ch.Metadata, Files: slices.Clone(scripts)}
	for _, f := range ch.Files {
		if f.Name == PermissionsFile && len(scripts) > 0 {
			recorded.Files = append(recorded.Files, f)
		}
	}
	if !includes(root.Values, recorded.Path, ch.Values) {
		recorded.Values = ch.Values
	}
	return recorded, len(scripts) > 0 || recorded.Values != nil
}

// namesBelowRoot converts the path of a subchart, such as shop/charts/db, to the names of the charts
// below the outermost one.
func namesBelowRoot(path string) []string { return strings.Split(path, "/charts/")[1:] }

// includes reports whether values contain all keys of the default values of the subchart at a path, so
// that the default values change nothing.
func includes(values map[string]any, path []string, defaults map[string]any) bool {
	for _, name := range path {
		values, _ = asMap(values[name])
	}
	return includesAll(values, defaults)
}

func includesAll(values, defaults map[string]any) bool {
	for key, value := range defaults {
		found, exists := values[key]
		if !exists {
			return false
		}
		below, isMap := asMap(value)
		if foundBelow, foundMap := asMap(found); isMap && foundMap && !includesAll(foundBelow, below) {
			return false
		}
	}
	return true
}

func asMap(value any) (map[string]any, bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, true
	case chartutil.Values:
		return value, true
	}
	return nil, false
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
	// Chart is the outermost chart, with those subcharts that have scripts and the charts around
	// them. Of subcharts, it has only what scripts need.
	Chart *chart.Chart
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

// FromRelease returns what a release has stored about scripts. If the record is invalid, the error is an
// *InvalidRecordError. The chart of the release can be missing.
func FromRelease(rel *release.Release) (*Stored, error) {
	if rel.Chart == nil || rel.Chart.Metadata == nil {
		return &Stored{Chart: &chart.Chart{Metadata: &chart.Metadata{}}}, nil
	}
	bare := WithoutRecord(rel.Chart)
	root := &chart.Chart{Metadata: bare.Metadata, Values: bare.Values, Files: withoutNull(bare.Files)}
	i := slices.IndexFunc(rel.Chart.Files, isRecord)
	if i < 0 {
		return &Stored{Chart: root}, nil
	}
	rec, err := decodeRecord(rel.Chart.Files[i].Data)
	if err == nil {
		err = addRecorded(root, rec.Charts)
	}
	if err != nil {
		return nil, &InvalidRecordError{rel.Name, rel.Version, err}
	}
	return &Stored{root, rec.Accepted}, nil
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
