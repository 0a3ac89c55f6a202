// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// noise returns text that hardly compresses.
func noise(r *rand.Rand, n int) string {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(' ' + r.IntN(95))
	}
	return string(data)
}

// storedData stores a release with Helm's drivers, and returns the number of bytes of data
// in each object.
func storedData(t *testing.T, rel *release.Release) (secret, configMap int) {
	t.Helper()
	client := fake.NewClientset().CoreV1()
	if err := driver.NewSecrets(client.Secrets("test")).Create("r", rel); err != nil {
		t.Fatal(err)
	}
	if err := driver.NewConfigMaps(client.ConfigMaps("test")).Create("r", rel); err != nil {
		t.Fatal(err)
	}
	s, err := client.Secrets("test").Get(t.Context(), "r", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.ConfigMaps("test").Get(t.Context(), "r", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range s.Data {
		secret += len(data)
	}
	for _, data := range c.Data {
		configMap += len(data)
	}
	return secret, configMap
}

// storedSize returns how many bytes a release needs in the Secret or ConfigMap that Helm's
// storage driver stores it in.
func storedSize(rel *release.Release) (int, error) {
	data, err := json.Marshal(rel)
	if err != nil {
		return 0, err
	}
	return compressedSize(data)
}

// TestStoredSizeIsWhatHelmStores compares storedSize with the size of the objects that
// Helm's drivers write.
func TestStoredSizeIsWhatHelmStores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	attached, err := WithRecord(shop(), sample())
	if err != nil {
		t.Fatal(err)
	}
	for name, rel := range map[string]*release.Release{
		"empty": {Info: &release.Info{}}, "ordinary": releaseOf(attached),
		"unusual": {
			Name: "<é>", Namespace: "test", Version: 12, Manifest: noise(r, 5000) + "\u2028&\x00\xff",
			Labels: map[string]string{"team": "a"}, Info: &release.Info{Notes: "<none>"},
			Config: map[string]any{"a": []any{1.5, nil, "é"}}, Hooks: []*release.Hook{{Name: "h", Events: []release.HookEvent{release.HookTest}}},
		},
		"large": {Name: "large", Manifest: noise(r, 100_000), Info: &release.Info{}},
	} {
		t.Run(name, func(t *testing.T) {
			secret, configMap := storedData(t, rel)
			if got, err := storedSize(rel); err != nil || got != secret || got != configMap {
				t.Errorf("got %d, %v, but a Secret has %d and a ConfigMap %d", got, err, secret, configMap)
			}
		})
	}
}

// ofSize returns a release whose stored size is exactly size, which must be a multiple of
// four. It tries manifests of different lengths, the first of the given length.
func ofSize(t *testing.T, size, length int) *release.Release {
	t.Helper()
	rel := releaseOf(shop())
	text := noise(rand.New(rand.NewPCG(2, 2)), size)
	for range 50 {
		rel.Manifest = text[:length]
		got, err := storedSize(rel)
		if err != nil {
			t.Fatal(err)
		}
		if got == size {
			return rel
		}
		length += cmp.Or((size-got)*9/10, cmp.Compare(size, got))
	}
	t.Fatalf("no release of %d bytes found", size)
	return nil
}

// TestCheckSizeAtLimit checks a release that exactly fills its Secret or ConfigMap, and the
// smallest release that does not fit.
func TestCheckSizeAtLimit(t *testing.T) {
	full := ofSize(t, 1<<20, 900_000)
	over := ofSize(t, 1<<20+4, len(full.Manifest)+4)
	tests := []struct {
		name, driver  string
		rel           *release.Release
		size, reserve int
		refused       bool
	}{
		{"a full Secret", "Secret", full, 1 << 20, 0, false},
		{"a Secret without a reserve", "Secret", full, 1 << 20, 1, true},
		{"an overfull Secret", "Secret", over, 1<<20 + 4, 0, true},
		{"a full ConfigMap", "ConfigMap", full, 1 << 20, 0, false},
		{"an overfull ConfigMap", "ConfigMap", over, 1<<20 + 4, 0, true},
		{"memory", "Memory", over, 0, 1 << 20, false},
		{"a database", "SQL", over, 0, 1 << 20, false},
		{"a driver without a name", "", over, 0, 1 << 20, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckSize(tt.rel, tt.driver, tt.reserve)
			if !tt.refused {
				if err != nil {
					t.Errorf("what fits is refused: %v", err)
				}
				return
			}
			var e *ReleaseTooLargeError
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			e.Parts = nil
			want := &ReleaseTooLargeError{Release: "shop", Revision: 3, Kind: tt.driver, Size: tt.size, Limit: 1 << 20, Reserve: tt.reserve}
			if !reflect.DeepEqual(e, want) {
				t.Errorf("got %+v, want %+v", e, want)
			}
		})
	}
}

func TestTooLargeError(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	ch := shop()
	ch.Files = append(ch.Files, nil, &chart.File{Name: "dashboards/big.json", Data: []byte(noise(r, 800_000))})
	ch.Templates = []*chart.File{{Name: "templates/a.yaml", Data: []byte("a")}, {Name: "templates/b.yaml", Data: []byte(noise(r, 30_000))}}
	ch.Values = map[string]any{"text": strings.Repeat("compressible ", 100_000)}
	rel := releaseOf(ch)
	rel.Config = map[string]any{"text": noise(r, 60_000)}
	err := CheckSize(rel, "Secret", 4096)
	var e *ReleaseTooLargeError
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	want := fmt.Sprintf("release shop is too large to be stored: revision 3 takes %d bytes, and up to 4096 more during the deployment, but a Secret can have at most 1048576. "+
		"The largest parts are the files of the chart (%d, the largest dashboards/big.json), the values (%d), the templates of the chart (%d, the largest templates/b.yaml): "+
		"exclude files with .helmignore, split the chart, or set HELM_DRIVER=chunked-secret (several Secrets) or HELM_DRIVER=sql (a database)", e.Size, e.Parts[0].Size, e.Parts[1].Size, e.Parts[2].Size)
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for i, least := range []int{1_000_000, 60_000, 30_000} {
		if got := e.Parts[i].Size; got < least || got > least*2 {
			t.Errorf("part %v, want about %d", e.Parts[i], least)
		}
	}
}

// TestLargestParts makes each part of a release large, one at a time, and checks that only
// this part is named.
func TestLargestParts(t *testing.T) {
	text := noise(rand.New(rand.NewPCG(4, 4)), 20_000)
	record := sample()
	record.DocumentCharts = []string{text}
	attached, err := WithRecord(shop(), record)
	if err != nil {
		t.Fatal(err)
	}
	file := []*chart.File{{Name: "large", Data: []byte(text)}}
	for want, rel := range map[string]*release.Release{
		"the templates of the chart": {Chart: &chart.Chart{Templates: file}},
		"the files of the chart":     {Chart: &chart.Chart{Files: file}},
		"the values":                 {Config: map[string]any{"a": text}},
		"the schema of the values":   {Chart: &chart.Chart{Schema: []byte(text)}},
		"the metadata of the chart":  {Chart: &chart.Chart{Metadata: &chart.Metadata{Description: text}}},
		"the order record":           {Chart: attached},
		"the manifest":               {Manifest: text},
		"the hooks":                  {Hooks: []*release.Hook{{Manifest: text}}},
		"the notes and status":       {Info: &release.Info{Notes: text}},
	} {
		parts, err := largestParts(rel)
		if err != nil || len(parts) != 1 || parts[0].Name != want || parts[0].Size < 20_000 || (parts[0].Largest == "large") != strings.HasSuffix(want, "s of the chart") {
			t.Errorf("want %s, got %v, %v", want, parts, err)
		}
	}
}

// TestOnlyLargeReleasesAreCompressed checks maxCompressedSize, the bound below which
// CheckSize does not compress a release, with data that cannot be compressed.
func TestOnlyLargeReleasesAreCompressed(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 10, 100, 5_000, 16_384, 65_535, 65_536, 200_000, 780_000} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if got, err := compressedSize(data); err != nil || got > maxCompressedSize(n) {
			t.Errorf("%d bytes take %d, which is more than %d, %v", n, got, maxCompressedSize(n), err)
		}
	}
	if bound := maxCompressedSize(700_000); bound > maxStoredSize {
		t.Errorf("a release of 700,000 bytes is compressed: it may take %d", bound)
	}
}

func TestSizeOfWhatCannotBeWritten(t *testing.T) {
	rel := releaseOf(shop())
	rel.Config = map[string]any{"a": math.NaN()}
	err := CheckSize(rel, "Secret", 0)
	if _, ok := errors.AsType[*json.UnsupportedValueError](err); !ok || !strings.HasPrefix(err.Error(), "write release shop: ") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkCheckSize compares CheckSize with compressing the release as Helm's storage
// drivers do. CheckSize must take a small fraction of that time.
func BenchmarkCheckSize(b *testing.B) {
	rel := releaseOf(shop())
	rel.Manifest = string(bytes.Repeat([]byte("apiVersion: v1\nkind: ConfigMap\n"), 10_000))
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if err := CheckSize(rel, "Secret", 4096); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("size", func(b *testing.B) {
		for b.Loop() {
			if _, err := storedSize(rel); err != nil {
				b.Fatal(err)
			}
		}
	})
}
