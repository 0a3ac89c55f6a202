// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/helmpath"
	"helm.sh/helm/v3/pkg/repo"
)

// completeRepositories suggests the configured chart repositories that are not yet among the
// arguments.
func (a *app) completeRepositories(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var choices []cobra.Completion
	for _, entry := range a.knownRepositories() {
		if !slices.Contains(args, entry.Name) {
			choices = append(choices, cobra.CompletionWithDesc(entry.Name, entry.URL))
		}
	}
	return choices, cobra.ShellCompDirectiveNoFileComp
}

// knownRepositories returns the configured chart repositories, or none if the repository file
// cannot be read.
func (a *app) knownRepositories() []*repo.Entry {
	file, err := a.repositories()
	if err != nil {
		return nil
	}
	return file.Repositories
}

// completeChartOrFile suggests charts in repositories, and files and directories in the
// current directory, which can also be charts.
func (a *app) completeChartOrFile(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	choices, directive := a.remoteCharts(word)
	if word == "" {
		// Listing all files would be too much. "./" and "/" show that paths are accepted too.
		return append(choices,
			cobra.CompletionWithDesc("./", "Relative path prefix to local chart"),
			cobra.CompletionWithDesc("/", "Absolute path prefix to local chart")), directive
	}
	if len(choices) > 0 { // without suggestions, the shell itself completes files
		choices = append(choices, filesWithPrefix(word)...)
	}
	return choices, directive
}

// completeChartOrRelease suggests releases and, unless releaseOnly is true, charts.
func (a *app) completeChartOrRelease(cmd *cobra.Command, args []string, word string, releaseOnly bool) ([]cobra.Completion, cobra.ShellCompDirective) {
	releases, directive := a.completeReleases(cmd, args, word)
	if releaseOnly {
		return releases, directive
	}
	charts, directive := a.completeChartOrFile(cmd, args, word)
	return append(releases, charts...), directive
}

// chartPosition returns the index of the chart among the arguments. Without
// --generate-name, the name of the release comes first.
func (in *installActionInput) chartPosition() int {
	if in.client.GenerateName {
		return 0
	}
	return 1
}

// completeChart suggests charts for the argument at chartPosition. For the name of the
// release, which the user chooses, it suggests nothing.
func (in *installActionInput) completeChart(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != in.chartPosition() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return in.app.completeChartOrFile(cmd, args, word)
}

// completeRemoteChart suggests charts in repositories and URL schemes, but no files.
func (a *app) completeRemoteChart(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	choices, directive := a.remoteCharts(word)
	return choices, directive | cobra.ShellCompDirectiveNoFileComp
}

// remoteCharts returns the chart references that begin with word. If word begins with the name
// of a repository and a slash, these are the charts of that repository; otherwise, they are
// the beginnings of references: repositories and URL schemes.
func (a *app) remoteCharts(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var choices []cobra.Completion
	directive := cobra.ShellCompDirectiveDefault
	for _, entry := range a.knownRepositories() {
		prefix := entry.Name + "/"
		if strings.HasPrefix(word, prefix) {
			choices = append(choices, a.chartsOf(entry.Name)...)
			directive = cobra.ShellCompDirectiveDefault
			break
		}
		if strings.HasPrefix(entry.Name, word) {
			choices = append(choices, cobra.CompletionWithDesc(prefix, entry.URL))
			directive = cobra.ShellCompDirectiveNoSpace
		}
	}
	for _, scheme := range []struct{ prefix, meaning string }{
		{"oci://", "Chart OCI prefix"},
		{"https://", "Chart URL prefix"},
		{"http://", "Chart URL prefix"},
		{"file://", "Chart local URL prefix"},
	} {
		if strings.HasPrefix(scheme.prefix, word) {
			choices = append(choices, cobra.CompletionWithDesc(scheme.prefix, scheme.meaning))
			directive |= cobra.ShellCompDirectiveNoSpace
		}
	}
	return choices, directive
}

// chartsOf returns the charts of a repository, sorted. It reads the cached list of chart
// names, which is stored for shell completion, or else the cached index, which takes longer.
func (a *app) chartsOf(repository string) []cobra.Completion {
	names, err := os.ReadFile(filepath.Join(a.settings.RepositoryCache, helmpath.CacheChartsFile(repository)))
	var charts []cobra.Completion
	switch {
	case err == nil:
		for lines := bufio.NewScanner(bytes.NewReader(names)); lines.Scan(); {
			charts = append(charts, repository+"/"+lines.Text())
		}
	case errors.Is(err, fs.ErrNotExist):
		for name := range a.cachedIndex(repository).Entries {
			charts = append(charts, repository+"/"+name)
		}
	}
	slices.Sort(charts)
	return charts
}

// cachedIndex returns the cached index of a repository, or an empty index if it cannot be
// read.
func (a *app) cachedIndex(repository string) *repo.IndexFile {
	index, err := repo.LoadIndexFile(filepath.Join(a.settings.RepositoryCache, helmpath.CacheIndexFile(repository)))
	if err != nil {
		return new(repo.IndexFile)
	}
	return index
}

// filesWithPrefix returns the files and directories in the current directory whose names
// begin with word.
func filesWithPrefix(word string) []cobra.Completion {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil
	}
	var names []cobra.Completion
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), word) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// completeVersionOf returns a completionFunc that suggests values for the flag --version: the
// versions of the chart in the arguments. position returns the index of the chart, which must
// be the last argument of the command.
func (a *app) completeVersionOf(position func() int) completionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if i := position(); len(args) == i+1 {
			return a.chartVersions(args[i]), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// chartVersions returns the versions of the chart that reference names. It returns none if
// reference does not have the form repository/name.
func (a *app) chartVersions(reference string) []cobra.Completion {
	repository, name, ok := strings.Cut(reference, "/")
	if !ok || strings.Contains(name, "/") {
		return nil
	}
	var versions []cobra.Completion
	for _, v := range a.cachedIndex(repository).Entries[name] {
		versions = append(versions, cobra.CompletionWithDesc(v.Version, describeVersion(v)))
	}
	return versions
}

func describeVersion(v *repo.ChartVersion) string {
	var text strings.Builder
	if v.AppVersion != "" {
		fmt.Fprintf(&text, "App: %s, ", v.AppVersion)
	}
	fmt.Fprintf(&text, "Created: %s ", v.Created.Format("January 2, 2006"))
	if v.Deprecated {
		text.WriteString("(deprecated)")
	}
	return text.String()
}
