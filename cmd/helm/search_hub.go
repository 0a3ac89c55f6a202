// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/hub"
)

const searchHubHelp = `
Search for charts on the Artifact Hub (https://artifacthub.io), or on another hub with
the same search API.

    $ helm search hub postgres
    $ helm search hub postgres --max-col-width 0 --list-repo-url
    $ helm search hub postgres --endpoint https://hub.example.com

To install one of the charts, add its repository. --list-repo-url prints its URL.
`

const defaultHub = "https://hub.helm.sh"

// searchHubInput holds the flags of "search hub".
type searchHubInput struct {
	endpoint     string
	repositories bool
	output       searchOutputFlags
}

func newSearchHubCmd(a *app) *cobra.Command {
	var in searchHubInput
	cmd := &cobra.Command{
		Use:   "hub [KEYWORD]",
		Short: "search a hub for charts",
		Long:  searchHubHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.searchHub(cmd.Context(), &in, keywords(args))
		},
	}
	cmd.Flags().StringVar(&in.endpoint, "endpoint", defaultHub, "URL of the hub")
	cmd.Flags().BoolVar(&in.repositories, "list-repo-url", false, "print the URL of the repository of each chart")
	in.output.addFlags(cmd)
	return cmd
}

func (a *app) searchHub(ctx context.Context, in *searchHubInput, query string) error {
	userAgent := "Helm/" + strings.TrimPrefix(chartutil.DefaultCapabilities.HelmVersion.Version, "v")
	client, err := hub.New(in.endpoint, userAgent)
	if err != nil {
		return fmt.Errorf("unable to create connection to %q: %w", in.endpoint, err)
	}
	results, err := client.Search(ctx, query)
	if err != nil {
		a.debugf("%s", err)
		return fmt.Errorf("unable to perform search against %q", in.endpoint)
	}
	return in.output.print(a.out, newHubRows(in, results))
}

// hubRow is what "search hub" prints about one chart.
type hubRow struct {
	URL         string        `json:"url"`
	Version     string        `json:"version"`
	AppVersion  string        `json:"app_version"`
	Description string        `json:"description"`
	Repository  hubRepository `json:"repository"`
}

type hubRepository struct {
	URL  string `json:"url"`
	Name string `json:"name"`
}

func newHubRows(in *searchHubInput, results []hub.Result) *searchResult {
	rows := make([]hubRow, 0, len(results))
	result := &searchResult{heading: []any{"URL", "CHART VERSION", "APP VERSION", "DESCRIPTION"}}
	if in.repositories {
		result.heading = append(result.heading, "REPO URL")
	}
	for i := range results {
		r := &results[i]
		latest := r.Relationships.LatestChartVersion.Data
		row := hubRow{
			URL: r.ArtifactHub.PackageURL, Version: latest.Version, AppVersion: latest.AppVersion,
			Description: r.Attributes.Description,
			Repository:  hubRepository{URL: r.Attributes.Repo.URL, Name: r.Attributes.Repo.Name},
		}
		if row.URL == "" { // this is not an Artifact Hub
			row.URL = in.endpoint + "/charts/" + r.ID
		}
		rows = append(rows, row)
		cells := []any{row.URL, row.Version, row.AppVersion, row.Description}
		if in.repositories {
			cells = append(cells, row.Repository.URL)
		}
		result.cells = append(result.cells, cells)
	}
	result.rows = rows
	return result
}
