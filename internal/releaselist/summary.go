// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"errors"

	// It skips values several times faster than encoding/json, and is part of Go 1.27.
	json "github.com/go-json-experiment/json/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// summary contains the fields of release.Release that a list shows.
type summary struct {
	Name  string        `json:"name"`
	Info  *release.Info `json:"info"`
	Chart *struct {
		Metadata *chart.Metadata `json:"metadata"`
	} `json:"chart"`
	Version   int    `json:"version"`
	Namespace string `json:"namespace"`
}

// errNoInfo is the error for a stored release that does not say which status it has.
var errNoInfo = errors.New("the release has no info")

// readSummary reads the fields of a release that a list shows from its JSON text. Of the other
// fields, it only checks that they are valid JSON.
func readSummary(text []byte) (*release.Release, error) {
	var s summary
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if s.Info == nil {
		return nil, errNoInfo
	}
	rel := &release.Release{Name: s.Name, Info: s.Info, Version: s.Version, Namespace: s.Namespace}
	if s.Chart != nil {
		rel.Chart = &chart.Chart{Metadata: s.Chart.Metadata}
	}
	return rel, nil
}
