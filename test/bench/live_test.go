// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ordered-helm/helm/internal/progress"
	"github.com/ordered-helm/helm/pkg/action"
)

// BenchmarkLiveView measures the live view of an operation in a terminal: the share of a CPU
// core that it uses, and the longest time for which it blocks the sender of an event.
func BenchmarkLiveView(b *testing.B) {
	for _, nodes := range []int{20, 5000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			events := busy(nodes)
			silent := progress.New(progress.Options{Mode: progress.None, Out: io.Discard})
			without, _ := play(b, events, silent)

			terminal, shown := openTerminal(b)
			view := progress.New(progress.Options{Mode: progress.TTY, Out: terminal, Terminal: terminal, Env: os.Getenv})
			with, longest := play(b, events, view)
			view.Close()
			b.ReportMetric(100*(with-without), "%core")
			b.ReportMetric(longest.Seconds()*1000, "longest-ms")
			b.ReportMetric(0, "ns/op")
			if err := terminal.Close(); err != nil || <-shown == 0 {
				b.Errorf("nothing was shown: %v", err)
			}
		})
	}
}

// play sends events to a display for several seconds. It returns the share of a CPU core that
// the process used, and the longest time that the display took for one event.
func play(b *testing.B, events []action.Event, to progress.Display) (core float64, longest time.Duration) {
	b.Helper()
	const lasts = 8 * time.Second
	before, began := processorTime(b), time.Now()
	for i, e := range events {
		time.Sleep(time.Until(began.Add(lasts * time.Duration(i) / time.Duration(len(events)))))
		e.Time = time.Now()
		to.Event(e)
		longest = max(longest, time.Since(e.Time))
	}
	return (processorTime(b) - before).Seconds() / time.Since(began).Seconds(), longest
}

// busy returns the events of an install whose nodes are all deployed in parallel, with five
// changes of status each.
func busy(nodes int) []action.Event {
	operation := &action.Operation{Name: "install", Release: "shop", Namespace: "default", Revision: 1, Ordered: true}
	planned := action.Event{Type: action.EventPlanned}
	var events []action.Event
	for i := range nodes {
		chart := fmt.Sprintf("shop/sub%d", i/20)
		n := action.PlannedNode{ID: fmt.Sprintf("%s:layer%d", chart, i), Chart: chart, Layer: fmt.Sprintf("layer%d", i), Resources: 1}
		planned.Nodes = append(planned.Nodes, n)
		events = append(events, action.Event{Type: action.EventNodeStarted, Node: n.ID})
	}
	for step := range 5 {
		for _, n := range planned.Nodes {
			events = append(events, action.Event{
				Type: action.EventResourceChanged, Node: n.ID, Resource: "Deployment/" + n.Layer,
				State: "InProgress", Message: fmt.Sprintf("InProgress: Available: %d/5", step),
			})
		}
	}
	for _, n := range planned.Nodes {
		events = append(events, action.Event{Type: action.EventNodeReady, Node: n.ID})
	}
	return append([]action.Event{{Type: action.EventStarted, Operation: operation}, planned}, events...)
}

// openTerminal opens a pseudoterminal of 120 columns and 40 lines. When the terminal is
// closed, shown receives the number of bytes that were written to it.
func openTerminal(b *testing.B) (terminal *os.File, shown <-chan int64) {
	b.Helper()
	controller, terminal, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = controller.Close() })
	if err := pty.Setsize(terminal, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		b.Fatal(err)
	}
	bytes := make(chan int64, 1)
	go func() {
		n, _ := io.Copy(io.Discard, controller) // until it is closed, which returns an error on Linux
		bytes <- n
	}()
	return terminal, bytes
}

// processorTime returns the processor time that the process has used until now.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
