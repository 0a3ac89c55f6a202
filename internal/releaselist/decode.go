// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releasestorage"
)

// decodeAll decodes the stored releases and returns those that the filter accepts, in the same
// order. Like Helm's storage drivers, it omits and logs releases that cannot be decoded. Unlike
// them, it does not log their contents, which can be confidential.
func decodeAll(stored []storedRelease, filter func(*release.Release) bool, log func(string, ...any)) []*release.Release {
	releases, errs := make([]*release.Release, len(stored)), make([]error, len(stored))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(stored)) {
		workers.Go(func() {
			var d releasestorage.Decoder
			for i := int(next.Add(1)) - 1; i < len(stored); i = int(next.Add(1)) - 1 {
				if releases[i], errs[i] = decode(&d, stored[i].encoded); errs[i] == nil {
					releases[i].Labels = stored[i].labels
				}
			}
		})
	}
	workers.Wait()
	var accepted []*release.Release
	for i, rel := range releases {
		if errs[i] != nil {
			log("list: failed to decode release %s/%s: %s", stored[i].namespace, stored[i].name, errs[i])
		} else if filter(rel) {
			accepted = append(accepted, rel)
		}
	}
	return accepted
}

// errNoInfo is the error for a stored release that does not say which status it has.
var errNoInfo = errors.New("the release has no info")

// decode returns what a list shows of a stored release. It accepts the same releases as Helm's
// storage drivers, except those without info, for which Helm's action List fails.
func decode(d *releasestorage.Decoder, stored []byte) (*release.Release, error) {
	text, err := d.Text(stored)
	if err != nil {
		return nil, err
	}
	rel, ok := readSummary(text)
	if !ok {
		var whole release.Release
		if err := json.Unmarshal(text, &whole); err != nil {
			return nil, err
		}
		rel = summaryOf(&whole)
	}
	if rel.Info == nil {
		return nil, errNoInfo
	}
	return rel, nil
}

// summaryOf returns a release with only those fields of rel that readSummary reads.
func summaryOf(rel *release.Release) *release.Release {
	summary := &release.Release{Name: rel.Name, Info: rel.Info, Version: rel.Version, Namespace: rel.Namespace}
	if rel.Chart != nil {
		summary.Chart = &chart.Chart{Metadata: rel.Chart.Metadata}
	}
	return summary
}
