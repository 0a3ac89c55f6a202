// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/repo"
)

func TestCompleteUpTo(t *testing.T) {
	two := completeUpTo(2, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return []cobra.Completion{"choice"}, cobra.ShellCompDirectiveNoSpace
	})
	for _, tt := range []struct {
		name string
		args []string
		want bool
	}{{"first", nil, true}, {"second", []string{"a"}, true}, {"third", []string{"a", "b"}, false}} {
		t.Run(tt.name, func(t *testing.T) {
			choices, directive := two(nil, tt.args, "")
			if got := slices.Contains(choices, "choice"); got != tt.want {
				t.Errorf("choices are %q", choices)
			}
			if tt.want != (directive == cobra.ShellCompDirectiveNoSpace) {
				t.Errorf("directive is %d", directive)
			}
		})
	}
}

// newRepositoriesApp returns an app with several configured chart repositories. One of them
// has an index in the cache, and one entry of the repository file is empty.
func newRepositoriesApp(t *testing.T) *app {
	t.Helper()
	directory := t.TempDir()
	settings := cli.New()
	settings.RepositoryConfig = filepath.Join(directory, "repositories.yaml")
	settings.RepositoryCache = directory
	for name, text := range map[string]string{
		"repositories.yaml": "repositories:\n- name: shop\n  url: https://shop.example\n-\n- name: shoes\n  url: https://shoes.example\n",
		"shop-index.yaml":   "apiVersion: v1\nentries:\n  web:\n  - name: web\n    version: 1.0.0\n  api:\n  - name: api\n    version: 1.0.0\n",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &app{settings: settings}
}

func TestCompleteCharts(t *testing.T) {
	a := newRepositoriesApp(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir("shopping", 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, word string
		remote     []string
		files      []string
	}{
		{"nothing yet", "", []string{"shop/", "shoes/", "oci://", "https://", "http://", "file://"}, []string{"./", "/"}},
		{"repository", "sho", []string{"shop/", "shoes/"}, []string{"shopping"}},
		{"charts, sorted", "shop/", []string{"shop/api", "shop/web"}, nil},
		{"repository without a cache", "shoes/", nil, nil},
		{"scheme", "http", []string{"https://", "http://"}, nil},
		{"path", "./", nil, nil},
	}
	names := func(choices []cobra.Completion) []string {
		var words []string
		for _, choice := range choices {
			word, _, _ := strings.Cut(choice, "\t")
			words = append(words, word)
		}
		return words
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			choices, directive := a.completeRemoteChart(nil, nil, tt.word)
			if got := names(choices); !slices.Equal(got, tt.remote) {
				t.Errorf("remote charts are %q, want %q", got, tt.remote)
			}
			if directive&cobra.ShellCompDirectiveNoFileComp == 0 {
				t.Error("the shell would offer files")
			}
			choices, _ = a.completeChartOrFile(nil, nil, tt.word)
			if got, want := names(choices), slices.Concat(tt.remote, tt.files); !slices.Equal(got, want) {
				t.Errorf("charts are %q, want %q", got, want)
			}
		})
	}
}

func TestDescribeVersion(t *testing.T) {
	created := time.Date(2020, time.February, 3, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		version repo.ChartVersion
		want    string
	}{
		{"all", repo.ChartVersion{Metadata: &chart.Metadata{AppVersion: "4", Deprecated: true}, Created: created}, "App: 4, Created: February 3, 2020 (deprecated)"},
		{"bare", repo.ChartVersion{Metadata: &chart.Metadata{}, Created: created}, "Created: February 3, 2020 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := describeVersion(&tt.version); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReadGlobalFlags(t *testing.T) {
	for _, tt := range []struct {
		name  string
		words []string
		want  string
	}{
		{"long", []string{"status", "--namespace", "shop", ""}, "shop"},
		{"short, among others", []string{"status", "--revision", "3", "-o", "json", "-n", "shop", ""}, "shop"},
		{"none", []string{"status", ""}, "default"},
		{"without its value", []string{"status", "-n"}, "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			namespace := flags.StringP("namespace", "n", "default", "")
			readGlobalFlags(flags, tt.words)
			if *namespace != tt.want {
				t.Errorf("namespace is %q, want %q", *namespace, tt.want)
			}
			groups := flags.StringArray("group", nil, "")
			readGlobalFlags(flags, []string{"--group", "a", "--group", "b"})
			if !slices.Equal(*groups, []string{"a", "b"}) {
				t.Errorf("groups are %q", *groups)
			}
			if err := flags.Parse([]string{"--group", "c", "--group", "d"}); err != nil || !slices.Equal(*groups, []string{"c", "d"}) {
				t.Errorf("groups are %q, %v", *groups, err)
			}
			if err := flags.Parse([]string{"--unknown"}); err == nil {
				t.Error("unknown flags are still taken")
			}
		})
	}
}
