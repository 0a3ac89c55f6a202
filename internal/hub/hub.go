// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hub searches a chart hub by the search API that Monocular introduced
// and Artifact Hub offers too.
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

// searchPath is where the API is found below a hub's address.
const searchPath = "api/chartsvc/v1/charts/search"

// maxAnswer is how many bytes an answer may have.
const maxAnswer = 64 << 20

// ErrNoHost is that a hub's address names no host.
var ErrNoHost = errors.New("no hostname provided")

// Result is a chart that a hub found, as the API describes it.
type Result struct {
	// ID is what the hub calls the chart: its repository and name.
	ID          string `json:"id"`
	ArtifactHub struct {
		// PackageURL is the page of the chart, if the hub is Artifact Hub.
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

// Client searches one hub.
type Client struct {
	address   *url.URL
	userAgent string
}

// New returns a client of the hub at an address. It fails, with ErrNoHost or an
// error of package url, if there can be no hub.
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

// Search returns the charts that match a keyword or query, in the hub's order.
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

// decode reads an answer. What is of another type than it should be is left
// empty, as hubs differ.
func decode(body io.Reader) ([]Result, error) {
	var answer struct {
		Data []Result `json:"data"`
	}
	var mismatch *json.UnmarshalTypeError
	if err := json.NewDecoder(body).Decode(&answer); err != nil && !errors.As(err, &mismatch) {
		return nil, err
	}
	return answer.Data, nil
}
