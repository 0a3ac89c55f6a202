// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/indexbuilder"
)

const repoIndexHelp = `
Create the index of a chart repository: read the packages (*.tgz) in a directory and in
its immediate subdirectories, and write "index.yaml" to the directory. Any HTTP server
can then serve the directory as a chart repository.

    $ helm package ./shop --destination charts
    $ helm repo index charts --url https://example.com/charts

Without --url the URLs of packages are relative to the index. With --merge the entries
of another index are included; the packages in the directory take precedence.

A package that cannot be loaded as a chart is omitted with a warning.
`

// repoIndexInput holds the argument and the flags of "repo index".
type repoIndexInput struct {
	directory, url, merge string
	json                  bool
}

func newRepoIndexCmd(a *app) *cobra.Command {
	var in repoIndexInput
	cmd := &cobra.Command{
		Use:               "index [DIR]",
		Short:             "create the index of a directory of packages",
		Long:              repoIndexHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: completeFile(),
		RunE: func(_ *cobra.Command, args []string) error {
			in.directory = args[0]
			return a.indexDirectory(&in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.url, "url", "", "URL of the repository")
	f.StringVar(&in.merge, "merge", "", "index whose entries are included; created if it does not exist")
	f.BoolVar(&in.json, "json", false, "write JSON; the name of the file stays the same")
	return cmd
}

func (a *app) indexDirectory(in *repoIndexInput) error {
	directory, err := filepath.Abs(in.directory)
	if err != nil {
		return err
	}
	index, skipped, err := indexbuilder.FromDirectory(directory, in.url)
	if err != nil {
		return err
	}
	for _, s := range skipped {
		a.warnf("%s is omitted from the index, because it cannot be loaded as a chart: %v", s.Path, s.Reason)
	}
	if in.merge != "" {
		other, err := a.indexToMerge(in)
		if err != nil {
			return err
		}
		index.Merge(other)
	}
	index.SortEntries()
	return in.write(index, filepath.Join(directory, "index.yaml"))
}

// indexToMerge reads the index file that --merge names. If the file does not exist,
// indexToMerge creates it with an empty index.
func (a *app) indexToMerge(in *repoIndexInput) (*repo.IndexFile, error) {
	if _, err := os.Stat(in.merge); errors.Is(err, fs.ErrNotExist) {
		empty := repo.NewIndexFile()
		if err := in.write(empty, in.merge); err != nil {
			a.warnf("there is no index to merge, and creating an empty one failed: %v", err)
		}
		return empty, nil
	}
	index, err := repo.LoadIndexFile(in.merge)
	if err != nil {
		return nil, fmt.Errorf("merge failed: %w", err)
	}
	return index, nil
}

func (in *repoIndexInput) write(index *repo.IndexFile, path string) error {
	if in.json {
		return index.WriteJSONFile(path, 0o644)
	}
	return index.WriteFile(path, 0o644)
}
