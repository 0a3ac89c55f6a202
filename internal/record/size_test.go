// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// noise is text that hardly compresses.
func noise(r *rand.Rand, n int) string {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(' ' + r.IntN(95))
	}
	return string(data)
}

// storedData writes a release with Helm's drivers, and gives the bytes of data
// that are in the objects.
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

// TestStoredSizeIsWhatHelmStores compares the size with that of the objects
// that Helm's drivers write.
func TestStoredSizeIsWhatHelmStores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	attached, err := Attach(shop(), sample())
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
		"large": {Name: "large", Manifest: noise(r, 1<<20), Info: &release.Info{}},
	} {
		t.Run(name, func(t *testing.T) {
			secret, configMap := storedData(t, rel)
			if got, err := StoredSize(rel); err != nil || got != secret || got != configMap {
				t.Errorf("got %d, %v, but a Secret has %d and a ConfigMap %d", got, err, secret, configMap)
			}
		})
	}
}

// ofSize makes a release that takes exactly that many bytes, which must be a
// multiple of four.
func ofSize(t *testing.T, size int) *release.Release {
	t.Helper()
	r := rand.New(rand.NewPCG(2, 2))
	rel := releaseOf(shop())
	text := noise(r, size)
	n := size * 9 / 10
	for range 50 {
		rel.Manifest = text[:n]
		got, err := StoredSize(rel)
		if err != nil {
			t.Fatal(err)
		}
		if got == size {
			return rel
		}
		n += cmp.Or((size-got)*9/10, cmp.Compare(size, got))
	}
	t.Fatalf("no release of %d bytes found", size)
	return nil
}

// TestCheckSizeAtTheBorder has releases that fill an object, and that are as
// little larger as there is.
func TestCheckSizeAtTheBorder(t *testing.T) {
	full, over := ofSize(t, 1<<20), ofSize(t, 1<<20+4)
	for _, kind := range []string{"Secret", "ConfigMap"} {
		if err := CheckSize(full, kind, 0); err != nil {
			t.Errorf("%s: what fits is refused: %v", kind, err)
		}
		for reserve, rel := range map[int]*release.Release{0: over, 1: full} {
			var e *TooLargeError
			err := CheckSize(rel, kind, reserve)
			if !errors.As(err, &e) || e.Kind != kind || e.Size+e.Reserve <= 1<<20 || e.Size+e.Reserve > 1<<20+4 ||
				e.Reserve != reserve || e.Limit != 1<<20 || e.Release != "shop" || e.Revision != 3 || len(e.Parts) != 1 || e.Parts[0].Name != "the manifest" {
				t.Errorf("%s, reserve %d: got %v", kind, reserve, err)
			}
		}
	}
	for _, other := range []string{"Memory", "SQL", ""} {
		if err := CheckSize(over, other, 1<<20); err != nil {
			t.Errorf("%q has no limit: %v", other, err)
		}
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
	var e *TooLargeError
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	want := fmt.Sprintf("release shop is too large to be stored: revision 3 takes %d bytes, and up to 4096 more while it is deployed, and a Secret holds no more than 1048576. "+
		"Most is taken by the files of the chart (%d, the largest dashboards/big.json), the values (%d), the templates of the chart (%d, the largest templates/b.yaml): "+
		"leave files out with .helmignore, split the chart, or store releases in a database with HELM_DRIVER=sql", e.Size, e.Parts[0].Size, e.Parts[1].Size, e.Parts[2].Size)
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for i, least := range []int{1_000_000, 60_000, 30_000} {
		if got := e.Parts[i].Size; got < least || got > least*2 {
			t.Errorf("part %v, want about %d", e.Parts[i], least)
		}
	}
}

// TestTooLargeErrorNamesEveryPart makes one part large after the other.
func TestTooLargeErrorNamesEveryPart(t *testing.T) {
	text := noise(rand.New(rand.NewPCG(4, 4)), 1_000_000)
	record := sample()
	record.Documents = []string{text}
	attached, err := Attach(shop(), record)
	if err != nil {
		t.Fatal(err)
	}
	file := []*chart.File{{Name: "large", Data: []byte(text)}}
	for want, rel := range map[string]*release.Release{
		"the templates of the chart (": {Chart: &chart.Chart{Templates: file}},
		"the files of the chart (":     {Chart: &chart.Chart{Files: file}},
		"the values (":                 {Config: map[string]any{"a": text}},
		"the schema of the values (":   {Chart: &chart.Chart{Schema: []byte(text)}},
		"the record of order (":        {Chart: attached},
		"the metadata of the chart (":  {Chart: &chart.Chart{Metadata: &chart.Metadata{Description: text}}},
		"the manifest (":               {Manifest: text},
		"the hooks (":                  {Hooks: []*release.Hook{{Manifest: text}}},
		"the notes and status (":       {Info: &release.Info{Notes: text}},
	} {
		err := CheckSize(rel, "ConfigMap", 0)
		if err == nil || !strings.Contains(err.Error(), "Most is taken by "+want) || !strings.Contains(err.Error(), "and a ConfigMap holds") {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

// TestOnlyLargeReleasesAreCompressed holds the bound, up to which nothing is
// compressed, against what does not compress at all.
func TestOnlyLargeReleasesAreCompressed(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 10, 100, 5_000, 16_384, 65_535, 65_536, 200_000, 780_000, 3_000_000} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if got, err := compressed(data); err != nil || got > atMost(n) {
			t.Errorf("%d bytes take %d, which is more than %d, %v", n, got, atMost(n), err)
		}
	}
	if bound := atMost(700_000); bound > maxStored {
		t.Errorf("a release of 700,000 bytes is compressed: it may take %d", bound)
	}
}

func TestSizeOfWhatCannotBeWritten(t *testing.T) {
	rel := releaseOf(shop())
	rel.Config = map[string]any{"a": math.NaN()}
	for _, err := range []error{CheckSize(rel, "Secret", 0), func() error { _, err := StoredSize(rel); return err }()} {
		var unsupported *json.UnsupportedValueError
		if !errors.As(err, &unsupported) || !strings.HasPrefix(err.Error(), "write release shop: ") {
			t.Errorf("got %v", err)
		}
	}
}

// BenchmarkCheckSize must take a small part of what storing the release does.
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
			if _, err := StoredSize(rel); err != nil {
				b.Fatal(err)
			}
		}
	})
}
