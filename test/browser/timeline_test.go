// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/timeline"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/browser"
)

// operations records the events of two operations, with the given number of nodes whose names
// are difficult to draw: an install that fails after the time took, and an uninstall.
func operations(nodes int, took time.Duration) *timeline.Recorder {
	began := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	at := func(part float64) time.Time { return began.Add(time.Duration(part * float64(took))) }
	recorder := new(timeline.Recorder)
	tell := func(part float64, e action.Event) {
		e.Time = at(part)
		recorder.Event(e)
	}
	failed := errors.New("Deployment/web was not ready: " + names[1])
	tell(0, action.Event{Type: action.EventStarted, Operation: &action.Operation{Name: "install", Release: "shop", Namespace: "default", Revision: 1, Ordered: true}})
	var planned []action.PlannedNode
	for i := range nodes {
		planned = append(planned, action.PlannedNode{ID: fmt.Sprintf("shop:%s%d", names[i%len(names)], i), Chart: "shop", Resources: 1})
	}
	tell(0, action.Event{Type: action.EventPlanned, Nodes: append(planned, action.PlannedNode{ID: "shop", Chart: "shop"})})
	tell(0, action.Event{Type: action.EventHookStarted, Hook: "Job/" + names[8], HookEvent: "pre-install"})
	tell(0.1, action.Event{Type: action.EventHookDone, Hook: "Job/" + names[8], HookEvent: "pre-install"})
	tell(0.05, action.Event{Type: action.EventHandlerRunning, HandlerEvent: "pre-install", Chart: names[8], Since: at(0.02)})
	tell(0.1, action.Event{Type: action.EventHandlerDone, HandlerEvent: "pre-install", Chart: names[8], Since: at(0.02)})
	step := 0.7 / float64(nodes)
	for i, n := range planned {
		start, after := 0.1+step*float64(i), ""
		if i > 0 {
			after = planned[i-1].ID
		}
		tell(start, action.Event{Type: action.EventNodeStarted, Node: n.ID, After: after})
		tell(start+step/4, action.Event{Type: action.EventNodeApplied, Node: n.ID})
		tell(start+step/3, action.Event{Type: action.EventResourceChanged, Node: n.ID, Resource: "Deployment/web", State: "InProgress",
			Message: "InProgress: Available: 0/1", Cause: "Pod web-1: " + strings.Repeat("Unschedulable ", 20)})
		if i < nodes-1 {
			tell(start+step, action.Event{Type: action.EventNodeReady, Node: n.ID})
		}
	}
	tell(0.8, action.Event{Type: action.EventNodeFailed, Node: planned[nodes-1].ID, Err: failed, Message: failed.Error()})
	tell(0.8, action.Event{Type: action.EventStarted, Operation: &action.Operation{Name: "uninstall", Release: "shop", Namespace: "default", Revision: 1}})
	tell(0.8, action.Event{Type: action.EventWaiting, Message: "waiting for 3 resources to be deleted", Resources: 3})
	tell(1, action.Event{Type: action.EventFinished, Operation: new(action.Operation)})
	tell(1, action.Event{Type: action.EventFinished, Operation: new(action.Operation), Err: failed})
	return recorder
}

// timelineChecks is a script that returns errors in a timeline, such as texts that overlap.
const timelineChecks = `(() => {
  const wrong = [], box = e => e.getBoundingClientRect();
  const say = text => { if (wrong.length < 20) wrong.push(text); };
  if (document.title !== "install shop") say("the title is " + document.title);
  if (document.documentElement.scrollWidth > innerWidth) say("the page is " + document.documentElement.scrollWidth + " wide");
  if (performance.getEntriesByType("resource").length) say("it fetches something");
  const data = JSON.parse(document.getElementById("timeline").textContent), charts = document.querySelectorAll(".chart");
  if (charts.length !== data.operations.length) say(charts.length + " charts");
  data.operations.forEach((operation, i) => {
    const rows = charts[i].querySelectorAll(".row");
    if (rows.length !== operation.spans.length) say(rows.length + " rows for " + operation.spans.length + " spans");
    const ticks = [...charts[i].querySelectorAll(".tick")].map(box), axis = box(charts[i].querySelector(".axis .lane"));
    if (ticks.length < 2) say("no axis");
    ticks.forEach((t, n) => {
      if (t.left < axis.left - 1 || t.right > axis.right + 1) say("a tick is outside of the axis");
      if (n && t.left < ticks[n - 1].right) say("ticks overlap");
    });
    for (const row of rows) {
      const name = row.querySelector(".name"), span = operation.spans.find(s => name.title === s.id);
      const bar = row.querySelector(".bar"), lane = box(row.querySelector(".lane"));
      if (box(name).width < 60) say("no space for a name");
      if (box(name).right > box(row).right + 1) say("a name is outside of its row");
      if (span.critical !== row.classList.contains("critical")) say(span.id + " is critical: " + span.critical);
      if (span.start === undefined) {
        if (bar || !row.textContent.includes("skipped")) { say(span.id + " skipped"); continue; }
        const none = box(row.querySelector(".none")), lane = box(row.querySelector(".lane"));
        if (Math.abs(none.top + none.bottom - lane.top - lane.bottom) > 4) say("\"skipped\" is not in the middle of the row of " + span.id);
        continue;
      }
      const b = box(bar), total = operation.end - operation.start;
      const left = lane.left + lane.width * (span.start - operation.start) / total, width = lane.width * (span.end - span.start) / total;
      if (Math.abs(b.left - left) > 2 || Math.abs(b.width - Math.max(width, 3)) > 2) say("the bar of " + span.id + " does not say when");
      if (b.bottom > box(row).bottom + 1) say("a bar is outside of its row");
    }
  });
  return wrong;
})()`

// hoverChecks is a script that moves the mouse over the bar of the node that started last, and
// returns errors in what the page then shows.
const hoverChecks = `(() => {
  const wrong = [], bars = document.querySelectorAll(".row.failed .bar");
  if (bars.length !== 1) return [bars.length + " bars failed"];
  bars[0].scrollIntoView();
  bars[0].dispatchEvent(new Event("mouseenter"));
  const why = document.getElementById("why"), box = why.getBoundingClientRect();
  if (why.hidden) wrong.push("nothing is shown");
  for (const text of ["Deployment/web was not ready", "InProgress: Available: 0/1", "Unschedulable", "on the critical path"])
    if (!why.textContent.includes(text)) wrong.push("it does not say " + text + ": " + why.textContent);
  if (box.left < 0 || box.right > innerWidth || box.top < 0 || box.bottom > innerHeight) wrong.push("it is outside of the window");
  bars[0].dispatchEvent(new Event("mouseleave"));
  if (!why.hidden) wrong.push("it stays");
  return wrong;
})()`

// textColors is a script that returns the colors of texts and of their backgrounds.
const textColors = `[...document.querySelectorAll("h1, .failed, .facts, .error, .legend li, .tick, .name, .took, .none")].map(e => {
  let ground = e;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
  return [getComputedStyle(e).color, getComputedStyle(ground).backgroundColor, e.textContent.slice(0, 40)];
})`

// TestTimeline checks timelines in the views of Views, and in a window of the size of a phone.
func TestTimeline(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	views := browser.Views()
	views["telephone"] = browser.View{Width: 390, Height: 844}
	for name, recorder := range map[string]*timeline.Recorder{
		"seconds": operations(9, 21*time.Second), "hours": operations(60, 3*time.Hour), "an instant": operations(3, 40*time.Millisecond),
	} {
		file := filepath.Join(t.TempDir(), name+".html")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		recorder.Read(func(tl *timeline.Timeline) { err = timeline.HTML(out, tl) })
		if err = errors.Join(err, out.Close()); err != nil {
			t.Fatal(err)
		}
		for view, v := range views {
			t.Run(name+", "+view, func(t *testing.T) {
				page := b.Open(t, file, v)
				for _, script := range []string{timelineChecks, hoverChecks} {
					if wrong := browser.Evaluate[[]string](page, script); len(wrong) > 0 {
						t.Errorf("%s", strings.Join(wrong, "\n"))
					}
				}
				for _, c := range browser.Evaluate[[][3]string](page, textColors) {
					if contrast, err := browser.Contrast(c[0], c[1]); err != nil || contrast < browser.MinContrast {
						t.Errorf("%q is not readable: %s on %s, contrast %.1f, %v", c[2], c[0], c[1], contrast, err)
					}
				}
			})
		}
	}
}
