// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/event"
)

var begin = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// script passes events to a recorder. The method at sets the time of the next events.
type script struct {
	recorder Recorder
	now      time.Time
	// since is when the last handler was called.
	since time.Time
}

func (s *script) at(seconds float64) *script {
	s.now = begin.Add(time.Duration(seconds * float64(time.Second)))
	return s
}

func (s *script) tell(e event.Event) *script {
	e.Time = s.now
	s.recorder.Event(e)
	return s
}

func (s *script) begin(name string) *script {
	return s.tell(event.Event{Type: event.Started, Operation: &event.Operation{Name: name, Release: "shop", Namespace: "default", Revision: 1, Ordered: true}})
}

func (s *script) node(what event.Type, id, after string) *script {
	return s.tell(event.Event{Type: what, Node: id, After: after})
}

func (s *script) hook(what event.Type, id string, err error) *script {
	e := event.Event{Type: what, Hook: id, HookEvent: "pre-install", Err: err}
	if err != nil {
		e.Message = err.Error()
	}
	return s.tell(e)
}

// handler adds an event of a handler that was called this number of seconds before it was known to take long.
func (s *script) handler(what event.Type, lifecycleEvent string, seconds float64, err error) *script {
	if what == event.HandlerRunning {
		s.since = s.now.Add(-time.Duration(seconds * float64(time.Second)))
	}
	return s.tell(event.Event{Type: what, HandlerEvent: lifecycleEvent, Chart: "shop", Since: s.since, Err: err})
}

func (s *script) resource(node, name, state, message string) *script {
	return s.tell(event.Event{Type: event.ResourceChanged, Node: node, Resource: name, State: state, Message: state + ": " + message})
}

func (s *script) finish(err error) *script {
	return s.tell(event.Event{Type: event.Finished, Operation: new(event.Operation), Err: err})
}

// planned adds an event that announces nodes of the chart shop.
func (s *script) planned(what event.Type, ids ...string) *script {
	var nodes []event.PlannedNode
	for _, id := range ids {
		nodes = append(nodes, event.PlannedNode{ID: id, Chart: "shop", Resources: 1})
	}
	return s.tell(event.Event{Type: what, Nodes: nodes})
}

// timelineText formats the timeline of the events, with one line for each span.
func (s *script) timelineText() string {
	var b strings.Builder
	s.recorder.Read(func(t *Timeline) {
		for _, o := range t.Operations {
			fmt.Fprintf(&b, "%s %v\n", o.Name, o.Err)
			for _, span := range o.Spans {
				critical := ""
				if span.Critical {
					critical = " critical"
				}
				fmt.Fprintf(&b, "  %s %s %s %s%s\n", span.Kind, span.ID, span.State, span.Took(s.now), critical)
			}
		}
	})
	return b.String()
}

func install() *script {
	return new(script).at(0).begin("install").planned(event.Planned, "shop:a", "shop:b", "shop:c", "shop")
}

func TestRecorder(t *testing.T) {
	failed := errors.New("no image")
	tests := []struct {
		name string
		in   *script
		want string
	}{
		{"hooks, and nodes side by side", install().
			at(1).hook(event.HookStarted, "Job/m", nil).at(3).hook(event.HookDone, "Job/m", nil).
			node(event.NodeStarted, "shop:a", "").node(event.NodeStarted, "shop:b", "").
			at(4).node(event.NodeReady, "shop:b", "").
			at(6).node(event.NodeReady, "shop:a", "").node(event.NodeStarted, "shop:c", "shop:a").
			at(7).node(event.NodeReady, "shop:c", "").node(event.NodeStarted, "shop", "shop:c").
			at(8).node(event.NodeReady, "shop", "").finish(nil),
			"install <nil>\n  node shop:a done 3s critical\n  node shop:b done 1s\n  node shop:c done 1s critical\n  node shop done 1s critical\n  hook Job/m done 2s critical\n"},
		{"a failure, and what it leaves", install().
			node(event.NodeStarted, "shop:a", "").node(event.NodeStarted, "shop:b", "").
			resource("shop:b", "Deployment/b", "InProgress", "0/1").
			at(2).tell(event.Event{Type: event.NodeFailed, Node: "shop:a", Err: failed}).at(3).finish(failed),
			"install no image\n  node shop:a failed 2s\n  node shop:b unfinished 3s critical\n  node shop:c waiting 0s\n  node shop waiting 0s\n"},
		{"ready, and not any more", install().
			node(event.NodeStarted, "shop:a", "").at(1).node(event.NodeReady, "shop:a", "").
			resource("shop:a", "Deployment/a", "InProgress", "0/1").at(4).resource("shop:a", "Deployment/a", "Ready", "").
			node(event.NodeReady, "shop:a", "").finish(nil),
			"install <nil>\n  node shop:a done 4s critical\n  node shop:b waiting 0s\n  node shop:c waiting 0s\n  node shop waiting 0s\n"},
		{"an operation that undoes itself", install().node(event.NodeStarted, "shop:a", "").
			at(1).tell(event.Event{Type: event.NodeFailed, Node: "shop:a", Err: failed}).
			begin("uninstall").planned(event.Planned, "shop:a").node(event.NodeDeleting, "shop:a", "").
			at(3).node(event.NodeDeleted, "shop:a", "").finish(nil).finish(failed),
			"install no image\n  node shop:a failed 1s critical\n  node shop:b waiting 0s\n  node shop:c waiting 0s\n  node shop waiting 0s\n" +
				"uninstall <nil>\n  removal shop:a done 2s critical\n"},
		{"what is gone is deleted at the end", new(script).at(0).begin("upgrade").planned(event.Planned, "shop:a").
			node(event.NodeStarted, "shop:a", "").at(2).node(event.NodeReady, "shop:a", "").
			planned(event.Removing, "shop:a", "shop:old").node(event.NodeDeleting, "shop:a", "").
			resource("shop:a", "Pod/a", "Terminating", "").
			at(3).node(event.NodeDeleted, "shop:a", "").node(event.NodeDeleting, "shop:old", "shop:a").
			at(4).node(event.NodeDeleted, "shop:old", "").finish(nil),
			"upgrade <nil>\n  node shop:a done 2s critical\n  removal shop:a done 1s critical\n  removal shop:old done 1s critical\n"},
		{"what was never there is not waited for", new(script).at(0).begin("uninstall").planned(event.Planned, "shop:b", "shop:a").
			hook(event.HookStarted, "Job/m", nil).at(3).hook(event.HookDone, "Job/m", nil).
			node(event.NodeDeleting, "shop:a", "shop:b").at(4).node(event.NodeDeleted, "shop:a", "").finish(nil),
			"uninstall <nil>\n  removal shop:b waiting 0s\n  removal shop:a done 1s critical\n  hook Job/m done 3s critical\n"},
		{"no order", new(script).at(0).tell(event.Event{Type: event.Started, Operation: &event.Operation{Name: "install"}}).
			tell(event.Event{Type: event.Waiting, Message: "waiting for 2 resources", Resources: 2}).
			resource("", "Deployment/a", "InProgress", "0/1").resource("", "Deployment/b", "Ready", "").
			at(5).resource("", "Deployment/a", "Ready", "").finish(nil),
			"install <nil>\n  wait waiting for 2 resources done 5s critical\n"},
		{"handlers", new(script).at(0).handler(event.HandlerRunning, "pre-render", 1, nil).at(1).handler(event.HandlerDone, "pre-render", 1, nil).
			at(2).begin("install").handler(event.HandlerRunning, "ready", 1, nil).at(4).handler(event.HandlerDone, "ready", 1, nil).
			at(6).handler(event.HandlerRunning, "ready", 1, nil).at(7).handler(event.HandlerDone, "ready", 1, failed).finish(failed),
			"install no image\n  handler shop done 2s critical\n  handler shop done 3s critical\n  handler shop failed 2s critical\n"},
		{"definitions", new(script).at(0).begin("install").tell(event.Event{Type: event.CRDsStarted, Resources: 2}).at(1).tell(event.Event{Type: event.CRDApplied}).
			tell(event.Event{Type: event.CRDsDone}).planned(event.Planned, "shop:a").node(event.NodeStarted, "shop:a", "").at(2).node(event.NodeReady, "shop:a", "").finish(nil),
			"install <nil>\n  definitions CustomResourceDefinitions done 1s critical\n  node shop:a done 1s critical\n"},
		{"external dependencies", new(script).at(0).begin("install").
			tell(event.Event{Type: event.Planned, Nodes: []event.PlannedNode{{ID: "shop:a", Chart: "shop"}, {ID: "shop:a:(external dependencies)", Chart: "shop", External: []string{"Secret/s"}}}}).
			node(event.NodeStarted, "shop:a:(external dependencies)", "").at(2).node(event.NodeReady, "shop:a:(external dependencies)", "").
			node(event.NodeStarted, "shop:a", "shop:a:(external dependencies)").at(3).node(event.NodeReady, "shop:a", "").finish(nil),
			"install <nil>\n  node shop:a done 1s critical\n  external shop:a:(external dependencies) done 2s critical\n"},
		{"failed external dependencies", new(script).at(0).begin("install").
			tell(event.Event{Type: event.Planned, Nodes: []event.PlannedNode{{ID: "shop:a", Chart: "shop"}, {ID: "shop:a:(external dependencies)", Chart: "shop", External: []string{"Secret/s"}}}}).
			node(event.NodeStarted, "shop:a:(external dependencies)", "").resource("shop:a:(external dependencies)", "Secret/s", "Missing", "it does not exist").
			at(2).tell(event.Event{Type: event.NodeFailed, Node: "shop:a:(external dependencies)", Err: failed}).finish(failed),
			"install no image\n  node shop:a waiting 0s\n  external shop:a:(external dependencies) failed 2s critical\n"},
		{"failed definitions", new(script).at(0).begin("install").tell(event.Event{Type: event.CRDsStarted, Resources: 2}).
			at(1).tell(event.Event{Type: event.CRDsDone, Err: failed}).finish(failed),
			"install no image\n  definitions CustomResourceDefinitions failed 1s critical\n"},
		{"nothing belongs to no operation", new(script).at(0).node(event.NodeStarted, "shop:a", "").finish(nil), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.timelineText(); got != tt.want {
				t.Errorf("got:\n%swant:\n%s", got, tt.want)
			}
		})
	}
}

func TestNumberOfChangesIsLimited(t *testing.T) {
	s := install().node(event.NodeStarted, "shop:a", "")
	for i := range 3 * maxChanges {
		s.at(float64(i)).resource("shop:a", "Deployment/a", "InProgress", fmt.Sprint(i))
	}
	s.recorder.Read(func(tl *Timeline) {
		changes := tl.Operations[0].Spans[0].Resources[0].Changes
		if len(changes) != maxChanges || changes[0].MessageWithoutState() != "0" || changes[maxChanges-1].MessageWithoutState() != "299" || changes[1].MessageWithoutState() != "201" {
			t.Errorf("%d changes, from %v to %v", len(changes), changes[0], changes[len(changes)-1])
		}
	})
}

// TestCriticalPathOfRandomGraphs simulates operations with random graphs, in which every node
// starts as soon as its dependencies are done. It checks that the spans of the critical path
// add up to the whole duration of the operation.
func TestCriticalPathOfRandomGraphs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, end := simulated(r)
		s.recorder.Read(func(tl *Timeline) {
			path := tl.Operations[0].CriticalPath()
			at := begin
			for _, span := range path {
				if !span.Start.Equal(at) {
					t.Fatalf("seed %d: %s starts at %s, and the one before ended at %s", seed, span.ID, span.Start, at)
				}
				at = span.End
			}
			if at.Sub(begin) != end {
				t.Fatalf("seed %d: the path ends after %s, everything after %s", seed, at.Sub(begin), end)
			}
		})
	}
}

// simulated returns the events of an operation with a random graph, in chronological order,
// and its duration.
func simulated(r *rand.Rand) (*script, time.Duration) {
	n := 1 + r.IntN(12)
	type scripted struct {
		at    time.Duration
		what  event.Type
		node  string
		after string
	}
	var events []scripted
	ended := make([]time.Duration, n)
	var last time.Duration
	var ids []string
	for v := range n {
		id := fmt.Sprintf("shop:%d", v)
		ids = append(ids, id)
		var start time.Duration
		after := ""
		for w := range v {
			if r.IntN(3) == 0 && (after == "" || ended[w] > start) {
				start, after = ended[w], ids[w]
			}
		}
		ended[v] = start + time.Duration(1+r.IntN(1_000_000))*time.Microsecond
		last = max(last, ended[v])
		events = append(events, scripted{start, event.NodeStarted, id, after}, scripted{ended[v], event.NodeReady, id, ""})
	}
	slices.SortStableFunc(events, func(a, b scripted) int { return int(a.at - b.at) })
	s := new(script).at(0).begin("install").planned(event.Planned, ids...)
	for _, e := range events {
		s.now = begin.Add(e.at)
		s.node(e.what, e.node, e.after)
	}
	s.now = begin.Add(last)
	return s.finish(nil), last
}
