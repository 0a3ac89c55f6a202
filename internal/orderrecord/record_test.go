// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ordered-helm/helm/internal/sequencer"
)

func sample() *Record {
	return &Record{
		Ordered: true, Revision: 3,
		Progress: &Progress{Revision: 3, DoneNodes: []string{"shop/db"}, TotalNodes: 2, Uninstalling: true},
		Charts: &sequencer.Chart{
			Name: "shop", Sequenced: true, Declares: true, DependsOnSubcharts: []string{"db"},
			Dependencies: []sequencer.Dependency{
				{Name: "postgresql", Alias: "db", Tags: []string{"back"}},
				{Name: "web", DependsOn: []string{"db"}, Disabled: true},
			},
			Subcharts: []*sequencer.Chart{{Name: "db"}},
		},
		DocumentCharts: []string{"shop", "shop/db"},
	}
}

func shop() *chart.Chart {
	return &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v3", Name: "shop", Version: "1.0.0"},
		Files:    []*chart.File{{Name: "README.md", Data: []byte("read me")}},
	}
}

func releaseOf(ch *chart.Chart) *release.Release {
	return &release.Release{
		Name: "shop", Namespace: "test", Version: 3, Chart: ch, Manifest: "---\nkind: ConfigMap\n",
		Info: &release.Info{Status: release.StatusDeployed},
	}
}

func TestAttachAndRead(t *testing.T) {
	ch := shop()
	attached, err := WithRecord(ch, sample())
	if err != nil {
		t.Fatal(err)
	}
	if len(ch.Files) != 1 {
		t.Error("the chart that was given has changed")
	}
	if len(attached.Files) != 2 || attached.Files[0].Name != "README.md" || attached.Metadata != ch.Metadata {
		t.Errorf("attached: %+v", attached)
	}
	got, err := Read(releaseOf(attached))
	want := sample()
	want.Version = 1
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestAttachReplacesARecord(t *testing.T) {
	first, err := WithRecord(shop(), sample())
	if err != nil {
		t.Fatal(err)
	}
	second, err := WithRecord(first, &Record{Charts: &sequencer.Chart{Name: "other"}})
	if err != nil || len(second.Files) != 2 {
		t.Fatalf("%d files, %v", len(second.Files), err)
	}
	got, err := Read(releaseOf(second))
	if err != nil || got.Charts.Name != "other" || got.Ordered || got.DocumentCharts != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := Read(releaseOf(first)); err != nil || got.Charts.Name != "shop" {
		t.Errorf("the first has changed: %+v, %v", got, err)
	}
}

func TestAttachNothing(t *testing.T) {
	ch := shop()
	if got, err := WithRecord(ch, nil); got != ch || err != nil {
		t.Errorf("a chart without a record is copied: %v", err)
	}
	attached, err := WithRecord(ch, sample())
	if err != nil {
		t.Fatal(err)
	}
	got, err := WithRecord(attached, nil)
	if err != nil || !reflect.DeepEqual(got.Files, ch.Files) {
		t.Errorf("got %v, %v", got.Files, err)
	}
	if len(attached.Files) != 2 {
		t.Error("the chart that was given has changed")
	}
}

func TestDetach(t *testing.T) {
	for name, ch := range map[string]*chart.Chart{"files": shop(), "no files": {Metadata: &chart.Metadata{Name: "shop"}}} {
		t.Run(name, func(t *testing.T) {
			bare := releaseOf(ch)
			attached, err := WithRecord(ch, sample())
			if err != nil {
				t.Fatal(err)
			}
			rel := releaseOf(attached)
			if got := WithoutRecord(rel); !reflect.DeepEqual(got, bare) {
				t.Errorf("got %+v", got)
			}
			if rel.Chart != attached || len(attached.Files) != len(ch.Files)+1 {
				t.Error("the release that was given has changed")
			}
			if got := WithoutRecord(bare); got != bare {
				t.Error("a release without a record is copied")
			}
		})
	}
	for _, rel := range []*release.Release{nil, {Name: "shop"}} {
		if got := WithoutRecord(rel); got != rel {
			t.Errorf("got %+v", got)
		}
	}
}

// TestIgnoreJobs checks that only a record with IgnoreJobs contains the field.
func TestIgnoreJobs(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		r := sample()
		r.IgnoreJobs = ignore
		recorded, err := WithRecord(shop(), r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(releaseOf(recorded))
		if err != nil || got.IgnoreJobs != ignore {
			t.Errorf("got %+v, %v", got, err)
		}
		if data := recorded.Files[len(recorded.Files)-1].Data; bytes.Contains(data, []byte("ignoreJobs")) != ignore {
			t.Errorf("%v: stored is %s", ignore, data)
		}
	}
}

// TestProgressFor checks that the progress is returned only for the revision that it belongs
// to, because a rollback with stock Helm copies order records into other revisions.
func TestProgressFor(t *testing.T) {
	r := sample()
	if got := r.ProgressFor(3); got != r.Progress || got.TotalNodes != 2 {
		t.Errorf("got %+v", got)
	}
	var none *Record
	for name, got := range map[string]*Progress{
		"another revision": r.ProgressFor(4), "no progress": (&Record{}).ProgressFor(3), "no record": none.ProgressFor(3), "no revision": (&Record{}).ProgressFor(0),
	} {
		if got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestReadWithoutARecord(t *testing.T) {
	for name, rel := range map[string]*release.Release{
		"no chart": {Name: "shop"}, "no files": releaseOf(&chart.Chart{}), "other files": releaseOf(shop()),
		"a file that is none": releaseOf(&chart.Chart{Files: []*chart.File{nil}}),
	} {
		if got, err := Read(rel); got != nil || err != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// TestRecordSurvivesStorage writes a release, changes its status and reads it again, as
// stock Helm does, with each storage driver.
func TestRecordSurvivesStorage(t *testing.T) {
	client := fake.NewClientset().CoreV1()
	memory := driver.NewMemory()
	memory.SetNamespace("test")
	for name, d := range map[string]driver.Driver{
		"memory": memory, "secret": driver.NewSecrets(client.Secrets("test")), "configmap": driver.NewConfigMaps(client.ConfigMaps("test")),
	} {
		t.Run(name, func(t *testing.T) {
			attached, err := WithRecord(shop(), sample())
			if err != nil {
				t.Fatal(err)
			}
			releases := storage.Init(d)
			if err := releases.Create(releaseOf(attached)); err != nil {
				t.Fatal(err)
			}
			stored, err := releases.Last("shop")
			if err != nil {
				t.Fatal(err)
			}
			stored.SetStatus(release.StatusSuperseded, "superseded")
			if err := releases.Update(stored); err != nil {
				t.Fatal(err)
			}
			again, err := releases.Get("shop", 3)
			if err != nil {
				t.Fatal(err)
			}
			want := sample()
			want.Version = 1
			if got, err := Read(again); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v", got, err)
			}
			if again.Info.Status != release.StatusSuperseded || len(again.Chart.Files) != 2 {
				t.Errorf("got %+v", again)
			}
		})
	}
}

// TestRecordOmitsMessageData checks that an order record does not contain data that is used
// only in messages.
func TestRecordOmitsMessageData(t *testing.T) {
	r := sample()
	r.Charts.Problem, r.Charts.DependsOnKey = errors.New("secret"), "helm.sh/depends-on/subcharts"
	attached, err := WithRecord(shop(), r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(attached.Files[1].Data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"version": 1.0, "sequenced": true, "revision": 3.0, "progress": map[string]any{"revision": 3.0, "done": []any{"shop/db"}, "nodes": 2.0, "removing": true},
		"documents": []any{"shop", "shop/db"},
		"charts": map[string]any{
			"name": "shop", "sequenced": true, "declares": true, "dependsOnSubcharts": []any{"db"}, "dependsOnKey": "helm.sh/depends-on/subcharts",
			"dependencies": []any{
				map[string]any{"name": "postgresql", "alias": "db", "tags": []any{"back"}},
				map[string]any{"name": "web", "dependsOn": []any{"db"}, "disabled": true},
			},
			"subcharts": []any{map[string]any{"name": "db"}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
