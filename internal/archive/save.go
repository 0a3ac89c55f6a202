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
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// Save packs a chart into an archive in dir, which it creates if necessary, and returns the
// path of the archive. The archive is Helm's, plus the fields of Chart.yaml that Helm drops
// and the lock files that Helm does not pack, for the chart and all its subcharts. Charts of the
// format helm.sh/v3 are packed with all their files as they are.
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

// SaveDir writes a chart to a subdirectory of dir with the name of the chart. Its subcharts
// become archives in charts/. The files are Helm's, plus fields of Chart.yaml that Helm
// drops: in the chart itself those for which filter returns true, and in subcharts all of
// them.
func SaveDir(ch *chart.Chart, dir string, filter DroppedFieldFilter) error {
	if err := chartutil.SaveDir(ch, dir); err != nil {
		return err
	}
	folder := filepath.Join(dir, ch.Name())
	written, err := helmChartYAML(ch)
	if err != nil {
		return err
	}
	text, err := restoreFields(written, ch, filter)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, chartutil.ChartfileName), text, fileMode); err != nil {
		return err
	}
	if chartloader.HasAddedSchema(ch) {
		if err := os.Remove(filepath.Join(folder, chartutil.SchemafileName)); err != nil {
			return err
		}
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

// completeFiles contains those files of a chart that Helm packs incompletely or not at all.
type completeFiles struct {
	// path is the path of the Chart.yaml in the archive, and chartYAML is its content.
	path      string
	chartYAML []byte
	// more contains the files that Helm does not pack.
	more []*chart.File
	// all is true if more contains all other files of the chart and of its subcharts. They replace
	// the files that Helm packs.
	all bool
}

// completeArchive replaces the archive at archivePath, which Helm has packed from ch, with
// a complete one, if it is incomplete.
func completeArchive(archivePath string, ch *chart.Chart) error {
	charts, incomplete, err := findIncomplete(ch, "")
	if err != nil || !incomplete {
		return err
	}
	packed, err := os.ReadFile(archivePath)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := rewriteArchive(&b, packed, charts); err != nil {
		return err
	}
	return os.WriteFile(archivePath, b.Bytes(), fileMode)
}

// findIncomplete returns the complete files of ch and of its subcharts, in the order in
// which Helm packs them. incomplete reports whether Helm packs any of them incompletely or
// not at all. below is the directory in the archive that contains ch.
func findIncomplete(ch *chart.Chart, below string) (charts []completeFiles, incomplete bool, err error) {
	base := path.Join(below, ch.Name())
	files, err := filesOfFormat(ch, base)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("%s: %w", base, err)
	case files != nil:
		return []completeFiles{*files}, true, nil
	}
	written, err := helmChartYAML(ch)
	if err != nil {
		return nil, false, err
	}
	full, err := restoreFields(written, ch, AllFields)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", base, err)
	}
	files = &completeFiles{path: path.Join(base, chartutil.ChartfileName), chartYAML: full}
	if v := ch.Metadata.APIVersion; ch.Lock != nil && v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		lock, err := yaml.Marshal(ch.Lock)
		if err != nil {
			return nil, false, err
		}
		files.more = append(files.more, &chart.File{Name: "Chart.lock", Data: lock})
	}
	charts = []completeFiles{*files}
	incomplete = len(files.more) > 0 || !bytes.Equal(full, written)
	for _, dep := range ch.Dependencies() {
		more, moreIncomplete, err := findIncomplete(dep, path.Join(base, chartutil.ChartsDir))
		if err != nil {
			return nil, false, err
		}
		charts, incomplete = append(charts, more...), incomplete || moreIncomplete
	}
	return charts, incomplete, nil
}

// filesOfFormat returns the files of a chart of the format helm.sh/v3, with the versions of ch, or
// nil if ch is not of this format. All files are the ones from which ch was loaded, because Helm
// encodes some of them again (such as Chart.lock), and unpacks the archives of subcharts. base is
// the directory of the chart in the archive.
func filesOfFormat(ch *chart.Chart, base string) (*completeFiles, error) {
	original, found := chartloader.OriginalFile(ch, chartformat.OriginalChartFile)
	if !found {
		return nil, nil
	}
	version, appVersion, err := changedVersions(ch)
	if err != nil {
		return nil, err
	}
	if original, err = chartformat.WithVersions(original, version, appVersion); err != nil {
		return nil, err
	}
	requirements, _ := chartloader.OriginalFile(ch, chartformat.OriginalRequirementsFile)
	flat, err := chartformat.Translate(chartformat.Source{
		ChartYAML: original, Requirements: requirements,
		Scripts: slices.ContainsFunc(ch.Raw, func(f *chart.File) bool { return chartformat.IsScript(f.Name) }),
	})
	if err != nil {
		return nil, err
	}
	files := &completeFiles{path: path.Join(base, chartutil.ChartfileName), chartYAML: flat, all: true}
	packed, err := chartloader.FilesToPack(ch)
	if err != nil {
		return nil, err
	}
	for _, f := range packed {
		switch f.Name {
		case chartutil.ChartfileName:
		case chartformat.OriginalChartFile:
			files.more = append(files.more, &chart.File{Name: f.Name, Data: original})
		default:
			files.more = append(files.more, f)
		}
	}
	return files, nil
}

// changedVersions returns the versions of ch that are not those of its Chart.yaml. The others are empty.
func changedVersions(ch *chart.Chart) (version, appVersion string, err error) {
	var loaded chart.Metadata
	for _, f := range ch.Raw {
		if f.Name == chartutil.ChartfileName {
			err = errors.Join(yaml.Unmarshal(f.Data, &loaded), loaded.Validate()) // Validate replaces characters, as Helm's loader does
		}
	}
	if ch.Metadata.Version != loaded.Version {
		version = ch.Metadata.Version
	}
	if ch.Metadata.AppVersion != loaded.AppVersion {
		appVersion = ch.Metadata.AppVersion
	}
	return version, appVersion, err
}

// helmChartYAML returns the Chart.yaml that Helm packs for ch. For a chart of apiVersion
// v1, it does not contain the dependencies, which are in requirements.yaml.
func helmChartYAML(ch *chart.Chart) ([]byte, error) {
	metadata := *ch.Metadata
	if metadata.APIVersion == chart.APIVersionV1 {
		metadata.Dependencies = nil
	}
	return yaml.Marshal(&metadata)
}

// rewriteArchive copies an archive that Helm has packed to out. It replaces each Chart.yaml
// with the complete one in charts, which must have the order of the archive, and adds the
// files that Helm does not pack. If a chart in charts has all files, it omits those in the archive.
func rewriteArchive(out io.Writer, packed []byte, charts []completeFiles) error {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	zipper := gzip.NewWriter(out)
	zipper.Header = in.Header
	r, w := tar.NewReader(in), tar.NewWriter(zipper)
	replaced := "" // the directory of a chart that is packed with all files, with a slash
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch isNext := len(charts) > 0 && header.Name == charts[0].path; {
		case isNext:
			if replaced, err = charts[0].write(w, header); err != nil {
				return err
			}
			charts = charts[1:]
		case replaced == "" || !strings.HasPrefix(header.Name, replaced):
			if err := copyEntry(w, header, r); err != nil {
				return err
			}
		}
	}
	if len(charts) > 0 {
		return fmt.Errorf("%s is not in the archive", charts[0].path)
	}
	return errors.Join(w.Close(), zipper.Close())
}

// write writes the files to the archive w. It copies everything except the name and size
// from header, which is the header of the incomplete Chart.yaml. If it has written all files of the
// chart, it returns the directory of the chart, with a slash.
func (c completeFiles) write(w *tar.Writer, header *tar.Header) (replaced string, err error) {
	folder := path.Dir(c.path) + "/"
	for _, f := range append([]*chart.File{{Name: chartutil.ChartfileName, Data: c.chartYAML}}, c.more...) {
		if err := writeEntry(w, header, folder+f.Name, f.Data); err != nil {
			return "", err
		}
	}
	if !c.all {
		folder = ""
	}
	return folder, nil
}

// copyEntry copies an entry of an archive, whose content is read from r, to the archive w.
func copyEntry(w *tar.Writer, header *tar.Header, r io.Reader) error {
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(w, r)
	return err
}

// writeEntry writes a file to the archive w. It copies everything except the name and size
// from the header original.
func writeEntry(w *tar.Writer, original *tar.Header, name string, data []byte) error {
	header := *original
	header.Name, header.Size = name, int64(len(data))
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}
