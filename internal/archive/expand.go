// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// directoryMode and fileMode are the modes of the directories and files that this package
// creates, before the umask is applied.
const (
	directoryMode = 0o755
	fileMode      = 0o644
)

// Expand unpacks the chart archive that it reads from in. It creates a subdirectory of dir
// with the name of the chart, and writes nothing outside this subdirectory. Charts of the format
// helm.sh/v3 are restored as they were written. If a file or directory with this name exists, it
// returns an *ExistsError. After any other error, it removes the subdirectory.
func Expand(dir string, in io.Reader) error {
	files, err := chartloader.LoadArchiveFiles(in)
	if err != nil {
		return err
	}
	name, err := chartName(files)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = expandInto(root, name, files)
	return errors.Join(err, root.Close())
}

// ExpandFile is like Expand, but reads the chart archive from the file at archivePath.
func ExpandFile(dir, archivePath string) error {
	in, err := os.Open(archivePath)
	if err != nil {
		return err
	}
	err = Expand(dir, in)
	return errors.Join(err, in.Close())
}

// ExistsError reports that the directory into which a chart should be unpacked already
// exists.
type ExistsError struct{ Name string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("a file or directory with the name %s already exists", e.Name)
}

func expandInto(root *os.Root, name string, files []*chartloader.BufferedFile) error {
	if err := root.Mkdir(name, directoryMode); errors.Is(err, fs.ErrExist) {
		return &ExistsError{name}
	} else if err != nil {
		return err
	}
	chart, err := root.OpenRoot(name)
	if err == nil {
		err = errors.Join(writeFiles(chart, chartloader.AsWritten(files)), chart.Close())
	}
	if err != nil {
		return errors.Join(err, root.RemoveAll(name))
	}
	return nil
}

func writeFiles(root *os.Root, files []*chartloader.BufferedFile) error {
	for _, f := range files {
		if err := writeFile(root, f); err != nil {
			return fmt.Errorf("cannot unpack %s: %w", f.Name, err)
		}
	}
	return nil
}

func writeFile(root *os.Root, f *chartloader.BufferedFile) error {
	if err := root.MkdirAll(path.Dir(f.Name), directoryMode); err != nil {
		return err
	}
	return root.WriteFile(f.Name, f.Data, fileMode)
}

// chartName returns the name in the Chart.yaml of an archive. Unlike Helm, it decodes no
// other field, because other fields may have values that Helm's types do not support.
func chartName(files []*chartloader.BufferedFile) (string, error) {
	var chart struct {
		Name string `json:"name"`
	}
	i := slices.IndexFunc(files, func(f *chartloader.BufferedFile) bool { return f.Name == chartutil.ChartfileName })
	switch {
	case i < 0:
	case chartformat.IsV3(files[i].Data): // another tool has packed the chart
		chart.Name = chartformat.Name(files[i].Data)
	default:
		if err := yaml.Unmarshal(files[i].Data, &chart); err != nil {
			return "", fmt.Errorf("cannot load Chart.yaml: %w", err)
		}
	}
	switch name := chart.Name; {
	case name == "":
		return "", errors.New("chart name not specified")
	case name == "." || name == "..":
		return "", fmt.Errorf("chart name %q is not allowed", name)
	case name != filepath.Base(name):
		return "", fmt.Errorf("chart name %q must not contain path separators", name)
	default:
		return name, nil
	}
}
