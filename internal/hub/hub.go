// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hub searches for charts in a hub, such as Artifact Hub, for helm search hub. It uses
// the search API of Monocular, which Artifact Hub supports too.
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

// searchPath is the path of the search API, relative to the address of a hub.
const searchPath = "api/chartsvc/v1/charts/search"

// maxResponse is the maximum size of the response to a search, in bytes.
const maxResponse = 64 << 20

// ErrNoHost reports that the address of a hub contains no host.
var ErrNoHost = errors.New("no hostname provided")

// Result describes a chart that a search has found, in the JSON format of the API.
type Result struct {
	// ID identifies the chart in the hub. It has the form "repository/name".
	ID          string `json:"id"`
	ArtifactHub struct {
		// PackageURL is the URL of the web page about the chart. Only Artifact Hub sets
		// it.
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

// Client searches in one hub.
type Client struct {
	address   *url.URL
	userAgent string
}

// New returns a Client for the hub at address, which is a URL. userAgent is the User-Agent
// header of its requests. If address is invalid, New returns ErrNoHost or an error of
// package net/url.
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

// Search returns the charts that match the query, in the order of the response.
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
	found, err := decode(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return nil, fmt.Errorf("%s did not return search results: %w", address.Redacted(), err)
	}
	return found, nil
}

// decode decodes the body of a response. Because hubs use different types for some fields, a
// field that does not have the type in Result is not an error and remains empty.
func decode(body io.Reader) ([]Result, error) {
	var response struct {
		Data []Result `json:"data"`
	}
	err := json.NewDecoder(body).Decode(&response)
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mismatch {
		return nil, err
	}
	return response.Data, nil
}
