// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/event"
)

func TestEvent(t *testing.T) {
	start := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	at := start.Add
	tests := []struct {
		name string
		in   event.Event
		want string
	}{
		{"node started", event.Event{Time: at(0), Type: event.NodeStarted, Node: "shop:database"},
			"    0.0s  shop:database started\n"},
		{"with a message", event.Event{Time: at(1240 * time.Millisecond), Type: event.NodeStarted, Node: "shop:database", Message: "Secret/a, Service/b"},
			"    1.2s  shop:database started: Secret/a, Service/b\n"},
		{"after an hour", event.Event{Time: at(time.Hour), Type: event.NodeReady, Node: "shop"},
			" 3600.0s  shop ready\n"},
		{"failed", event.Event{Time: at(time.Second), Type: event.NodeFailed, Node: "shop", Err: errors.New("no image")},
			"    1.0s  shop failed: no image\n"},
		{"failed with message and error", event.Event{Time: at(time.Second), Type: event.NodeFailed, Node: "shop", Message: "gave up", Err: errors.New("no image")},
			"    1.0s  shop failed: gave up: no image\n"},
		{"message that the error repeats", event.Event{Time: at(time.Second), Type: event.NodeFailed, Node: "shop", Message: "no image", Err: errors.New("no image for web")},
			"    1.0s  shop failed: no image for web\n"},
		{"resource", event.Event{Time: at(time.Second), Type: event.ResourceChanged, Node: "shop:web", Resource: "Deployment/web", Message: "InProgress: 1 of 2"},
			"    1.0s  shop:web Deployment/web: InProgress: 1 of 2\n"},
		{"resource without a message", event.Event{Time: at(time.Second), Type: event.ResourceChanged, Resource: "Deployment/web"},
			"    1.0s  Deployment/web changed\n"},
		{"hook", event.Event{Time: at(time.Second), Type: event.HookDone, HookEvent: "pre-install", Hook: "Job/migrate"},
			"    1.0s  pre-install hook Job/migrate done\n"},
		{"failed hook", event.Event{Time: at(time.Second), Type: event.HookDone, HookEvent: "pre-install", Hook: "Job/migrate", Err: errors.New("Job/migrate failed: exited with code 1")},
			"    1.0s  pre-install hook Job/migrate failed: exited with code 1\n"},
		{"handler", event.Event{Time: at(time.Second), Type: event.HandlerRunning, HandlerEvent: "post-install", Chart: "shop", Message: "waiting for the post-install handler of shop"},
			"    1.0s  waiting for the post-install handler of shop\n"},
		{"handlers for which a node waits", event.Event{Time: at(time.Second), Type: event.HandlerRunning, Node: "shop/db", HandlerEvent: "wait", Chart: "shop/charts/db", Message: "waiting for handlers of shop/charts/db"},
			"    1.0s  shop/db: waiting for handlers of shop/charts/db\n"},
		{"completed handler", event.Event{Time: at(time.Second), Type: event.HandlerDone, Node: "shop/db", HandlerEvent: "wait", Chart: "shop/charts/db"},
			"    1.0s  shop/db wait handler of shop/charts/db done\n"},
		{"failed handler of a program", event.Event{Time: at(time.Second), Type: event.HandlerDone, HandlerEvent: "post-install", Err: errors.New("no license")},
			"    1.0s  post-install handler of this program failed: no license\n"},
		{"definitions", event.Event{Time: at(0), Type: event.CRDsStarted, Message: "applying 2 CustomResourceDefinitions", Resources: 2},
			"    0.0s  applying 2 CustomResourceDefinitions\n"},
		{"definition", event.Event{Time: at(0), Type: event.CRDApplied, Resource: "CustomResourceDefinition/a", Message: "created"},
			"    0.0s  CustomResourceDefinition/a: created\n"},
		{"failed definitions", event.Event{Time: at(0), Type: event.CRDsDone, Err: errors.New("forbidden"), Resources: 2},
			"    0.0s  forbidden\n"},
		{"no time", event.Event{Type: event.NodeDeleted, Node: "shop"},
			"    0.0s  shop deleted\n"},
		{"type of a later version", event.Event{Time: at(0), Type: "node-paused", Node: "shop"},
			"    0.0s  shop node-paused\n"},
		{"lines and control characters", event.Event{Time: at(0), Type: event.NodeFailed, Node: "shop", Message: "a\n\tb\x1b[31mc\u009bd\r"},
			"    0.0s  shop failed: a b [31mc d\n"},
		{"warning", event.Event{Time: at(time.Minute), Type: event.Warning, Message: "two\nlines"},
			"WARNING: two lines\n"},
		{"observing", event.Event{Time: at(time.Minute), Type: event.Observing, Message: "the API does not\nanswer"},
			"WARNING: the API does not answer\n"},
		{"resource of another namespace", event.Event{Time: at(0), Type: event.ResourceChanged, Node: "shop:web", Namespace: "other", Resource: "Pod/x", Message: "InProgress: 1 of 2"},
			"    0.0s  shop:web Pod/x in namespace other: InProgress: 1 of 2\n"},
		{"hook of another namespace", event.Event{Time: at(0), Type: event.HookDone, Namespace: "other", HookEvent: "test", Hook: "Job/migrate"},
			"    0.0s  test hook Job/migrate in namespace other done\n"},
		{"a line of 1,000 characters", event.Event{Type: event.Warning, Message: strings.Repeat("ü", 991)},
			"WARNING: " + strings.Repeat("ü", 991) + "\n"},
		{"a longer warning", event.Event{Type: event.Warning, Message: strings.Repeat("ü", 992)},
			"WARNING: " + strings.Repeat("ü", 990) + "…\n"},
		{"a longer event", event.Event{Time: at(0), Type: event.Planned, Message: strings.Repeat("x", 2000)},
			"    0.0s  " + strings.Repeat("x", 989) + "…\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			newPlainPrinter(&out, start).Event(tt.in)
			if got := out.String(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestRepetitionsAreNotPrinted(t *testing.T) {
	var out bytes.Buffer
	p := newPlainPrinter(&out, time.Time{})
	for range 3 {
		p.Event(event.Event{Time: time.Now(), Type: event.ResourceChanged, Resource: "Pod/a", Message: "pending"})
		p.Event(event.Event{Type: event.Warning, Message: "beware"})
		p.Warning(event.Event{Type: event.Warning, Message: "beware"})
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d lines:\n%s", got, &out)
	}
}

func TestSameTextInAnotherNamespace(t *testing.T) {
	var out bytes.Buffer
	p := newPlainPrinter(&out, time.Now())
	for range 2 {
		for _, namespace := range []string{"", "other"} {
			p.Event(event.Event{Type: event.ResourceChanged, Namespace: namespace, Resource: "Pod/a", Message: "pending"})
		}
	}
	if got, want := out.String(), "    0.0s  Pod/a: pending\n    0.0s  Pod/a in namespace other: pending\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEveryOutageIsPrinted(t *testing.T) {
	const lost, back = "the API does not answer", "the API answers again"
	for name, show := range map[string]func(*plainPrinter, event.Event){"Event": (*plainPrinter).Event, "Warning": (*plainPrinter).Warning} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := newPlainPrinter(&out, time.Now())
			for _, message := range []string{lost, lost, back, lost, back, back} {
				show(p, event.Event{Type: event.Observing, Message: message})
				show(p, event.Event{Type: event.Warning, Message: "beware"})
			}
			var want strings.Builder
			for _, message := range []string{lost, "beware", back, lost, back} {
				fmt.Fprintf(&want, "WARNING: %s\n", message)
			}
			if out.String() != want.String() {
				t.Errorf("got:\n%swant:\n%s", &out, &want)
			}
		})
	}
}

func TestWarningIgnoresOtherEvents(t *testing.T) {
	var out bytes.Buffer
	p := newPlainPrinter(&out, time.Now())
	p.Warning(event.Event{Type: event.NodeStarted, Node: "shop"})
	p.Warning(event.Event{Type: event.Warning, Message: "beware"})
	if got, want := out.String(), "WARNING: beware\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDelayedLines checks that the first line about a resource that is not ready is delayed,
// and is not printed if it is outdated by then.
func TestDelayedLines(t *testing.T) {
	changed := func(after time.Duration, resource, state, why string) (time.Duration, event.Event) {
		return after, event.Event{Type: event.ResourceChanged, Node: "shop", Resource: resource, State: state, Message: state + why}
	}
	type step struct {
		after time.Duration
		event event.Event
	}
	at := func(after time.Duration, e event.Event) step { return step{after, e} }
	waiting := step{0, event.Event{Type: event.Waiting, Message: "for the last 3 resources"}}
	failed := step{900 * time.Millisecond, event.Event{Type: event.Finished, Operation: &event.Operation{Ordered: true}, Err: errors.New("no")}}
	tests := []struct {
		name string
		in   []step
		want string
	}{
		{"ready at once", []step{at(changed(0, "Pod/a", "Ready", ""))}, ""},
		{"ready soon", []step{at(changed(0, "Pod/a", "InProgress", ": 0/1")), at(changed(900*time.Millisecond, "Pod/a", "Ready", ""))}, ""},
		{"ready late", []step{at(changed(0, "Pod/a", "InProgress", ": 0/1")), at(changed(3*time.Second, "Pod/a", "Ready", ""))},
			"    1.0s  shop Pod/a: InProgress: 0/1\n    3.0s  shop Pod/a: Ready\n"},
		{"the last that was heard", []step{at(changed(0, "Pod/a", "InProgress", ": 0/2")), at(changed(500*time.Millisecond, "Pod/a", "InProgress", ": 1/2"))},
			"    1.5s  shop Pod/a: InProgress: 1/2\n"},
		{"once told, at once", []step{at(changed(0, "Pod/a", "InProgress", ": 0/2")), at(changed(2*time.Second, "Pod/a", "InProgress", ": 1/2"))},
			"    1.0s  shop Pod/a: InProgress: 0/2\n    2.0s  shop Pod/a: InProgress: 1/2\n"},
		{"failures at once", []step{at(changed(0, "Job/a", "Failed", ": no"))}, "    0.0s  shop Job/a: Failed: no\n"},
		{"each for itself", []step{at(changed(0, "Pod/a", "InProgress", ": 0/1")), at(changed(300*time.Millisecond, "Pod/b", "Missing", "")), at(changed(400*time.Millisecond, "Pod/a", "Gone", ""))},
			"    1.3s  shop Pod/b: Missing\n"},
		{"waiting for the last", []step{waiting}, "    1.0s  for the last 3 resources\n"},
		{"waiting for all, until hooks run", []step{waiting, {900 * time.Millisecond, event.Event{Type: event.HookStarted, HookEvent: "post-install", Hook: "Job/a"}}},
			"    0.9s  post-install hook Job/a started\n"},
		{"waiting for the last of several", []step{waiting, {500 * time.Millisecond, event.Event{Type: event.NodeReady, Node: "shop:a"}}},
			"    0.5s  shop:a ready\n    1.0s  for the last 3 resources\n"},
		{"waiting for the last, not long", []step{waiting, failed}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				began := time.Now()
				p := newPlainPrinter(&out, began)
				for _, s := range tt.in {
					time.Sleep(time.Until(began.Add(s.after)))
					s.event.Time = time.Now()
					p.Event(s.event)
				}
				time.Sleep(time.Minute)
				p.Close()
				if got := out.String(); got != tt.want {
					t.Errorf("got:\n%swant:\n%s", got, tt.want)
				}
			})
		})
	}
}

func TestNothingIsPrintedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newPlainPrinter(&out, time.Now())
		p.Event(event.Event{Time: time.Now(), Type: event.ResourceChanged, Resource: "Pod/a", State: "InProgress", Message: "InProgress"})
		p.Close()
		time.Sleep(time.Minute)
		if out.Len() > 0 {
			t.Errorf("printed %q", &out)
		}
	})
}

func TestConcurrentEvents(t *testing.T) {
	const writers, each = 8, 50
	var out bytes.Buffer
	p := newPlainPrinter(&out, time.Now())
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				p.Event(event.Event{Type: event.NodeReady, Node: fmt.Sprintf("%d-%d", w, i)})
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != writers*each {
		t.Errorf("%d lines, want %d", len(lines), writers*each)
	}
	for _, line := range lines {
		if !strings.HasSuffix(line, " ready") {
			t.Errorf("broken line %q", line)
		}
	}
}
