// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

const chartFile = "Chart.yaml"

// CanonicalFiles returns the files of a chart in canonical form, which Helm's loader
// accepts. In every Chart.yaml, including those in the archives of subcharts, it converts
// the annotations of Ordered Helm: YAML lists become JSON strings, and a boolean value of
// helm.sh/run-hooks-in-parallel becomes a string. It translates charts of the format helm.sh/v3, and
// adds a values.schema.json to charts with only a values.schema.yaml. Nothing else changes. The given
// files are not modified. If one of these files is invalid, CanonicalFiles returns an error. If the chart
// is too large, the error is a *LimitError.
func CanonicalFiles(files []*BufferedFile) ([]*BufferedFile, error) {
	u := &sizeCounter{}
	if err := u.addFiles(files); err != nil {
		return nil, err
	}
	return u.canonicalFiles(files, 0)
}

func (u *sizeCounter) canonicalFiles(files []*BufferedFile, depth int) ([]*BufferedFile, error) {
	files, err := translateFormat(files, !u.keepSchemas)
	if err == nil && !u.keepSchemas {
		files, err = translateSchemas(files)
	}
	if err != nil {
		return nil, err
	}
	canonical := make([]*BufferedFile, 0, len(files))
	for _, f := range files {
		data, err := u.canonicalFile(f, depth)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		canonical = append(canonical, &BufferedFile{Name: f.Name, Data: data})
	}
	return canonical, nil
}

// canonicalFile returns the content of f in canonical form. If f is a Chart.yaml or the
// archive of a subchart, it counts the charts in u. The name of f is relative to a chart,
// and depth is the number of charts that contain this chart.
func (u *sizeCounter) canonicalFile(f *BufferedFile, depth int) ([]byte, error) {
	own, below := splitSubchartPath(f.Name)
	switch {
	case own == chartFile:
		if err := u.addChart(depth + below); err != nil {
			return nil, err
		}
		if err := yamledit.CheckAliases(string(f.Data)); err != nil {
			return nil, err
		}
		return canonicalChartYAML(f.Data)
	case slices.Contains(parsedFiles[:], own):
		return f.Data, yamledit.CheckAliases(string(f.Data))
	case own != "":
		return u.canonicalArchive(f.Data, depth+below)
	}
	return f.Data, nil
}

// parsedFiles lists the files besides Chart.yaml that Helm's loader parses.
var parsedFiles = [...]string{"values.yaml", "requirements.yaml", "Chart.lock", "requirements.lock"}

// splitSubchartPath returns the number of nested subcharts in the path of a file (depth),
// and the path within the innermost of these (own). For example,
// charts/a/charts/b/values.yaml gives values.yaml and 2. The archive of a subchart counts
// as a subchart: charts/a.tgz gives a.tgz and 1.
//
// For files that canonicalFile neither changes nor checks, own is empty.
func splitSubchartPath(name string) (own string, depth int) {
	for name != chartFile && !slices.Contains(parsedFiles[:], name) {
		rest, inCharts := strings.CutPrefix(name, "charts/")
		folder, below, isFolder := strings.Cut(rest, "/")
		if !inCharts || folder == "" || folder[0] == '_' || folder[0] == '.' {
			return "", 0
		}
		depth++
		if !isFolder {
			if path.Ext(folder) == ".tgz" {
				return folder, depth
			}
			return "", 0
		}
		name = below
	}
	return name, depth
}

// canonicalChartYAML converts the annotations in a Chart.yaml to canonical form. A file
// that cannot be parsed is returned unchanged, so that Helm's loader reports the error.
func canonicalChartYAML(data []byte) ([]byte, error) {
	if !slices.ContainsFunc([]string{"/subcharts", "/external", annotation.RunHooksInParallel}, func(key string) bool { return bytes.Contains(data, []byte(key)) }) {
		return data, nil // it has none of the annotations that canonicalChartValue converts
	}
	root, err := yamledit.Parse(string(data))
	if err != nil {
		return data, nil
	}
	annotations := yamledit.Lookup(root, "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return data, nil
	}
	var changes []yamledit.Change
	for i := 0; i < len(annotations.Content); i += 2 {
		key := annotations.Content[i].Value
		text, change, err := canonicalChartValue(key, yamledit.Resolve(annotations.Content[i+1]))
		if err != nil {
			return nil, err
		}
		if change {
			changes = append(changes, yamledit.Change{Mapping: annotations, Key: key, NewValue: yamledit.Text(text)})
		}
	}
	edited, err := yamledit.Apply(string(data), root, changes)
	return []byte(edited), err
}

// canonicalChartValue converts the value of an annotation in Chart.yaml to canonical form.
// change is false if the value needs no conversion.
func canonicalChartValue(key string, value *yaml.Node) (text string, change bool, err error) {
	switch {
	case annotation.IsChartList(key):
		return annotation.CanonicalValue(key, value)
	case key == annotation.RunHooksInParallel:
		var b bool
		if value.ShortTag() == "!!bool" && value.Decode(&b) == nil {
			return strconv.FormatBool(b), true, nil
		}
	}
	return "", false, nil
}

// CanonicalArchive converts every Chart.yaml in the archive of a chart, as CanonicalFiles
// does. It adds no schemas. If nothing changes, it returns data itself.
func CanonicalArchive(data []byte) ([]byte, error) {
	u := &sizeCounter{keepSchemas: true}
	return u.canonicalArchive(data, 0)
}

// canonicalArchive converts the archive of a chart. depth is the number of charts that
// contain it.
func (u *sizeCounter) canonicalArchive(data []byte, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, u.addChart(depth)
	}
	files, err := LoadArchiveFiles(bytes.NewReader(data))
	if isLimitError(err) {
		return nil, err
	}
	if err != nil {
		return data, nil // Helm's loader reports the error
	}
	if err := u.addUnpacked(files); err != nil {
		return nil, err
	}
	canonical, err := u.canonicalFiles(files, depth)
	if err != nil {
		return nil, err
	}
	if slices.EqualFunc(files, canonical, func(x, y *BufferedFile) bool { return bytes.Equal(x.Data, y.Data) }) {
		return data, nil
	}
	return writeArchive(canonical)
}

// writeArchive packs files into an archive for Helm's loader, which ignores the name of
// the top-level directory.
func writeArchive(files []*BufferedFile) ([]byte, error) {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, f := range files {
		header := &tar.Header{Name: "chart/" + f.Name, Mode: 0o644, Size: int64(len(f.Data)), Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := tw.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err := errors.Join(tw.Close(), gz.Close())
	return b.Bytes(), err
}
