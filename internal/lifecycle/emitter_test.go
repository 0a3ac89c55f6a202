// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func nothing(context.Context, *Request) error { return nil }

func TestOnErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		event  Event
		weight float64
		want   string
	}{
		{"misspelled event", "post-rendr", 0, `there is no event "post-rendr": did you mean "post-render"?`},
		{"unknown event", "tuesday", 0, `there is no event "tuesday": must be one of chart-loaded, pre-render,`},
		{"wait", Wait, 0, "use OnWait"},
		{"negative weight", PreRender, -0.1, "the weight of a handler of pre-render is -0.1: must be a number from 0 to 1"},
		{"weight above 1", PreRender, 1.5, "must be a number from 0 to 1"},
		{"weight that is not a number", PreRender, math.NaN(), "the weight of a handler of pre-render is NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Emitter
			if err := e.On(c.event, c.weight, nothing); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if Has(&e, c.event) {
				t.Error("the handler is registered")
			}
		})
	}
}

// TestOrder registers handlers in random order, and checks the order in which they are called.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for security
	for range 500 {
		var e Emitter
		var called, registered []registration
		for range random.IntN(12) {
			r := registration{weight: float64(random.IntN(4)) / 3, chart: []string{"", "a", "a/charts/b", "a/charts/b/charts/c"}[random.IntN(4)]}
			index := len(registered)
			r.handle = func(context.Context, *Request) error {
				called = append(called, registered[index])
				return nil
			}
			registered = append(registered, r)
			if err := e.register(PreRender, r); err != nil {
				t.Fatal(err)
			}
		}
		if err := Emit(t.Context(), &e, PreRender, &Request{}); err != nil {
			t.Fatal(err)
		}
		if len(called) != len(registered) {
			t.Fatalf("%d of %d handlers were called", len(called), len(registered))
		}
		if !slices.IsSortedFunc(called, func(a, b registration) int {
			if a.weight != b.weight {
				return int(3 * (a.weight - b.weight))
			}
			return b.depth() - a.depth()
		}) {
			t.Fatalf("called in the order %+v", called)
		}
	}
}

func TestEmitStopsAtFailure(t *testing.T) {
	var e Emitter
	cause := errors.New("no")
	calls := 0
	count := func(err error) Handler {
		return func(context.Context, *Request) error {
			calls++
			return err
		}
	}
	for _, err := range []error{e.On(PreInstall, 0, count(nil)), e.On(PreInstall, 0.5, count(cause)), e.On(PreInstall, 1, count(nil))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	err := Emit(t.Context(), &e, PreInstall, &Request{})
	if failed, is := errors.AsType[*Error](err); !is || failed.Event != PreInstall || !errors.Is(err, cause) || calls != 2 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	if err := Emit(t.Context(), &e, PostInstall, &Request{}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Emit(ctx, &e, PreInstall, &Request{}); !errors.Is(err, context.Canceled) || calls != 2 {
		t.Errorf("canceled: got %v after %d calls", err, calls)
	}
}

func TestPoll(t *testing.T) {
	var none *Emitter
	if pending, err := Poll(t.Context(), none, "", nil); pending != nil || err != nil || WaitingCharts(none) != nil {
		t.Errorf("without handlers: got %v, %v", pending, err)
	}
	var e Emitter
	remaining := map[string]int{"": 0, "shop": 2, "shop/charts/db": 1}
	for _, chart := range []string{"", "shop", "shop/charts/db"} {
		if err := e.OnChartWait(0, chart, func(context.Context, *Request) (bool, error) {
			remaining[chart]--
			return remaining[chart] < 0, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if charts := WaitingCharts(&e); !slices.Equal(charts, []string{"shop/charts/db", "shop"}) {
		t.Errorf("the charts with handlers are %v", charts)
	}
	for i, c := range []struct {
		chart string
		want  []string
	}{
		{"", []string{"shop/charts/db", "shop"}}, {"shop/charts/db", nil}, {"shop", []string{"shop"}}, {"", nil},
	} {
		if pending, err := Poll(t.Context(), &e, c.chart, &Request{}); !slices.Equal(pending, c.want) || err != nil {
			t.Errorf("poll %d: got %v, %v, want %v", i, pending, err, c.want)
		}
	}
	if err := e.OnWait(0, func(context.Context, *Request) (bool, error) { return true, errors.New("no") }); err != nil {
		t.Fatal(err)
	}
	if _, err := Poll(t.Context(), &e, "", &Request{}); err == nil || err.Error() != "a handler of wait failed: no" {
		t.Errorf("got %v", err)
	}
}

// TestAwait checks that handlers are called once a second until they are done, and that the wait ends with
// the timeout or the context.
func TestAwait(t *testing.T) {
	for _, c := range []struct {
		name    string
		polls   int // after which the handler is done
		timeout time.Duration
		cancel  time.Duration
		want    string
		elapsed time.Duration
	}{
		{name: "done at once", polls: 1},
		{name: "done after three polls", polls: 3, elapsed: 2 * time.Second},
		{name: "timeout", polls: 100, timeout: 3500 * time.Millisecond, want: "timed out after 3.5s: a handler of wait still waits", elapsed: 3500 * time.Millisecond},
		{name: "canceled", polls: 100, timeout: time.Minute, cancel: 1500 * time.Millisecond, want: "context canceled", elapsed: 1500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var e Emitter
				polls := 0
				var reported []Progress
				if err := e.OnWait(0.5, func(context.Context, *Request) (bool, error) { polls++; return polls >= c.polls, nil }); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					defer time.AfterFunc(c.cancel, cancel).Stop()
				}
				start := time.Now()
				o := NewOperation(&e, func() (*Request, error) { return &Request{}, nil })
				err := o.Await(ctx, WaitOptions{Timeout: c.timeout, Observe: func(p Progress) { reported = append(reported, p) }})
				if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				if elapsed := time.Since(start); elapsed != c.elapsed {
					t.Errorf("the wait has taken %s, want %s", elapsed, c.elapsed)
				}
				want := []Progress{{Event: Wait, Start: start}, {Event: Wait, Start: start, Done: true, Err: err}}
				if c.polls == 1 {
					want = nil
				}
				if !slices.Equal(reported, want) {
					t.Errorf("reported %+v, want %+v", reported, want)
				}
			})
		})
	}
}

// TestLongCalls checks that handlers are reported if they take longer than a second, and that nothing is
// reported after Emit has returned.
func TestLongCalls(t *testing.T) {
	failed := errors.New("no")
	for _, c := range []struct {
		name  string
		takes time.Duration
		err   error
		want  string
	}{
		{"short", 900 * time.Millisecond, nil, ""},
		{"short and failed", 0, failed, ""},
		{"long", 3 * time.Second, nil, "after 1s: pre-install shop since 0s|after 3s: pre-install shop since 0s, done: <nil>|"},
		{"long and failed", 2 * time.Second, failed, "after 1s: pre-install shop since 0s|after 2s: pre-install shop since 0s, done: no|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all Emitter
				if err := all.OnChart(PreInstall, 0, "shop", func(context.Context, *Request) error { time.Sleep(c.takes); return c.err }); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				var got strings.Builder
				e := all.Clone(func(p Progress) {
					fmt.Fprintf(&got, "after %s: %s %s since %s", time.Since(start), p.Event, p.Chart, p.Start.Sub(start))
					if p.Done {
						fmt.Fprintf(&got, ", done: %v", p.Err)
					}
					got.WriteString("|")
				})
				if err := Emit(t.Context(), e, PreInstall, &Request{}); !errors.Is(err, c.err) {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				if got.String() != c.want {
					t.Errorf("reported %q, want %q", got.String(), c.want)
				}
			})
		})
	}
}

// TestAwaitSeveralCharts checks that the end of the wait for each chart is reported.
func TestAwaitSeveralCharts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Emitter
		failed := errors.New("no")
		polls := map[string]int{}
		for chart, last := range map[string]int{"a": 1, "a/charts/b": 2, "c": 3} {
			if err := e.OnChartWait(0, chart, func(context.Context, *Request) (bool, error) {
				if polls[chart]++; chart == "c" && polls[chart] == 4 {
					return false, failed
				}
				return chart != "c" && polls[chart] >= last, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		o := NewOperation(&e, func() (*Request, error) { return &Request{}, nil })
		err := o.Await(t.Context(), WaitOptions{Observe: func(p Progress) { got = append(got, fmt.Sprint(p.Chart, " ", p.Done, " ", p.Err)) }})
		want := []string{"a/charts/b false <nil>", "c false <nil>", "a/charts/b true <nil>", "c true a handler of wait failed: no"}
		if !errors.Is(err, failed) || !slices.Equal(got, want) {
			t.Errorf("got %v, %q, want %q", err, got, want)
		}
	})
}

func TestDocument(t *testing.T) {
	const text = "# kept\nkind:   A\n"
	d := NewDocument("shop/templates/a.yaml", text)
	object, err := d.Object()
	if err != nil || object["kind"] != "A" {
		t.Errorf("got %v, %v", object, err)
	}
	if got, err := d.Text(); got != text || err != nil || d.IsChanged() {
		t.Errorf("got %q, %v", got, err)
	}
	d.SetObject(map[string]any{"kind": "B"})
	if got, err := d.Text(); got != "kind: B\n" || err != nil || !d.IsChanged() {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := NewDocument("shop/templates/a.yaml", "[").Object(); err == nil || !strings.HasPrefix(err.Error(), "shop/templates/a.yaml: ") {
		t.Errorf("got %v", err)
	}
}
