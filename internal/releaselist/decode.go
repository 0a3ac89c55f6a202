// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
	"github.com/ordered-helm/helm/internal/placeholder"
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

// decode returns what a list shows of a stored release. It accepts all releases that Helm's
// storage drivers accept, except those without info, for which Helm's action List fails.
func decode(d *releasestorage.Decoder, stored []byte) (*release.Release, error) {
	text, err := d.Text(stored)
	if err != nil {
		return nil, err
	}
	rel, err := readSummary(text)
	if err != nil || !placeholder.IsListed(rel) {
		return rel, err
	}
	complete := &release.Release{} // a placeholder is small
	if err := json.Unmarshal(text, complete); err != nil {
		return rel, nil //nolint:nilerr // the values of a chart with the annotation of a placeholder need not be valid
	}
	if listed := chunkedsecret.Listed(complete); listed != complete {
		return listed, nil
	}
	return rel, nil
}
