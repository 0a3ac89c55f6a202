// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// expectAsEncodingJSON checks that readSummary either reads the same values as encoding/json, or
// nothing, and returns whether it read the text.
func expectAsEncodingJSON(t *testing.T, text []byte) bool {
	t.Helper()
	got, ok := readSummary(text)
	if !ok {
		return false
	}
	var whole release.Release
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatalf("readSummary accepts what encoding/json rejects: %v", err)
	}
	want := summaryOf(&whole)
	if got.Chart != nil {
		got.Chart = &chart.Chart{Metadata: got.Chart.Metadata}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\n%+v\nencoding/json decodes\n%+v\n%+v", got, got.Info, want, want.Info)
	}
	return true
}

func TestReadSummary(t *testing.T) {
	original := text(t, testRelease("shop", "test", 1, release.StatusDeployed))
	for _, v := range variants() {
		if v.encode != nil {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			edited := original
			if v.edit != nil {
				edited = v.edit(original)
			}
			if ok := expectAsEncodingJSON(t, []byte(edited)); ok == v.unusual {
				t.Errorf("read: %v", ok)
			}
		})
	}
}

// TestTruncatedText checks that no text is read that ends too early.
func TestTruncatedText(t *testing.T) {
	original := text(t, testRelease("shop", "test", 1, release.StatusDeployed))
	for length := range original {
		if _, ok := readSummary([]byte(original[:length])); ok {
			t.Errorf("%s was read", original[:length])
		}
	}
}

// TestAllFieldsAreKnown checks that readSummary knows all fields of Helm's types, so that it
// checks the values of all of them.
func TestAllFieldsAreKnown(t *testing.T) {
	s := new(scanner)
	for _, known := range []struct {
		of     reflect.Type
		fields []field
	}{
		{reflect.TypeFor[release.Release](), releaseFields(s, new(release.Release))},
		{reflect.TypeFor[chart.Chart](), chartFields(s, new(chart.Chart))},
		{reflect.TypeFor[chart.File](), fileFields(s)},
	} {
		var want, got []string
		for _, f := range reflect.VisibleFields(known.of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "-" {
				want = append(want, name)
			}
		}
		for _, f := range known.fields {
			got = append(got, f.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got the fields %q, want %q", known.of, got, want)
		}
	}
}

func FuzzReadSummary(f *testing.F) {
	original := text(f, testRelease("shop", "test", 1, release.StatusDeployed))
	for _, v := range variants() {
		if v.edit != nil {
			f.Add([]byte(v.edit(original)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { expectAsEncodingJSON(t, text) })
}
