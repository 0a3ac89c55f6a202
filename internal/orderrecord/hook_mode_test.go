// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestHookModesSurvive checks that the runHooksInParallel values of all charts are preserved
// when an order record is written and read, and that empty values are not written.
func TestHookModesSurvive(t *testing.T) {
	want := &Record{Version: 1, Charts: &sequencer.Chart{Name: "shop", HookMode: "otherChartsOnly", Subcharts: []*sequencer.Chart{
		{Name: "db", HookMode: "true"}, {Name: "web", Subcharts: []*sequencer.Chart{{Name: "db", HookMode: "true"}}},
	}}}
	data, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Count(text, "runHooksInParallel") != 3 || !strings.Contains(text, `{"name":"shop","subcharts":`) && !strings.Contains(text, `"runHooksInParallel":"otherChartsOnly"`) {
		t.Errorf("got %s", data)
	}
	got, err := decode(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	attached, err := WithRecord(shop(), want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = Read(releaseOf(attached)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnknownHookModes(t *testing.T) {
	for _, mode := range []string{"false", "True", "othercharts", " true", strings.Repeat("x", 200)} {
		data := `{"version":1,"charts":{"name":"shop","subcharts":[{"name":"a","runHooksInParallel":"true"},{"name":"b","runHooksInParallel":"` + mode + `"}]}}`
		ch := shop()
		ch.Files = append(ch.Files, &chart.File{Name: fileName, Data: []byte(data)})
		_, err := Read(releaseOf(ch))
		var invalid *InvalidError
		want := `the order record of release shop, revision 3, cannot be used: its chart "b" has the invalid runHooksInParallel "` + mode[:min(len(mode), 100)] + `"`
		if !errors.As(err, &invalid) || err.Error() != want {
			t.Errorf("%s: got %v", mode, err)
		}
		if _, err := WithRecord(shop(), &Record{Charts: &sequencer.Chart{Name: "shop", HookMode: mode}}); err == nil {
			t.Errorf("%s: what Read refuses is written", mode)
		}
	}
	if _, err := decode([]byte(`{"version":1,"charts":{"name":"shop","runHooksInParallel":true}}`)); err == nil {
		t.Error("a mode that is no text is taken")
	}
}
