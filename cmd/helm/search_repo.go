// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/search"
	"helm.sh/helm/v3/pkg/helmpath"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/library"
)

const searchRepoHelp = `
Search the configured repositories for charts whose name, description or keywords contain
a keyword. The search uses the indexes that the last "helm repo add" or "helm repo
update" downloaded.

The latest stable version of each chart is listed; --devel allows development versions,
--version selects a range, and --versions lists all versions. --exclude-libraries leaves out
charts of the type library, which cannot be installed.

    $ helm search repo                           every chart
    $ helm search repo postgres --devel
    $ helm search repo postgres --version '^1.0.0' --versions
    $ helm search repo postgres --exclude-libraries
    $ helm search repo --regexp '^example/p.*'
`

// maxScore is the highest score of charts that are printed. Charts with lower scores match the
// keyword better.
const maxScore = 25

// searchRepoInput holds the flags of "search repo".
type searchRepoInput struct {
	regexp, versions, devel, excludeLibraries bool
	version                                   string
	output                                    searchOutputFlags
}

func newSearchRepoCmd(a *app) *cobra.Command {
	var in searchRepoInput
	cmd := &cobra.Command{
		Use:   "repo [keyword]",
		Short: "search the configured repositories for charts",
		Long:  searchRepoHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.searchRepositories(&in, args)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&in.regexp, "regexp", "r", false, "the keyword is a regular expression")
	f.BoolVarP(&in.versions, "versions", "l", false, "list every version of each chart, one per line")
	f.BoolVar(&in.devel, "devel", false, "list development versions, like --version '>0.0.0-0'; --version takes precedence")
	f.StringVar(&in.version, "version", "", "range of versions to list, such as ^2.0.0")
	f.BoolVar(&in.excludeLibraries, "exclude-libraries", false, "[not in stock Helm] leave out charts of the type library")
	in.output.addFlags(cmd)
	return cmd
}

func (a *app) searchRepositories(in *searchRepoInput, args []string) error {
	a.debugf("Original chart version: %q", in.version)
	if in.version == "" {
		in.version = ">0.0.0"
		if in.devel {
			in.version = ">0.0.0-0"
		}
		a.debugf("setting version to %s", in.version)
	}
	index, err := a.searchIndex()
	if err != nil {
		return err
	}
	results := index.All()
	if len(args) > 0 {
		if results, err = index.Search(keywords(args), maxScore, in.regexp); err != nil {
			return err
		}
	}
	search.SortScore(results)
	if in.excludeLibraries {
		results = slices.DeleteFunc(results, func(r *search.Result) bool { return r.Chart.Type == library.TypeLibrary })
	}
	results, err = withinRange(results, in.version, in.versions)
	if err != nil {
		return err
	}
	return in.output.print(a.out, newChartRows(results))
}

// searchIndex returns a search index of all versions of all charts in the configured
// repositories. It reads the cached index files of the repositories.
func (a *app) searchIndex() (*search.Index, error) {
	file, err := a.repositories()
	if errors.Is(err, fs.ErrNotExist) || len(file.Repositories) == 0 {
		return nil, errors.New("no repositories configured")
	}
	index := search.NewIndex()
	for _, entry := range file.Repositories {
		cached, err := repo.LoadIndexFile(filepath.Join(a.settings.RepositoryCache, helmpath.CacheIndexFile(entry.Name)))
		if err != nil {
			a.warnf("Repo %q is corrupt or missing. Try 'helm repo update'.", entry.Name)
			a.warnf("%s", err)
			continue
		}
		index.AddRepo(entry.Name, cached, true)
	}
	return index, nil
}

// withinRange returns the results whose versions are in a range, such as "^1.0.0". If all is
// false, it returns only the first of them for each chart.
func withinRange(results []*search.Result, versions string, all bool) ([]*search.Result, error) {
	constraint, err := semver.NewConstraint(versions)
	if err != nil {
		return nil, fmt.Errorf("an invalid version/constraint format: %w", err)
	}
	var within []*search.Result
	seen := make(map[string]bool)
	for _, r := range results {
		if seen[r.Name] && !all {
			continue
		}
		version, err := semver.NewVersion(r.Chart.Version)
		if err != nil || !constraint.Check(version) {
			continue
		}
		within = append(within, r)
		seen[r.Name] = true
	}
	return within, nil
}

// chartRow is what "search repo" prints about one version of a chart.
type chartRow struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	AppVersion  string `json:"app_version"`
	Description string `json:"description"`
}

func newChartRows(results []*search.Result) *searchResult {
	rows := make([]chartRow, 0, len(results))
	result := &searchResult{heading: []any{"NAME", "CHART VERSION", "APP VERSION", "DESCRIPTION"}}
	for _, r := range results {
		row := chartRow{Name: r.Name, Version: r.Chart.Version, AppVersion: r.Chart.AppVersion, Description: r.Chart.Description}
		rows = append(rows, row)
		result.cells = append(result.cells, []any{row.Name, row.Version, row.AppVersion, row.Description})
	}
	result.rows = rows
	return result
}
