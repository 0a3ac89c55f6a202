// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/resource"
)

// TestApplyOrder begins a kind when the one before it is written, writes the
// neighbours of a kind side by side, and not more than atOnce at once.
func TestApplyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		gates := map[string]chan struct{}{"secrets": make(chan struct{}), "configmaps": make(chan struct{}), "deployments": make(chan struct{})}
		api.fault = func(c call) error {
			if c.verb == "create" {
				<-gates[strings.Split(c.path, "/")[0]]
			}
			return nil
		}
		list := objects(t, slices.Concat([]string{secret}, many(20, "a"), []string{deployment("web", "")})...)
		done := make(chan error)
		go func() {
			_, err := api.client().Apply(t.Context(), list, ApplyOptions{})
			done <- err
		}()
		for _, step := range []struct {
			kind            string
			creates, atOnce int
		}{{"secrets", 1, 1}, {"configmaps", 1 + atOnce, atOnce}, {"deployments", 22, 1}} {
			synctest.Wait()
			if n := api.count("create"); n != step.creates || api.underWay() != step.atOnce {
				t.Errorf("%d creates when the %s are written, %d under way, want %d and %d", n, step.kind, api.underWay(), step.creates, step.atOnce)
			}
			close(gates[step.kind])
		}
		if err := <-done; err != nil || api.most > atOnce {
			t.Errorf("got %v, %d requests at once", err, api.most)
		}
	})
}

// TestApplyCancelled cuts requests off, begins no more, and says what was done.
func TestApplyCancelled(t *testing.T) {
	for _, c := range []struct {
		name   string
		target []string
		done   int
		failed []string
		calls  int
	}{
		{"before it begins", nil, 0, nil, 0},
		{"while one is written", append(many(3, "a"), settings("slow", ""), secret), 3, []string{"slow"}, 4},
		{"while many wait", append([]string{settings("slow", "")}, many(40, "slow")...), 0, nil, atOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFakeAPI(t)
				api.fault = func(c call) error {
					if strings.Contains(c.path, "slow") {
						<-c.Context().Done()
					}
					return nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				if c.target == nil {
					cancel()
				}
				type outcome struct {
					applied *Applied
					err     error
				}
				done := make(chan outcome)
				go func() {
					applied, err := api.client().Apply(ctx, objects(t, c.target...), ApplyOptions{Absent: func(*resource.Info) bool { return true }})
					done <- outcome{applied, err}
				}()
				synctest.Wait()
				cancel()
				got := <-done
				if !errors.Is(got.err, context.Canceled) || len(got.applied.Created) != c.done {
					t.Errorf("%d created, %v", len(got.applied.Created), got.err)
				}
				if n := api.count("create"); n != c.calls {
					t.Errorf("%d requests, want %d", n, c.calls)
				}
				var failed *ApplyError
				if errors.As(got.err, &failed) && c.failed != nil && (len(failed.Failures) != 1 || failed.Failures[0].Info.Name != c.failed[0]) {
					t.Errorf("got %v", failed.Failures)
				}
			})
		})
	}
}

// TestApplyEndsBetweenKinds is not an error of any object.
func TestApplyEndsBetweenKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		ctx, cancel := context.WithCancel(t.Context())
		client := New(&kube.Client{}, fakeGetter{api}, func(text string, args ...any) {
			if strings.HasPrefix(fmt.Sprintf(text, args...), `created ConfigMap "a"`) {
				cancel() // the server has answered
			}
		})
		applied, err := client.Apply(ctx, objects(t, settings("a", ""), secret), ApplyOptions{})
		if err != ctx.Err() || len(applied.Created) != 1 || api.count("create") != 1 { //nolint:errorlint // the context's own, not within another
			t.Errorf("got %v, %v", applied, err)
		}
	})
}
