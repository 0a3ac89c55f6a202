// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/processid"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// generator generates releases.
type generator struct{ *rand.Rand }

func (g generator) sometimes() bool { return g.IntN(3) > 0 }

func (g generator) text() string {
	texts := []string{"", "<x> & ünïcode \u2028", "a: b\n", "\x00\xff", strings.Repeat("long ", g.IntN(5000)), strings.Repeat("ü", g.IntN(20_000))}
	return texts[g.IntN(len(texts))]
}

func (g generator) time() time.Time {
	if !g.sometimes() {
		return time.Time{}
	}
	return time.Unix(g.Int64N(1<<32), g.Int64N(1e9)).In(stdtime.FixedZone("", 3600*g.IntN(5)))
}

func (g generator) lease() *orderrecord.Lease {
	if !g.sometimes() {
		return nil
	}
	return &orderrecord.Lease{
		Revision: 1 + g.IntN(3), ID: "id", Operation: "upgrade", Process: processid.Process{Host: "host", PID: 7},
		StartedAt: g.time().Time, RenewedAt: g.time().Time, Seconds: 45,
	}
}

func (g generator) progress() *orderrecord.Progress {
	p := &orderrecord.Progress{Revision: 3, TotalNodes: 10_000}
	for i := range []int{0, 1, 3, 3, 3, 3, 3, 9000}[g.IntN(8)] {
		p.DoneNodes = append(p.DoneNodes, fmt.Sprintf("node number %d <%s>", i, "x"))
	}
	return p
}

// record returns an order record, or a file with its name that is none.
func (g generator) record() []byte {
	switch g.IntN(6) {
	case 0:
		return []byte(`{"version": 1, "sequenced":true,"charts":{"name":"not as this version writes it"},"lease":{"revision":1,"id":"a","seconds":4}}`)
	case 1:
		return []byte(`{"version":99,"lease":{}}`)
	case 2:
		return []byte("damaged")
	}
	r := &orderrecord.Record{Version: 1, Ordered: g.sometimes(), Revision: 3, Charts: &sequencer.Chart{Name: g.text()}, Lease: g.lease()}
	if g.sometimes() {
		r.Progress = g.progress()
	}
	if g.sometimes() {
		r.Earlier = &orderrecord.EarlierRevisions{Revision: 2, Leftovers: []orderrecord.Leftover{{APIVersion: "v1", Kind: "Secret", Name: "x"}}}
	}
	data, err := orderrecord.Encode(r)
	if err != nil {
		panic(err)
	}
	return data
}

func (g generator) chart() *chart.Chart {
	ch := &chart.Chart{}
	if g.sometimes() {
		ch.Metadata = &chart.Metadata{Name: "shop", Version: "1.0.0", Annotations: map[string]string{"a": g.text()}, Keywords: []string{"k"}}
	}
	if g.sometimes() {
		ch.Values, ch.Schema = map[string]any{"a": g.text(), "n": nil}, []byte(g.text())
	}
	for range g.IntN(3) {
		ch.Files = append(ch.Files, &chart.File{Name: g.text(), Data: []byte(g.text())})
	}
	for range []int{0, 1, 1, 2}[g.IntN(4)] {
		orderrecord.Attach(ch, g.record())
	}
	if g.IntN(5) == 0 {
		ch.Files = append(ch.Files, nil)
	}
	return ch
}

func (g generator) hooks() []*release.Hook {
	var hooks []*release.Hook
	for i := range []int{0, 1, 4, 4, 4, 4, 4, maxHookRuns + 1}[g.IntN(8)] {
		h := &release.Hook{Name: fmt.Sprint("hook ", i), Kind: "Job", Manifest: g.text()}
		if g.sometimes() {
			h.LastRun = release.HookExecution{StartedAt: g.time(), CompletedAt: g.time(), Phase: release.HookPhaseSucceeded}
		}
		hooks = append(hooks, h)
	}
	if g.IntN(5) == 0 {
		hooks = append(hooks, nil)
	}
	return hooks
}

func (g generator) release() *release.Release {
	rel := &release.Release{
		Name: "shop", Version: g.IntN(5), Manifest: g.text(), Hooks: g.hooks(),
		Info: &release.Info{
			Status: release.StatusDeployed, Description: g.text(), Notes: g.text(),
			FirstDeployed: g.time(), LastDeployed: g.time(), Deleted: g.time(),
		},
	}
	if g.sometimes() {
		rel.Namespace, rel.Chart = "test", g.chart()
	}
	if g.sometimes() {
		rel.Labels, rel.Config = map[string]string{"team": "web"}, map[string]any{"a": g.text(), "f": 1.5, "l": []any{true}}
	}
	return rel
}

// throughJSON returns a value as it is read from the JSON text into which it is written.
func throughJSON[T any](t *testing.T, value *T) *T {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	read := new(T)
	if err := json.Unmarshal(data, read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestJoin checks that a release that is split and joined is the one that Helm's storage drivers
// would read, that Split does not change it, and that the head is small.
func TestJoin(t *testing.T) {
	const maxHeadBytes = 400 << 10
	for seed := range uint64(100) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		rel := g.release()
		expected := throughJSON(t, rel)
		expected.Labels = rel.Labels
		head, sections, err := Split(rel)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		unchanged := throughJSON(t, rel)
		if unchanged.Labels = rel.Labels; !reflect.DeepEqual(unchanged, expected) {
			t.Fatalf("seed %d: Split changed the release", seed)
		}
		if text, _ := json.Marshal(head); len(text) > maxHeadBytes {
			t.Errorf("seed %d: the head has %d bytes", seed, len(text))
		}
		if state, _ := orderrecord.StateOf(rel); head.Order != state {
			t.Errorf("seed %d: the head has the order %q, want %q", seed, head.Order, state)
		}
		if r := head.Stored("id"); r.ID != "id" || r.Order != head.Order || (r.OrderErr != nil) != (r.Order == orderrecord.Unknown) || r.Release.Version != rel.Version {
			t.Errorf("seed %d: the head is the revision %+v", seed, r)
		}
		slices.Reverse(sections)
		got, err := Join(throughJSON(t, head), sections)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, expected) {
			t.Fatalf("seed %d:\ngot      %#v\nexpected %#v", seed, got, expected)
		}
	}
}

func testRelease(lease *orderrecord.Lease) *release.Release {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: "1.2.0", AppVersion: "7", Description: "secret description"}}
	ch, err := orderrecord.WithRecord(ch, &orderrecord.Record{Revision: 3, Charts: &sequencer.Chart{Name: "shop"}, Lease: lease})
	if err != nil {
		panic(err)
	}
	return &release.Release{
		Name: "shop", Namespace: "test", Version: 3, Chart: ch,
		Info:     &release.Info{Status: release.StatusPendingUpgrade, Description: "Preparing upgrade", Notes: "password: geheim"},
		Config:   map[string]any{"password": "geheim"},
		Manifest: "password: geheim\n",
		Hooks:    []*release.Hook{{Name: "a", Manifest: "password: geheim\n", LastRun: release.HookExecution{Phase: release.HookPhaseRunning}}},
		Labels:   map[string]string{"team": "web", "owner": "helm", "status": "deployed"},
	}
}

// TestSplitHead checks what is in the head, and that what changes during an operation changes no
// section.
func TestSplitHead(t *testing.T) {
	head, sections, err := Split(testRelease(nil))
	if err != nil {
		t.Fatal(err)
	}
	lease := &orderrecord.Lease{Revision: 3, ID: "x", Operation: "upgrade", Seconds: 45}
	changed := testRelease(lease)
	changed.Info.Status, changed.Info.Description = release.StatusFailed, "x"
	changed.Hooks[0].LastRun = release.HookExecution{Phase: release.HookPhaseFailed}
	changedHead, changedSections, err := Split(changed)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(sections, changedSections) {
		t.Errorf("another status and lease change the sections from\n%s\nto\n%s", sections, changedSections)
	}
	text, err := json.Marshal(head)
	if err != nil || strings.Contains(string(text), "geheim") || strings.Contains(string(text), "secret description") {
		t.Errorf("head, error %v: %s", err, text)
	}
	expected := `{"name":"shop","namespace":"test","revision":3,"status":"pending-upgrade","description":"Preparing upgrade",` +
		`"firstDeployed":"","lastDeployed":"","deleted":"","labels":{"team":"web"},` +
		`"chart":{"name":"shop","version":"1.2.0","appVersion":"7"},"hooks":[{"index":0,"name":"a","phase":"Running","startedAt":"","completedAt":""}]}`
	if string(text) != expected {
		t.Errorf("got  %s\nwant %s", text, expected)
	}
	rel := changedHead.Release()
	record, err := orderrecord.Read(rel)
	if err != nil || record.LeaseFor(3) == nil || rel.Info.Status != release.StatusFailed || rel.Manifest != "" || rel.Chart.Metadata.Version != "1.2.0" {
		t.Errorf("release of the head, record error %v: %#v", err, rel)
	}
}

func TestJoinRejects(t *testing.T) {
	head, sections, err := Split(testRelease(&orderrecord.Lease{Revision: 3, ID: "x", Seconds: 45}))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		sections []Section
		change   func(*Head)
		text     string
	}{
		"no sections":             {sections: nil, text: `the section "release" is missing`},
		"no release":              {sections: sections[1:], text: `the section "release" is missing`},
		"damaged release":         {sections: []Section{{ReleaseSection, []byte("{")}}, text: "unexpected end"},
		"damaged record":          {sections: []Section{sections[0], {RecordSection, []byte("{")}}, text: "order record"},
		"record without a chart":  {sections: []Section{{ReleaseSection, []byte("{}")}, sections[1]}, change: func(h *Head) { h.Hooks = nil }, text: "no chart"},
		"run of an unknown hook":  {sections: sections, change: func(h *Head) { h.Hooks[0].Index = 1 }, text: "hook 1 does not exist"},
		"run of a negative index": {sections: sections, change: func(h *Head) { h.Hooks[0].Index = -1 }, text: "hook -1 does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			head := throughJSON(t, head)
			if tt.change != nil {
				tt.change(head)
			}
			if _, err := Join(head, tt.sections); err == nil || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "release shop, revision 3") {
				t.Errorf("got error %v, expected %q", err, tt.text)
			}
		})
	}
	if _, _, err := Split(&release.Release{Name: "shop"}); err == nil {
		t.Error("a release without a status is split")
	}
}
