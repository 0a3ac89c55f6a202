// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/provenance"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/testutil/chartpack"
)

// Created is the creation time of every published chart, as in the index.
var Created = chartpack.Created

// Load is a function that loads the chart in a directory.
type Load func(folder string) (*chart.Chart, error)

// Publish packages chart directories into a directory, and writes the index of the repository
// there. The index contains the metadata that load returns, and relative URLs. The files are
// identical for identical charts.
func Publish(load Load, folder string, charts ...string) error {
	index := repo.NewIndexFile()
	index.Generated = Created
	for _, source := range charts {
		if err := publish(load, index, folder, source); err != nil {
			return fmt.Errorf("publish %s: %w", source, err)
		}
	}
	index.SortEntries()
	return index.WriteFile(filepath.Join(folder, "index.yaml"), 0o644)
}

func publish(load Load, index *repo.IndexFile, folder, source string) error {
	chart, err := load(source)
	if err != nil {
		return err
	}
	archive, err := Pack(source)
	if err != nil {
		return err
	}
	name := chart.Name() + "-" + chart.Metadata.Version + ".tgz"
	if err := os.WriteFile(filepath.Join(folder, name), archive, 0o644); err != nil {
		return err
	}
	digest, err := provenance.Digest(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	if err := index.MustAdd(chart.Metadata, name, "", digest); err != nil {
		return err
	}
	versions := index.Entries[chart.Name()]
	versions[len(versions)-1].Created = Created
	return nil
}

// Pack returns an archive of the chart in a directory, with all files unchanged and without
// checking the chart. The archive is identical for an identical directory.
func Pack(source string) ([]byte, error) { return chartpack.Pack(source) }
