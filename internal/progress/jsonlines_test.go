// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/event"
)

// uninstalledAfterFailure returns the events of an installation that fails and is uninstalled
// because of --atomic. Every field is set in one of the events.
func uninstalledAfterFailure() []event.Event {
	failed := errors.New("Deployment/web was not ready within 5s")
	install := &event.Operation{Name: "install", Release: "shop", Namespace: "default", Revision: 1, Ordered: true, Deadline: at(300)}
	uninstall := &event.Operation{Name: "uninstall", Release: "shop", Namespace: "default", Revision: 1}
	return []event.Event{
		{Time: at(0), Type: event.Started, Operation: install},
		{Time: at(0.5), Type: event.Warning, Message: "beware"},
		{Time: at(0.5), Type: event.Planned, Message: "deploying 3 resources in 2 nodes", Nodes: []event.PlannedNode{
			{ID: "shop/db", Chart: "shop/db", Resources: 1},
			{ID: "shop:web", Chart: "shop", Layer: "web", After: []string{"shop:base"}, AfterCharts: []string{"shop/db"}, Resources: 2},
		}},
		{Time: at(1), Type: event.HookStarted, Hook: "Job/m", HookEvent: "pre-install", Deadline: at(301)},
		{Time: at(2), Type: event.HookLog, Hook: "Job/m", HookEvent: "pre-install", Message: "3 left"},
		{Time: at(3), Type: event.HookDone, Hook: "Job/m", HookEvent: "pre-install"},
		{Time: at(3), Type: event.HandlerRunning, HandlerEvent: "pre-install", Chart: "shop", Since: at(2), Message: "waiting for the pre-install handler of shop"},
		{Time: at(3), Type: event.HandlerDone, HandlerEvent: "pre-install", Chart: "shop", Since: at(2)},
		{Time: at(3), Type: event.NodeStarted, Node: "shop:web", After: "shop/db", Message: "Deployment/web"},
		{Time: at(4), Type: event.ResourceChanged, Node: "shop:web", Resource: "Deployment/web", Namespace: "other", State: "InProgress",
			Message: "InProgress: Available: 0/1", Cause: "Pod web-1: ImagePullBackOff", Deadline: at(8)},
		{Time: at(8), Type: event.NodeFailed, Node: "shop:web", Message: failed.Error(), Err: failed},
		{Time: at(8), Type: event.Started, Operation: uninstall},
		{Time: at(8), Type: event.Waiting, Message: "waiting for 3 resources to be deleted", Resources: 3},
		{Time: at(9), Type: event.Finished, Operation: uninstall},
		{Time: at(9.1236), Type: event.Finished, Operation: install, Err: failed},
	}
}

func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	d := New(Options{Mode: JSON, Out: &out})
	for _, e := range uninstalledAfterFailure() {
		d.Event(e)
	}
	d.Close()
	checkGolden(t, "undone json", strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"))
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestMode(t *testing.T) {
	for _, text := range []string{"auto", "tty", "plain", "json", "none"} {
		if mode, err := ParseMode(text); string(mode) != text || err != nil {
			t.Errorf("%s: %q, %v", text, mode, err)
		}
	}
	if _, err := ParseMode("TTY"); err == nil || err.Error() != `invalid value "TTY": must be one of auto, tty, plain, json, none` {
		t.Errorf("%v", err)
	}
	in := func(term string) func(string) string { return func(string) string { return term } }
	for _, tt := range []struct {
		mode, want Mode
		refusal    string
	}{
		{mode: Auto, want: Plain}, {mode: JSON, want: JSON}, {mode: None, want: None}, {mode: Plain, want: Plain},
		{mode: TTY, refusal: "standard error is not a terminal: use plain or auto"},
	} {
		got, err := Resolve(tt.mode, nil, in("xterm"))
		if got != tt.want || (err == nil) != (tt.refusal == "") || err != nil && err.Error() != tt.refusal {
			t.Errorf("%s: %q, %v", tt.mode, got, err)
		}
	}
	if modes := Modes(); !slices.Contains(modes, Auto) || len(modes) != 5 {
		t.Errorf("modes are %v", modes)
	}
}

func TestLocale(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false}, {map[string]string{"LANG": "C"}, false}, {map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true}, {map[string]string{"LANG": "C.UTF-8", "LC_ALL": "C"}, false},
		{map[string]string{"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, true},
	} {
		if got := showsUnicode(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %v", tt.env, got)
		}
	}
}
