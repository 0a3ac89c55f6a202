// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

// CanonicalFiles converts the files of a chart to a form that Helm's loader accepts. In
// every Chart.yaml, including those of packed subcharts, sequencing annotations that are
// YAML lists become JSON strings, and a boolean mode of hooks becomes a string. Nothing
// else changes. The given files are not modified. It returns an error for invalid values,
// and if the chart exceeds a limit.
func CanonicalFiles(files []*BufferedFile) ([]*BufferedFile, error) {
	u := &sizeCounter{}
	if err := u.addFiles(files); err != nil {
		return nil, err
	}
	return u.canonicalFiles(files, 0)
}

func (u *sizeCounter) canonicalFiles(files []*BufferedFile, depth int) ([]*BufferedFile, error) {
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

// canonicalFile returns the converted content of f, and counts the charts in it. depth is
// the number of charts that contain the chart to which the name of f is relative.
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

// parsedFiles are the files besides Chart.yaml that Helm's loader parses.
var parsedFiles = [...]string{"values.yaml", "requirements.yaml", "Chart.lock", "requirements.lock"}

// splitSubchartPath finds the chart to which a file belongs, if the file matters to
// canonicalFile. depth is the number of directories of subcharts in the path.
//
// For a file that Helm parses, own is its path in the innermost chart. For the archive of a
// subchart, own is the name of the archive, and depth is one higher. For all other files,
// own is empty.
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

// canonicalChartYAML converts the annotations in a Chart.yaml. It returns a file that it
// cannot parse unchanged, so that Helm's loader reports the error.
func canonicalChartYAML(data []byte) ([]byte, error) {
	if !bytes.Contains(data, []byte("helm.sh/")) {
		return data, nil
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

// canonicalChartValue converts the value of an annotation in Chart.yaml to a string. change
// is false if the value needs no conversion.
func canonicalChartValue(key string, value *yaml.Node) (text string, change bool, err error) {
	switch key {
	case annotation.DependsOnSubcharts, annotation.DependsOnSubchartsCanonical:
		return annotation.CanonicalValue(key, value)
	case annotation.RunHooksInParallel:
		var b bool
		if value.ShortTag() == "!!bool" && value.Decode(&b) == nil {
			return strconv.FormatBool(b), true, nil
		}
	}
	return "", false, nil
}

// CanonicalArchive converts every Chart.yaml in the archive of a chart, as CanonicalFiles does.
// If nothing changes, it returns data.
func CanonicalArchive(data []byte) ([]byte, error) { return new(sizeCounter).canonicalArchive(data, 0) }

// canonicalArchive converts the archive of a chart that is inside depth other charts.
func (u *sizeCounter) canonicalArchive(data []byte, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, u.addChart(depth)
	}
	files, err := LoadArchiveFiles(bytes.NewReader(data))
	if isLimitError(err) {
		return nil, err
	}
	if err != nil {
		return data, nil // Helm's loader rejects it with its own error message
	}
	if err := u.addUnpacked(files); err != nil {
		return nil, err
	}
	legal, err := u.canonicalFiles(files, depth)
	if err != nil {
		return nil, err
	}
	changed := false
	for i := range files {
		changed = changed || !bytes.Equal(files[i].Data, legal[i].Data)
	}
	if !changed {
		return data, nil
	}
	return writeArchive(legal)
}

// writeArchive packs files into an archive that Helm's loader can read. The loader ignores
// the name of the top-level directory.
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
	if err := tw.Close(); err != nil {
		return nil, err
	}
	if err := gz.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
