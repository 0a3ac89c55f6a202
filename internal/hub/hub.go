// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hub searches for charts in a hub, for helm search hub. It uses the search API of
// Monocular, which Artifact Hub also supports.
package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
)

// searchPath is the path of the API below the address of a hub.
const searchPath = "api/chartsvc/v1/charts/search"

// maxAnswer limits the size of the response to a search, in bytes.
const maxAnswer = 64 << 20

// ErrNoHost reports that the address of a hub contains no host.
var ErrNoHost = errors.New("no hostname provided")

// Result is a chart that a search has found, in the form of the API.
type Result struct {
	// ID identifies the chart. It consists of the repository and the name.
	ID          string `json:"id"`
	ArtifactHub struct {
		// PackageURL is the web page of the chart. Only Artifact Hub sets it.
		PackageURL string `json:"packageUrl"`
	} `json:"artifactHub"`
	Attributes struct {
		Description string `json:"description"`
		Repo        struct {
			Name string `json:"name"`
			URL  string `json:"url"`
		} `json:"repo"`
	} `json:"attributes"`
	Relationships struct {
		LatestChartVersion struct {
			Data struct {
				Version    string `json:"version"`
				AppVersion string `json:"app_version"`
			} `json:"data"`
		} `json:"latestChartVersion"`
	} `json:"relationships"`
}

// Client sends searches to one hub.
type Client struct {
	address   *url.URL
	userAgent string
}

// New returns a client for the hub at this address. If the address is invalid, it returns
// ErrNoHost or an error of package net/url.
func New(address, userAgent string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Hostname() == "" {
		return nil, ErrNoHost
	}
	return &Client{address: u, userAgent: userAgent}, nil
}

// Search returns the charts that match the query, in the order in which the hub returns
// them.
func (c *Client) Search(ctx context.Context, query string) ([]Result, error) {
	address := *c.address
	address.Path = path.Join(address.Path, searchPath)
	address.RawQuery = url.Values{"q": {query}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", c.userAgent)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("failed to fetch %s : %s", address.Redacted(), response.Status)
	}
	found, err := decode(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s did not return search results: %w", address.Redacted(), err)
	}
	return found, nil
}

// decode decodes a response. A field whose type differs from that in Result remains empty,
// because not all hubs use the same types.
func decode(body io.Reader) ([]Result, error) {
	var answer struct {
		Data []Result `json:"data"`
	}
	err := json.NewDecoder(body).Decode(&answer)
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mismatch {
		return nil, err
	}
	return answer.Data, nil
}
