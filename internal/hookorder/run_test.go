// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// script implements HookActions: it records its calls, and fails for the given ones.
type script struct {
	t      *testing.T
	log    []string
	fails  map[string]error
	cancel map[string]context.CancelCauseFunc
}

func (s *script) do(ctx context.Context, what string, h *release.Hook) error {
	step := what + " " + h.Name
	s.log = append(s.log, step)
	if what != "prepare" && what != "wait" && ctx.Err() != nil {
		s.t.Errorf("%s: it must go on when the context is done", step)
	}
	if cancel := s.cancel[step]; cancel != nil {
		cancel(errors.New("interrupted"))
	}
	return s.fails[step]
}

func (s *script) Prepare(ctx context.Context, h *release.Hook) error {
	return s.do(ctx, "prepare", h)
}

func (s *script) Create(ctx context.Context, h *release.Hook) error { return s.do(ctx, "create", h) }

func (s *script) Wait(ctx context.Context, h *release.Hook) error { return s.do(ctx, "wait", h) }

func (s *script) Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error {
	return s.do(ctx, "logs "+string(policy), h)
}

func (s *script) Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error {
	return s.do(ctx, "delete "+string(policy), h)
}

func (s *script) Warn(h *release.Hook, err error) {
	s.log = append(s.log, "warn "+h.Name+": "+err.Error())
}

// asHelm returns the buckets of hooks whose charts have no mode.
func asHelm(hooks ...*release.Hook) []hookorder.Bucket {
	return hookorder.Buckets(hooks, hookorder.ChartModes{})
}

// TestRunInHelmsOrder checks that hooks run and are cleaned up as in Helm.
func TestRunInHelmsOrder(t *testing.T) {
	bad, worse := errors.New("bad"), errors.New("worse")
	tests := []struct {
		name   string
		fails  map[string]error
		cancel string
		want   []string
		err    string
	}{
		{
			name: "one after the other, and cleaned up from the last one on",
			want: []string{
				"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "prepare c", "create c", "wait c",
				"logs hook-succeeded c", "delete hook-succeeded c", "logs hook-succeeded b", "delete hook-succeeded b",
				"logs hook-succeeded a", "delete hook-succeeded a",
			},
		},
		{
			name:  "a hook that fails: nothing after it, those before it are cleaned up",
			fails: map[string]error{"wait c": bad},
			want: []string{
				"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "prepare c", "create c", "wait c",
				"logs hook-failed c", "delete hook-failed c", "delete hook-succeeded a", "delete hook-succeeded b",
			},
			err: "bad",
		},
		{
			name:  "the first one fails",
			fails: map[string]error{"wait a": bad},
			want:  []string{"prepare a", "create a", "wait a", "logs hook-failed a", "delete hook-failed a"},
			err:   "bad",
		},
		{
			name:  "what goes wrong in cleaning up does not hide the failure, and does not end it",
			fails: map[string]error{"wait c": bad, "logs hook-failed c": worse, "delete hook-failed c": worse, "delete hook-succeeded a": worse},
			want: []string{
				"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "prepare c", "create c", "wait c",
				"logs hook-failed c", "warn c: worse", "delete hook-failed c", "warn c: worse", "delete hook-succeeded a", "warn a: worse", "delete hook-succeeded b",
			},
			err: "bad",
		},
		{
			name:  "a hook that cannot be created: nothing after it, as in Helm nothing is cleaned up",
			fails: map[string]error{"create b": bad},
			want:  []string{"prepare a", "create a", "wait a", "prepare b", "create b"},
			err:   "bad",
		},
		{
			name:  "a hook for which there is no way: as one that cannot be created",
			fails: map[string]error{"prepare b": bad},
			want:  []string{"prepare a", "create a", "wait a", "prepare b"},
			err:   "bad",
		},
		{
			name:   "the context ends while the way is made: the hook was never begun",
			cancel: "prepare b", fails: map[string]error{"prepare b": bad},
			want: []string{"prepare a", "create a", "wait a", "prepare b", "delete hook-succeeded a"},
			err:  "interrupted",
		},
		{
			name:   "the context ends when the way is made",
			cancel: "prepare b",
			want:   []string{"prepare a", "create a", "wait a", "prepare b", "delete hook-succeeded a"},
			err:    "interrupted",
		},
		{
			name:   "the context ends while a hook is created: it is waited for, which ends at once",
			cancel: "create b", fails: map[string]error{"wait b": context.Canceled},
			want: []string{
				"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "logs hook-failed b", "delete hook-failed b", "delete hook-succeeded a",
			},
			err: "context canceled",
		},
		{
			name:  "logs that cannot be had are only a warning",
			fails: map[string]error{"logs hook-succeeded b": bad},
			want: []string{
				"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "prepare c", "create c", "wait c",
				"logs hook-succeeded c", "delete hook-succeeded c", "logs hook-succeeded b", "warn b: bad", "delete hook-succeeded b",
				"logs hook-succeeded a", "delete hook-succeeded a",
			},
		},
		{
			name:  "a hook that cannot be deleted after success is a failure, as in Helm",
			fails: map[string]error{"delete hook-succeeded b": bad},
			want: []string{
				"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "prepare c", "create c", "wait c",
				"logs hook-succeeded c", "delete hook-succeeded c", "logs hook-succeeded b", "delete hook-succeeded b",
			},
			err: "bad",
		},
		{
			name:   "the context ends between hooks: nothing new starts, what was done is cleaned up",
			cancel: "wait b",
			want:   []string{"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "delete hook-succeeded a", "delete hook-succeeded b"},
			err:    "interrupted",
		},
		{
			name:   "the context ends while a hook runs",
			cancel: "wait b", fails: map[string]error{"wait b": context.Canceled},
			want: []string{"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "logs hook-failed b", "delete hook-failed b", "delete hook-succeeded a"},
			err:  "context canceled",
		},
		{
			name:   "the context ends with the last hook: all are done and cleaned up",
			cancel: "wait c",
			want: []string{
				"prepare a", "create a", "wait a", "prepare b", "create b", "wait b", "prepare c", "create c", "wait c",
				"logs hook-succeeded c", "delete hook-succeeded c", "logs hook-succeeded b", "delete hook-succeeded b",
				"logs hook-succeeded a", "delete hook-succeeded a",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			s := &script{t: t, fails: tt.fails, cancel: map[string]context.CancelCauseFunc{tt.cancel: cancel}}
			err := hookorder.Run(ctx, asHelm(hook("a", 0), hook("b", 0), hook("c", 1)), s, 0)
			if got := errorText(err); got != tt.err {
				t.Errorf("error %q, want %q", got, tt.err)
			}
			if !slices.Equal(s.log, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(s.log, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestRunWhenTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	s := &script{t: t}
	if err := hookorder.Run(ctx, asHelm(hook("a", 0)), s, 0); errorText(err) != "interrupted" || len(s.log) > 0 {
		t.Errorf("got %v, %q", err, s.log)
	}
	if err := hookorder.Run(ctx, nil, s, 0); err != nil || len(s.log) > 0 {
		t.Errorf("without hooks there is nothing to end: %v, %q", err, s.log)
	}
}

// stubborn implements HookActions. Its deletions return only when the context ends.
type stubborn struct{ *script }

func (s *stubborn) Delete(ctx context.Context, _ *release.Hook, _ release.HookDeletePolicy) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestRunCleansUpInTime interrupts a hook whose deletion does not return.
func TestRunCleansUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &stubborn{&script{
			t: t, fails: map[string]error{"wait a": context.Canceled}, cancel: map[string]context.CancelCauseFunc{"wait a": cancel},
		}}
		began := time.Now()
		if err := hookorder.Run(ctx, asHelm(hook("a", 0)), s, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %s", took)
		}
		if want := []string{"wait a", "logs hook-failed a", "warn a: context canceled"}; !slices.Equal(s.log[2:], want) {
			t.Errorf("got %q, want %q", s.log[2:], want)
		}
	})
}
