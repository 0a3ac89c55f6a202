// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// Save packs a chart into an archive in dir, which it creates if needed, and returns the
// path of the archive. The archive is that of Helm, plus the fields that Helm drops from
// each Chart.yaml, and the lock files that Helm does not pack.
func Save(ch *chart.Chart, dir string) (string, error) {
	name, err := chartutil.Save(ch, dir)
	if err != nil {
		return name, err
	}
	if err := completeArchive(name, ch); err != nil {
		return name, errors.Join(fmt.Errorf("pack the whole Chart.yaml: %w", err), os.Remove(name))
	}
	return name, nil
}

// SaveDir writes a chart to a subdirectory of dir that has the chart's name. Its subcharts
// become archives in charts/. The files are those of Helm, plus the selected fields of
// Chart.yaml, and all fields of the subcharts.
func SaveDir(ch *chart.Chart, dir string, fields FieldFilter) error {
	if err := chartutil.SaveDir(ch, dir); err != nil {
		return err
	}
	folder := filepath.Join(dir, ch.Name())
	written, err := helmChartYAML(ch)
	if err != nil {
		return err
	}
	text, err := restoreFields(written, ch, fields)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, chartutil.ChartfileName), text, fileMode); err != nil {
		return err
	}
	for _, dep := range ch.Dependencies() {
		if err := completeArchive(filepath.Join(folder, chartutil.ChartsDir, archiveName(dep)), dep); err != nil {
			return fmt.Errorf("pack the whole Chart.yaml of %s: %w", dep.ChartFullPath(), err)
		}
	}
	return nil
}

// archiveName returns the file name that Helm gives to the archive of a chart.
func archiveName(ch *chart.Chart) string {
	return fmt.Sprintf("%s-%s.tgz", ch.Name(), ch.Metadata.Version)
}

// completeFiles contains the files of one chart in the archive that Helm shortens or leaves
// out when it packs the chart. path is the path of the Chart.yaml in the archive.
type completeFiles struct {
	path      string
	chartYAML []byte
	lock      []byte // Chart.lock, or nil if there is none or Helm packs it
}

// completeArchive replaces the named archive, which Helm has packed from ch, if it lacks a
// part of the chart.
func completeArchive(name string, ch *chart.Chart) error {
	charts, missing, err := missingFiles(ch, "")
	if err != nil || !missing {
		return err
	}
	packed, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := rewriteArchive(&b, packed, charts); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), fileMode)
}

// missingFiles returns the complete files of ch and its subcharts, in the order in which
// Helm packs them. missing reports whether Helm's archive lacks any part of them. below is
// the directory in the archive that contains ch.
func missingFiles(ch *chart.Chart, below string) (charts []completeFiles, missing bool, err error) {
	base := path.Join(below, ch.Name())
	written, err := helmChartYAML(ch)
	if err != nil {
		return nil, false, err
	}
	full, err := restoreFields(written, ch, AllFields)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", base, err)
	}
	files := completeFiles{path: path.Join(base, chartutil.ChartfileName), chartYAML: full}
	if v := ch.Metadata.APIVersion; ch.Lock != nil && v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		if files.lock, err = yaml.Marshal(ch.Lock); err != nil {
			return nil, false, err
		}
	}
	charts = []completeFiles{files}
	missing = files.lock != nil || !bytes.Equal(full, written)
	for _, dep := range ch.Dependencies() {
		more, lacks, err := missingFiles(dep, path.Join(base, chartutil.ChartsDir))
		if err != nil {
			return nil, false, err
		}
		charts, missing = append(charts, more...), missing || lacks
	}
	return charts, missing, nil
}

// helmChartYAML returns the Chart.yaml that Helm packs. For a chart of apiVersion v1 it
// does not contain the dependencies, because they are in requirements.yaml.
func helmChartYAML(ch *chart.Chart) ([]byte, error) {
	metadata := *ch.Metadata
	if metadata.APIVersion == chart.APIVersionV1 {
		metadata.Dependencies = nil
	}
	return yaml.Marshal(&metadata)
}

// rewriteArchive copies the archive packed to out. It replaces each Chart.yaml with that in
// charts, which has the order of the archive, and adds the lock files.
func rewriteArchive(out io.Writer, packed []byte, charts []completeFiles) error {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	zipper := gzip.NewWriter(out)
	zipper.Header = in.Header
	from, to := tar.NewReader(in), tar.NewWriter(zipper)
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		if len(charts) == 0 || header.Name != charts[0].path {
			if err := writeEntry(to, header, header.Name, data); err != nil {
				return err
			}
			continue
		}
		if err := charts[0].write(to, header); err != nil {
			return err
		}
		charts = charts[1:]
	}
	if len(charts) > 0 {
		return fmt.Errorf("%s is not in the archive", charts[0].path)
	}
	return errors.Join(to.Close(), zipper.Close())
}

// write adds the files to an archive. It copies everything except the name and size from
// header, the header of the Chart.yaml.
func (c completeFiles) write(to *tar.Writer, header *tar.Header) error {
	if err := writeEntry(to, header, header.Name, c.chartYAML); err != nil || c.lock == nil {
		return err
	}
	return writeEntry(to, header, path.Join(path.Dir(c.path), "Chart.lock"), c.lock)
}

func writeEntry(to *tar.Writer, like *tar.Header, name string, data []byte) error {
	header := *like
	header.Name, header.Size = name, int64(len(data))
	if err := to.WriteHeader(&header); err != nil {
		return err
	}
	_, err := to.Write(data)
	return err
}
