// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// expectAsHelm checks that readSummary reads the same values as Helm from a text that Helm
// accepts.
func expectAsHelm(t *testing.T, text []byte) {
	t.Helper()
	var whole release.Release
	if err := json.Unmarshal(text, &whole); err != nil {
		return
	}
	got, err := readSummary(text)
	if whole.Info == nil {
		if !errors.Is(err, errNoInfo) {
			t.Errorf("got %+v, %v", got, err)
		}
		return
	}
	if want := summaryOf(&whole); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, %v\nHelm reads\n%+v\n%+v", got, err, want, want.Info)
	}
}

// summaryOf returns a release with only those fields of rel that readSummary reads.
func summaryOf(rel *release.Release) *release.Release {
	summary := &release.Release{Name: rel.Name, Info: rel.Info, Version: rel.Version, Namespace: rel.Namespace}
	if rel.Chart != nil {
		summary.Chart = &chart.Chart{Metadata: rel.Chart.Metadata}
	}
	return summary
}

func FuzzReadSummary(f *testing.F) {
	original := text(f, testRelease("shop", "test", 1, release.StatusDeployed))
	for _, v := range storedForms() {
		if v.edit != nil {
			f.Add([]byte(v.edit(original)))
		}
	}
	f.Fuzz(expectAsHelm)
}
