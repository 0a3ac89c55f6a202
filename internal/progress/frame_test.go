// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/testutil/golden"
	"github.com/ordered-helm/helm/internal/timeline"
)

var began = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

func at(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

// recorded returns a recorder that has received events.
func recorded(events ...event.Event) *timeline.Recorder {
	r := new(timeline.Recorder)
	for _, e := range events {
		r.Event(e)
	}
	return r
}

var (
	unschedulable = failure.Cause{Object: "Pod rabbit-2", Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient memory"}
	crashLoop     = failure.Cause{Object: "Pod default/shop-api-server-56dc79dcd7-qh84s", Container: "main", Reason: "CrashLoopBackOff", Message: "exited with code 1, restarted 3 times", Count: 2}
	noMetrics     = failure.Cause{Object: "Pod default/shop-api-server-56dc79dcd7-qh84s", Container: "metrics", Reason: "NotReady", Message: "running, but not ready"}
)

// shop returns the events of an installation of a chart with three subcharts during the
// first 20 seconds.
func shop() []event.Event {
	operation := &event.Operation{Name: "install", Release: "shop", Namespace: "default", Revision: 1, Ordered: true, Deadline: at(300)}
	return []event.Event{
		{Time: at(0), Type: event.Started, Operation: operation},
		{Time: at(0), Type: event.Planned, Nodes: []event.PlannedNode{
			{ID: "shop/cache", Chart: "shop/cache", Resources: 2},
			{ID: "shop/db:storage", Chart: "shop/db", Layer: "storage", Resources: 1},
			{ID: "shop/queue:brokers", Chart: "shop/queue", Layer: "brokers", Resources: 3},
			{ID: "shop/db:engine", Chart: "shop/db", Layer: "engine", After: []string{"shop/db:storage"}, Resources: 2},
			{ID: "shop/db", Chart: "shop/db", After: []string{"shop/db:engine", "shop/db:storage"}, Resources: 4},
			{ID: "shop/queue:(Job/declare)", Chart: "shop/queue", After: []string{"shop/queue:brokers"}, Resources: 1},
			{ID: "shop:web", Chart: "shop", Layer: "web", AfterCharts: []string{"shop/db", "shop/queue"}, Resources: 2},
			{ID: "shop", Chart: "shop", After: []string{"shop:web"}, AfterCharts: []string{"shop/db", "shop/queue"}, Resources: 2},
		}},
		{Time: at(0.2), Type: event.HookStarted, Hook: "Job/check", HookEvent: "pre-install", Deadline: at(300.2)},
		{Time: at(0.2), Type: event.HookStarted, Hook: "Job/migrate", HookEvent: "pre-install", Deadline: at(300.2)},
		{Time: at(2), Type: event.HookDone, Hook: "Job/check", HookEvent: "pre-install"},
		{Time: at(3), Type: event.HookLog, Hook: "Job/migrate", HookEvent: "pre-install", Message: "applied 0042_add_index, 3 left"},
		{Time: at(5), Type: event.HookDone, Hook: "Job/migrate", HookEvent: "pre-install"},
		{Time: at(5), Type: event.NodeStarted, Node: "shop/cache"},
		{Time: at(5), Type: event.NodeStarted, Node: "shop/db:storage"},
		{Time: at(5), Type: event.NodeStarted, Node: "shop/queue:brokers"},
		{Time: at(5.1), Type: event.NodeApplied, Node: "shop/cache"},
		{Time: at(5.1), Type: event.NodeApplied, Node: "shop/db:storage"},
		{Time: at(5.1), Type: event.NodeApplied, Node: "shop/queue:brokers"},
		{Time: at(5.2), Type: event.ResourceChanged, Node: "shop/queue:brokers", Resource: "StatefulSet/rabbit", State: "InProgress", Message: "InProgress: Ready: 1/3", Deadline: at(65)},
		{Time: at(7), Type: event.NodeReady, Node: "shop/cache"},
		{Time: at(8), Type: event.NodeReady, Node: "shop/db:storage"},
		{Time: at(8), Type: event.NodeStarted, Node: "shop/db:engine", After: "shop/db:storage"},
		{Time: at(9), Type: event.ResourceChanged, Node: "shop/queue:brokers", Resource: "StatefulSet/rabbit", State: "InProgress", Message: "InProgress: Ready: 2/3", Causes: []failure.Cause{unschedulable}, Deadline: at(65)},
		{Time: at(9), Type: event.ResourceChanged, Node: "shop/queue:brokers", Resource: "Service/rabbit", State: "Ready", Message: "Ready"},
	}
}

// hooks returns the first events of the same installation, while its hooks run.
func hooks() []event.Event { return shop()[:6] }

// handlers returns the events of an installation with handlers that take long: one before the operation
// starts, one that runs, and one that has failed.
func handlers() []event.Event {
	return append([]event.Event{
		{Time: at(-1), Type: event.HandlerRunning, HandlerEvent: "pre-render", Chart: "shop", Since: at(-2), Message: "waiting for the pre-render handler of shop"},
		{Time: at(-0.5), Type: event.HandlerDone, HandlerEvent: "pre-render", Chart: "shop", Since: at(-2)},
	}, append(shop()[:2],
		event.Event{Time: at(6), Type: event.HandlerRunning, HandlerEvent: "wait", Chart: "shop/charts/db", Node: "shop/db", Since: at(5), Message: "waiting for handlers of shop/charts/db"},
		event.Event{Time: at(7), Type: event.HandlerRunning, HandlerEvent: "ready", Since: at(6), Message: "waiting for the ready handler of this program"},
		event.Event{Time: at(8), Type: event.HandlerDone, HandlerEvent: "ready", Since: at(6), Err: errors.New("no license")},
	)...)
}

// definitions returns the events of the same installation, which applies definitions first.
func definitions() []event.Event {
	return []event.Event{
		shop()[0],
		{Time: at(0.1), Type: event.CRDsStarted, Message: "applying 2 CustomResourceDefinitions", Resources: 2},
		{Time: at(0.2), Type: event.CRDApplied, Resource: "CustomResourceDefinition/widgets.example.com", Message: "created"},
	}
}

// appliedDefinitions returns the events of the same installation later.
func appliedDefinitions() []event.Event {
	done := event.Event{Time: at(0.8), Type: event.CRDsDone, Message: "2 CustomResourceDefinitions applied, and served by the cluster", Resources: 2}
	return append(append(definitions(), done), shop()[1:6]...)
}

// failing returns the events of the same installation after a node has failed.
func failing() []event.Event {
	err := errors.New("StatefulSet/rabbit was not ready within 60s")
	return append(shop(),
		event.Event{Time: at(8.1), Type: event.NodeApplied, Node: "shop/db:engine"},
		event.Event{Time: at(15), Type: event.ResourceChanged, Node: "shop/db:engine", Resource: "StatefulSet/db", Namespace: "data", State: "InProgress", Message: "InProgress: Ready: 0/1", Deadline: at(70)},
		event.Event{Time: at(19), Type: event.NodeFailed, Node: "shop/queue:brokers", Message: err.Error(), Err: err},
	)
}

// crashing returns the events of an installation whose first node, of many, crashes.
func crashing() []event.Event {
	events := chain(29)
	for i := range 8 {
		resource := fmt.Sprintf("NetworkPolicy/allow-%d", i)
		events = append(events, event.Event{Time: at(1.5), Type: event.ResourceChanged, Node: "shop:layer0", Resource: resource, State: "Missing", Message: "Missing", Deadline: at(26)})
	}
	return append(events,
		event.Event{Time: at(2), Type: event.ResourceChanged, Node: "shop:layer0", Resource: "StatefulSet/db", State: "InProgress", Message: "InProgress: Ready: 0/1", Deadline: at(26)},
		event.Event{Time: at(2), Type: event.ResourceChanged, Node: "shop:layer0", Resource: "Deployment/api-server", State: "InProgress", Message: "InProgress: Available: 0/1", Causes: []failure.Cause{crashLoop, noMetrics}, Deadline: at(26)},
	)
}

// crashed returns the events of the same installation after the node has failed.
func crashed() []event.Event {
	err := errors.New("Deployment/api-server was not ready within 25s: Pod default/shop-api-server-56dc79dcd7-qh84s container main: CrashLoopBackOff: exited with code 1, restarted 3 times")
	return append(crashing(), event.Event{Time: at(26), Type: event.NodeFailed, Node: "shop:layer0", Message: err.Error(), Err: err})
}

// undone returns the events of the same installation while it is uninstalled because of
// --atomic.
func undone() []event.Event {
	operation := &event.Operation{Name: "uninstall", Release: "shop", Namespace: "default", Revision: 1, Ordered: true}
	return append(crashed(),
		event.Event{Time: at(26), Type: event.Started, Operation: operation},
		event.Event{Time: at(26), Type: event.Planned, Nodes: []event.PlannedNode{{ID: "shop:layer0", Chart: "shop", Layer: "layer0", Resources: 10}}},
		event.Event{Time: at(26), Type: event.NodeDeleting, Node: "shop:layer0"})
}

// rejected returns the events of an installation in which the server rejects an object.
func rejected() []event.Event {
	err := errors.New(`Deployment/api-server could not be applied: admission webhook "policy.example.com" denied the request: container main must not run as root, and needs limits for memory and for CPU, as the policy of this cluster demands since the beginning of the year`)
	return append(chain(2), event.Event{Time: at(2), Type: event.NodeFailed, Node: "shop:layer0", Message: err.Error(), Err: err})
}

// chain returns the first events of an installation of n nodes, each of which depends on the one
// before it. The first one is written.
func chain(n int) []event.Event {
	var nodes []event.PlannedNode
	for i := range n {
		node := event.PlannedNode{ID: fmt.Sprintf("shop:layer%d", i), Chart: "shop", Layer: fmt.Sprintf("layer%d", i), Resources: 10}
		if i > 0 {
			node.After = []string{nodes[i-1].ID}
		}
		nodes = append(nodes, node)
	}
	return []event.Event{
		{Time: at(0), Type: event.Started, Operation: &event.Operation{Name: "install", Release: "shop", Namespace: "default", Revision: 1, Ordered: true, Deadline: at(300)}},
		{Time: at(0), Type: event.Planned, Nodes: nodes},
		{Time: at(1), Type: event.NodeStarted, Node: "shop:layer0"},
		{Time: at(1.2), Type: event.NodeApplied, Node: "shop:layer0"},
	}
}

// ended returns the events of the same installation after it has finished.
func ended() []event.Event {
	err := errors.New("StatefulSet/rabbit was not ready within 60s")
	return append(failing(),
		event.Event{Time: at(21), Type: event.Finished, Operation: new(event.Operation), Err: err})
}

// complete returns the events of a successful installation.
func complete() []event.Event {
	return append(shop(),
		event.Event{Time: at(10), Type: event.NodeReady, Node: "shop/db:engine"},
		event.Event{Time: at(10), Type: event.NodeStarted, Node: "shop/db", After: "shop/db:engine"},
		event.Event{Time: at(10.4), Type: event.NodeReady, Node: "shop/db"},
		event.Event{Time: at(14), Type: event.NodeReady, Node: "shop/queue:brokers"},
		event.Event{Time: at(14), Type: event.NodeStarted, Node: "shop/queue:(Job/declare)", After: "shop/queue:brokers"},
		event.Event{Time: at(16), Type: event.NodeReady, Node: "shop/queue:(Job/declare)"},
		event.Event{Time: at(16), Type: event.NodeStarted, Node: "shop:web", After: "shop/queue:(Job/declare)"},
		event.Event{Time: at(19.5), Type: event.NodeReady, Node: "shop:web"},
		event.Event{Time: at(19.5), Type: event.NodeStarted, Node: "shop", After: "shop:web"},
		event.Event{Time: at(20), Type: event.NodeReady, Node: "shop"},
		event.Event{Time: at(20), Type: event.Finished, Operation: new(event.Operation)})
}

// external returns the events of an installation that waits for external dependencies: of a chart, of a
// node, and of a chart whose resources are all in subcharts.
func external() []event.Event {
	return []event.Event{
		{Time: at(0), Type: event.Started, Operation: &event.Operation{Name: "install", Release: "shop", Namespace: "default", Revision: 1, Ordered: true, Deadline: at(300)}},
		{Time: at(0), Type: event.Planned, Nodes: []event.PlannedNode{
			{ID: "shop/db", Chart: "shop/db", Resources: 2},
			{ID: "shop/db/backup", Chart: "shop/db/backup", Resources: 1, After: []string{"shop/db/backup:(external dependencies)"}},
			{ID: "shop/auth:server", Chart: "shop/auth", Layer: "server", Resources: 1, After: []string{"shop/auth:server:(external dependencies)"}},
			{ID: "shop", Chart: "shop", Resources: 1, After: []string{"shop:(external dependencies)"}, AfterCharts: []string{"shop/auth"}},
			{ID: "shop/auth:server:(external dependencies)", Chart: "shop/auth", External: []string{"Secret/license"}},
			{ID: "shop/db/backup:(external dependencies)", Chart: "shop/db/backup", External: []string{"release:storage"}},
			{ID: "shop/mail:(external dependencies)", Chart: "shop/mail", External: []string{"Secret/mail"}},
			{ID: "shop:(external dependencies)", Chart: "shop", External: []string{"Secret/dns"}, AfterCharts: []string{"shop/auth"}},
		}},
		{Time: at(0), Type: event.NodeStarted, Node: "shop/db"},
		{Time: at(0), Type: event.NodeStarted, Node: "shop/auth:server:(external dependencies)", Message: "waiting for Secret/license"},
		{Time: at(0), Type: event.NodeStarted, Node: "shop/db/backup:(external dependencies)", Message: "waiting for release:storage"},
		{Time: at(0), Type: event.ResourceChanged, Node: "shop/auth:server:(external dependencies)", Resource: "Secret/license", State: "Missing", Message: "Missing: it does not exist", Deadline: at(300)},
		{Time: at(0), Type: event.ResourceChanged, Node: "shop/db/backup:(external dependencies)", Resource: "release:storage", State: "InProgress", Message: "InProgress: its last revision is pending-upgrade", Deadline: at(300)},
		{Time: at(0), Type: event.NodeStarted, Node: "shop/mail:(external dependencies)", Message: "waiting for Secret/mail"},
		{Time: at(1), Type: event.NodeReady, Node: "shop/mail:(external dependencies)"},
		{Time: at(2), Type: event.NodeReady, Node: "shop/db"},
	}
}

// externalFailed returns the events of the same installation if a release is not deployed in time.
func externalFailed() []event.Event {
	err := errors.New("release:storage is not deployed: its last revision is pending-upgrade")
	return append(external(),
		event.Event{Time: at(3), Type: event.NodeReady, Node: "shop/auth:server:(external dependencies)"},
		event.Event{Time: at(3), Type: event.NodeStarted, Node: "shop/auth:server", After: "shop/auth:server:(external dependencies)"},
		event.Event{Time: at(4), Type: event.NodeReady, Node: "shop/auth:server"},
		event.Event{Time: at(8), Type: event.NodeFailed, Node: "shop/db/backup:(external dependencies)", Err: err, Message: err.Error()},
		event.Event{Time: at(8), Type: event.Finished, Err: err, Operation: new(event.Operation)})
}

// unordered returns the events of an operation that waits for all resources at the same time.
func unordered() []event.Event {
	return []event.Event{
		{Time: at(0), Type: event.Started, Operation: &event.Operation{Name: "upgrade", Release: "shop", Namespace: "default", Revision: 7}},
		{Time: at(1), Type: event.Waiting, Message: "waiting for 3 resources to become ready", Resources: 3},
		{Time: at(1), Type: event.ResourceChanged, Resource: "Deployment/web", State: "InProgress", Message: "InProgress: Available: 0/2", Deadline: at(301)},
		{Time: at(1), Type: event.ResourceChanged, Resource: "Service/web", State: "Ready", Message: "Ready"},
	}
}

// removing returns the events of an uninstall in reverse order.
func removing() []event.Event {
	return []event.Event{
		{Time: at(0), Type: event.Started, Operation: &event.Operation{Name: "uninstall", Release: "shop", Namespace: "default", Revision: 7, Ordered: true}},
		{Time: at(0), Type: event.Planned, Nodes: []event.PlannedNode{
			{ID: "shop:web", Chart: "shop", Layer: "web", Resources: 2}, {ID: "shop/db:storage", Chart: "shop/db", Layer: "storage", Resources: 1},
			{ID: "shop:base", Chart: "shop", Layer: "base", Resources: 2},
		}},
		{Time: at(1), Type: event.NodeDeleting, Node: "shop/db:storage"},
		{Time: at(2), Type: event.NodeDeleted, Node: "shop/db:storage"},
		{Time: at(2), Type: event.NodeDeleting, Node: "shop:web"},
		{Time: at(4), Type: event.ResourceChanged, Node: "shop:web", Resource: "Pod/web-1", State: "Terminating", Message: "Terminating: finalizer example.com/hold", Deadline: at(60)},
	}
}

func TestFrame(t *testing.T) {
	plain := newTheme(true, false)
	tests := []struct {
		name          string
		events        []event.Event
		theme         theme
		width, height int
		after         float64
	}{
		{"hooks", hooks(), plain, 90, 30, 3.4},
		{"handlers", handlers(), plain, 90, 30, 9},
		{"definitions", definitions(), plain, 90, 30, 0.5},
		{"external dependencies", external(), plain, 90, 30, 5},
		{"ready external dependencies", externalFailed()[:len(externalFailed())-2], plain, 90, 30, 7},
		{"applied definitions", appliedDefinitions(), plain, 90, 30, 3.4},
		{"failed definitions", append(definitions(), event.Event{Time: at(1), Type: event.CRDsDone, Err: errors.New("forbidden")}), plain, 90, 30, 2},
		{"on its way, wide", shop(), plain, 120, 30, 20},
		{"on its way, 80 columns", shop(), plain, 80, 24, 20},
		{"on its way, narrow", shop(), plain, 40, 24, 20},
		{"on its way, 20 columns", shop(), plain, 20, 24, 20},
		{"on its way, 8 lines", shop(), plain, 80, 8, 20},
		{"on its way, 3 lines", shop(), plain, 80, 3, 20},
		{"on its way, 1 line", shop(), plain, 80, 1, 20},
		{"on its way, ASCII", shop(), newTheme(false, false), 80, 24, 20},
		{"on its way, colors", shop(), newTheme(true, true), 80, 24, 20},
		{"failing", failing(), plain, 100, 30, 20},
		{"crashing", crashing(), plain, 80, 23, 20},
		{"crashing, tall", crashing(), plain, 80, 50, 20},
		{"crashing, 5 lines", crashing(), plain, 80, 5, 20},
		{"crashed", crashed(), plain, 80, 23, 27},
		{"undone", undone(), plain, 80, 23, 27},
		{"rejected", rejected(), plain, 80, 23, 27},
		{"unordered", unordered(), plain, 80, 24, 12},
		{"removing", removing(), plain, 80, 24, 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := frameRenderer{theme: tt.theme, width: tt.width, height: tt.height, now: at(tt.after), frameNumber: 3}
			var lines []string
			recorded(tt.events...).Read(func(tl *timeline.Timeline) { lines = s.frame(tl) })
			fits(t, lines, tt.width, tt.height)
			checkGolden(t, tt.name, lines)
		})
	}
}

func TestSummary(t *testing.T) {
	tests := []struct {
		name   string
		events []event.Event
		width  int
	}{
		{"summary", complete(), 80},
		{"summary, 20 columns", complete(), 20},
		{"summary of a failure", ended(), 100},
		{"summary of handlers", append(handlers(), event.Event{Time: at(9), Type: event.Finished, Operation: new(event.Operation)}), 80},
		{"summary of many", many(200, true), 60},
		{"summary of external dependencies", externalFailed(), 90},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var lines []string
			recorded(tt.events...).Read(func(tl *timeline.Timeline) { lines = summary(newTheme(true, false), tl, tt.width) })
			fits(t, lines, tt.width, len(lines))
			checkGolden(t, tt.name, lines)
		})
	}
}

// many returns the events of an installation of many nodes, which are either all ready or
// all running.
func many(n int, ready bool) []event.Event {
	var nodes []event.PlannedNode
	for i := range n {
		chart := fmt.Sprintf("shop/sub%03d", i/10)
		nodes = append(nodes, event.PlannedNode{ID: fmt.Sprintf("%s:layer%d", chart, i%10), Chart: chart, Layer: fmt.Sprintf("layer%d", i%10), Resources: 1})
	}
	events := []event.Event{shop()[0], {Time: at(0), Type: event.Planned, Nodes: nodes}}
	for i, node := range nodes {
		events = append(events, event.Event{Time: at(1), Type: event.NodeStarted, Node: node.ID})
		if ready {
			events = append(events, event.Event{Time: at(2 + float64(i)/100), Type: event.NodeReady, Node: node.ID})
		}
	}
	if ready {
		events = append(events, event.Event{Time: at(9), Type: event.Finished, Operation: new(event.Operation)})
	}
	return events
}

// TestFrameOfAnything draws frames for various events on terminals of various sizes, and
// checks that no frame is larger than the terminal.
func TestFrameOfAnything(t *testing.T) {
	scripts := map[string][]event.Event{
		"nothing": nil, "5,000 nodes": many(5000, false), "on its way": shop(), "failing": failing(), "removing": removing(),
		"other scripts": {
			shop()[0],
			{Time: at(0), Type: event.Planned, Nodes: []event.PlannedNode{
				{ID: "店/データベース:ストレージ", Chart: "店/データベース", Layer: "ストレージ"}, {ID: "店:👩‍💻", Chart: "店", Layer: "👩‍💻", After: []string{"店:مرحبا"}},
				{ID: "店:(K/\x1b[2J\r)", Chart: "店", After: []string{"店:(K/\a)"}},
			}},
			{Time: at(1), Type: event.NodeStarted, Node: "店/データベース:ストレージ"},
			{Time: at(1), Type: event.ResourceChanged, Node: "店/データベース:ストレージ", Resource: "Pod/x", State: "InProgress", Message: "InProgress: \x1b[2Jé́́\n\t後"},
			{Time: at(1), Type: event.NodeStarted, Node: "店:(K/\x1b[2J\r)"},
			{Time: at(1), Type: event.ResourceChanged, Node: "店:(K/\x1b[2J\r)", Resource: "K/\x1b[2J\r", State: "InProgress"},
			{Time: at(1), Type: event.HookStarted, Hook: "K/\x1b[2J\r", HookEvent: "test"},
		},
	}
	for name, events := range scripts {
		r := recorded(events...)
		for _, width := range []int{1, 2, 5, 10, 19, 20, 39, 40, 79, 80, 200} {
			for _, height := range []int{0, 1, 2, 3, 7, 24, 100} {
				s := frameRenderer{theme: newTheme(width%2 == 0, height%2 == 0), width: width, height: height, now: at(20)}
				t.Run(fmt.Sprintf("%s on %dx%d", name, width, height), func(t *testing.T) {
					r.Read(func(tl *timeline.Timeline) { fits(t, s.frame(tl), width, height) })
				})
			}
		}
	}
}

// fits checks that lines fit on a terminal and cannot move its cursor.
func fits(t *testing.T, lines []string, width, height int) {
	t.Helper()
	if len(lines) > max(height, 1) {
		t.Errorf("%d lines on a screen of %d", len(lines), height)
	}
	for _, line := range lines {
		if got := ansi.StringWidth(line); got > width {
			t.Errorf("%d columns on a screen of %d: %q", got, width, line)
		}
		if strings.Contains(line, "\x1b[2J") {
			t.Errorf("a sequence of others in %q", line)
		}
		if bare := ansi.Strip(line); strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("control characters in %q", line)
		}
	}
}

// checkGolden compares lines with the golden file of a test.
func checkGolden(t *testing.T, name string, lines []string) {
	t.Helper()
	golden.Assert(t, strings.Join(lines, "\n")+"\n", strings.NewReplacer(" ", "-", ",", "").Replace(name)+".txt")
}

// BenchmarkFrame draws a frame of 5,000 running nodes.
func BenchmarkFrame(b *testing.B) {
	r := recorded(many(5000, false)...)
	s := frameRenderer{theme: newTheme(true, true), width: 120, height: 40, now: at(20)}
	for b.Loop() {
		r.Read(func(tl *timeline.Timeline) { s.frame(tl) })
	}
}
