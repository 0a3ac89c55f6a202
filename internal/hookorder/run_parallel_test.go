// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

var errInterrupted = errors.New("interrupted")

// family returns hooks in three stages: a Secret; two Jobs in parallel with a chain of two;
// and one Job in Helm's order. A Job of another weight follows.
func family(t *testing.T) ([]hookorder.Bucket, map[string]*release.Hook) {
	hooks := readAll(t, "p Secret/s", "p Job/j1", "p Job/j2", "o Job/k1", "o Job/k2", "f Job/z", "p Job/late 1")
	byName := map[string]*release.Hook{}
	for _, h := range hooks {
		byName[h.Name] = h
	}
	return hookorder.Buckets(hooks, modes("p=true o=otherChartsOnly")), byName
}

// TestRunInParallel runs the hooks of family with different failures. Unless takes says
// otherwise, waiting takes a second and all other steps take no time.
func TestRunInParallel(t *testing.T) {
	tests := []struct {
		name       string
		fails      map[string]error // by step and name, as in "wait j1"
		takes      map[string]int   // in seconds
		cancelAt   time.Duration
		err        string
		failed     string
		notStarted string
		succeeded  string // deleted with the policy hook-succeeded, in the order of the hooks
		gone       string // deleted with the policy hook-failed
		took       time.Duration
	}{
		{name: "all is well", succeeded: "s j1 j2 k1 k2 z late", took: 5 * time.Second},
		{
			name: "what runs is waited for, what comes later does not start", takes: map[string]int{"wait j2": 60, "wait k1": 2},
			fails: map[string]error{"wait j1": errors.New("bad")}, err: "bad",
			failed: "j1", notStarted: "k2 z late", succeeded: "s j2 k1", gone: "j1", took: 61 * time.Second,
		},
		{
			name: "the chain goes on beside a failure no more", takes: map[string]int{"wait j1": 2, "wait k2": 3},
			fails: map[string]error{"wait j1": errors.New("bad")}, err: "bad",
			failed: "j1", notStarted: "z late", succeeded: "s j2 k1 k2", gone: "j1", took: 5 * time.Second,
		},
		{
			name:  "several failures, in the order of the buckets",
			takes: map[string]int{"wait j1": 3, "wait j2": 2, "wait k1": 1}, fails: map[string]error{"wait j1": errors.New("bad"), "wait j2": errors.New("worse"), "wait k1": errors.New("awful")},
			err:    "3 hooks failed:\nhook Job/j1 (p/templates/x.yaml): bad\nhook Job/j2 (p/templates/x.yaml): worse\nhook Job/k1 (o/templates/x.yaml): awful",
			failed: "j1 j2 k1", notStarted: "k2 z late", succeeded: "s", gone: "j1 j2 k1", took: 4 * time.Second,
		},
		{
			name: "what could not be created is not cleaned up, all else is", fails: map[string]error{"create j1": errors.New("no")}, takes: map[string]int{"create j1": 1, "wait j2": 4, "wait k1": 4},
			err: "no", failed: "j1", notStarted: "k2 z late", succeeded: "s j2 k1", took: 5 * time.Second,
		},
		{
			name: "nor is what nobody made way for", fails: map[string]error{"prepare k1": errors.New("no")}, takes: map[string]int{"prepare k1": 1, "wait j1": 4, "wait j2": 2},
			err: "no", failed: "k1", notStarted: "k2 z late", succeeded: "s j1 j2", took: 5 * time.Second,
		},
		{
			name: "what fails at first keeps all from starting", fails: map[string]error{"create s": errors.New("no")},
			err: "no", failed: "s", notStarted: "j1 j2 k1 k2 z late",
		},
		{
			name: "an end from outside", takes: map[string]int{"wait j1": 5, "wait k1": 9}, cancelAt: 3 * time.Second,
			err:    "2 hooks failed:\nhook Job/j1 (p/templates/x.yaml): context canceled\nhook Job/k1 (o/templates/x.yaml): context canceled",
			failed: "j1 k1", notStarted: "k2 z late", succeeded: "s j2", gone: "j1 k1", took: 3 * time.Second,
		},
		{
			name: "a failure and an end from outside", takes: map[string]int{"wait j1": 2, "wait j2": 5}, cancelAt: 4 * time.Second, fails: map[string]error{"wait j1": errors.New("bad")},
			err:    "2 hooks failed:\nhook Job/j1 (p/templates/x.yaml): bad\nhook Job/j2 (p/templates/x.yaml): context canceled",
			failed: "j1 j2", notStarted: "z late", succeeded: "s k1 k2", gone: "j1 j2", took: 4 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				buckets, hooks := family(t)
				w := newWorld(t, buckets)
				for _, h := range hooks {
					w.takes["wait "+h.Name] = time.Second
				}
				for step, seconds := range tt.takes {
					w.takes[step] = time.Duration(seconds) * time.Second
				}
				w.fails = tt.fails
				err := w.run(0, tt.cancelAt)
				if got := errorText(err); got != tt.err {
					t.Errorf("got error\n%s\nwant\n%s", got, tt.err)
				}
				if got := w.ended - w.start; got != tt.took {
					t.Errorf("it took %s, want %s", got, tt.took)
				}
				var run *hookorder.RunError
				if errors.As(err, &run) != (tt.err != "") {
					t.Fatalf("got %T", err)
				}
				if run != nil && (failedNames(run.Failed) != tt.failed || names(run.NotStarted) != tt.notStarted) {
					t.Errorf("failed %q, never started %q", failedNames(run.Failed), names(run.NotStarted))
				}
				if run != nil && (run.Cause != nil) != (tt.cancelAt > 0) {
					t.Errorf("the cause is %v", run.Cause)
				}
				for what, want := range map[string]string{"delete hook-succeeded": tt.succeeded, "logs hook-succeeded": tt.succeeded, "delete hook-failed": tt.gone, "logs hook-failed": tt.gone} {
					if got := w.of(what); got != want {
						t.Errorf("%s: %q, want %q", what, got, want)
					}
				}
			})
		})
	}
}

func failedNames(list []hookorder.HookFailure) string {
	all := make([]string, len(list))
	for i, f := range list {
		all[i] = f.Hook.Name
	}
	return strings.Join(all, " ")
}

// TestRunThatWasEnded checks that no hook counts as failed if the context ends before any
// hook is created.
func TestRunThatWasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buckets, hooks := family(t)
		w := newWorld(t, buckets)
		w.takes["prepare s"] = time.Minute
		err := w.run(0, time.Second)
		var run *hookorder.RunError
		if !errors.As(err, &run) || len(run.Failed) > 0 || len(run.NotStarted) != len(hooks) || err.Error() != "interrupted" ||
			!errors.Is(err, errInterrupted) || !errors.Is(run.Cause, errInterrupted) {
			t.Errorf("got %#v: %v", err, err)
		}
		if got := w.steps(); !slices.Equal(got, []string{"prepare s"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestRunErrorIsAllThatFailed(t *testing.T) {
	bad, worse := errors.New("bad"), fmt.Errorf("it is %w", context.DeadlineExceeded)
	a, b := hook("a", 0), hook("b", 0)
	for _, e := range []*hookorder.RunError{
		{Failed: []hookorder.HookFailure{{Hook: a, Err: bad}}},
		{Failed: []hookorder.HookFailure{{Hook: a, Err: bad}, {Hook: b, Err: worse}}},
	} {
		if !errors.Is(e, bad) || errors.Is(e, context.DeadlineExceeded) != (len(e.Failed) == 2) || e.Cause != nil {
			t.Errorf("got %v", e)
		}
	}
}

// TestRunThatCannotCleanUp checks that Run returns the errors of the cleanup although all
// hooks completed, and that it tries to clean up each hook.
func TestRunThatCannotCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buckets, _ := family(t)
		w := newWorld(t, buckets)
		bad, worse := errors.New("bad"), errors.New("worse")
		w.fails = map[string]error{"delete hook-succeeded j1": bad, "delete hook-succeeded z": worse, "delete hook-succeeded k2": bad, "logs hook-succeeded j2": worse}
		w.takes["delete hook-succeeded j1"] = time.Second // the last hook of its stage to be deleted
		err := w.run(0, 0)
		want := "clean up the hook Job/z (f/templates/x.yaml): worse\nclean up the hook Job/j1 (p/templates/x.yaml): bad\nclean up the hook Job/k2 (o/templates/x.yaml): bad"
		if errorText(err) != want || !errors.Is(err, bad) || !errors.Is(err, worse) {
			t.Errorf("got\n%v\nwant\n%s", err, want)
		}
		var run *hookorder.RunError
		if errors.As(err, &run) {
			t.Error("no hook has failed")
		}
		if got := w.of("delete hook-succeeded"); got != "s j1 j2 k1 k2 z late" {
			t.Errorf("deleted %q", got)
		}
		if got := w.warnings; !slices.Equal(got, []string{"j2: worse"}) {
			t.Errorf("warned %q", got)
		}
	})
}

// TestFailureIsNotHidden checks that errors of the cleanup do not hide the failure.
func TestFailureIsNotHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buckets, _ := family(t)
		w := newWorld(t, buckets)
		bad := errors.New("bad")
		w.fails = map[string]error{
			"wait z": errors.New("it failed"), "logs hook-failed z": bad, "delete hook-failed z": bad,
			"logs hook-succeeded k1": bad, "delete hook-succeeded j2": bad,
		}
		err := w.run(0, 0)
		if errorText(err) != "it failed" || errors.Is(err, bad) {
			t.Errorf("got %v", err)
		}
		slices.Sort(w.warnings)
		if want := []string{"j2: bad", "k1: bad", "z: bad", "z: bad"}; !slices.Equal(w.warnings, want) {
			t.Errorf("warned %q, want %q", w.warnings, want)
		}
		if got := w.of("delete hook-succeeded"); got != "s j1 j2 k1 k2" {
			t.Errorf("deleted %q", got)
		}
	})
}

// TestCleaningUpIsBounded has hooks whose deletion does not return. It checks that the
// cleanup ends ten seconds after the end of the operation, both if the cleanup starts
// before the operation ends and if it starts afterwards.
func TestCleaningUpIsBounded(t *testing.T) {
	for name, m := range map[string]string{"in Helm's order": "", "in parallel": "p=true o=otherChartsOnly f=true"} {
		for _, cancelAt := range []time.Duration{500 * time.Millisecond, 20 * time.Second} {
			t.Run(fmt.Sprintf("%s, ended after %s", name, cancelAt), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					hooks := readAll(t, "p Job/a", "p Job/b", "o Job/c", "f Job/d")
					w := newWorld(t, hookorder.Buckets(hooks, modes(m)))
					for _, h := range hooks {
						w.takes["wait "+h.Name] = time.Second
						w.takes["delete hook-failed "+h.Name] = time.Hour
						w.takes["delete hook-succeeded "+h.Name] = time.Hour
					}
					if err := w.run(0, cancelAt); !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
					if took := w.ended - w.start; took != cancelAt+10*time.Second {
						t.Errorf("it took %s", took)
					}
				})
			})
		}
	}
}

// TestCreatingOutlivesTheOperation has a hook that is being created when the operation
// ends. It checks that the creation completes, and that the hook is treated as failed and
// deleted.
func TestCreatingOutlivesTheOperation(t *testing.T) {
	for name, m := range map[string]string{"in Helm's order": "", "in parallel": "p=true"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, hookorder.Buckets(readAll(t, "p Job/a", "p Job/b"), modes(m)))
				w.takes["create a"], w.takes["create b"] = 5*time.Second, time.Hour
				w.takes["wait a"] = time.Minute
				err := w.run(0, time.Second)
				if !errors.Is(err, context.Canceled) || w.of("delete hook-failed") != "a" || w.of("delete hook-succeeded") != "" {
					t.Errorf("got %v, %q", err, w.steps())
				}
				want := 5 * time.Second // b did not start
				if m != "" {
					want = 11 * time.Second // b started, and its creation timed out
				}
				if took := w.ended - w.start; took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
			})
		})
	}
}
