// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestApplyOrder checks that adjacent objects of the same kind are written in parallel, and
// objects of different kinds sequentially.
func TestApplyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		gates := map[string]chan struct{}{"secrets": make(chan struct{}), "configmaps": make(chan struct{}), "deployments": make(chan struct{})}
		api.Fault = func(c fakeapi.ReceivedCall) error {
			if c.Verb == "create" {
				<-gates[strings.Split(c.Path, "/")[0]]
			}
			return nil
		}
		list := fakeapi.Infos(t, slices.Concat([]string{secret}, fakeapi.ConfigMaps(20, "a"), []string{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}"})...)
		done := make(chan error)
		go func() {
			_, err := newWriter(t, api).Apply(t.Context(), list, ApplyOptions{})
			done <- err
		}()
		for _, step := range []struct {
			kind             string
			creates, pending int
		}{{"secrets", 1, 1}, {"configmaps", 1 + cluster.InitialConcurrency, cluster.InitialConcurrency}, {"deployments", 22, 1}} {
			synctest.Wait()
			if n := api.Count("create"); n != step.creates || api.Pending() != step.pending {
				t.Errorf("%d creates when the %s are written, %d pending, want %d and %d", n, step.kind, api.Pending(), step.creates, step.pending)
			}
			close(gates[step.kind])
		}
		if err := <-done; err != nil || api.MaxPending() > cluster.InitialConcurrency {
			t.Errorf("got %v, %d requests at once", err, api.MaxPending())
		}
	})
}

// TestApplyCancelled checks that requests are canceled when the context is done, that no more
// requests are sent then, and that the result contains the completed changes.
func TestApplyCancelled(t *testing.T) {
	for _, c := range []struct {
		name   string
		target []string
		done   int
		failed []string
		calls  int
	}{
		{"before it begins", nil, 0, nil, 0},
		{"while one is written", append(fakeapi.ConfigMaps(3, "a"), fakeapi.ConfigMap("slow", ""), secret), 3, []string{"slow"}, 4},
		{"while many wait", append([]string{fakeapi.ConfigMap("slow", "")}, fakeapi.ConfigMaps(40, "slow")...), 0, nil, cluster.InitialConcurrency},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				api.Fault = func(c fakeapi.ReceivedCall) error {
					if strings.Contains(c.Path, "slow") {
						<-c.Context().Done()
					}
					return nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				if c.target == nil {
					cancel()
				}
				type outcome struct {
					applied *ApplyResult
					err     error
				}
				done := make(chan outcome)
				go func() {
					applied, err := newWriter(t, api).Apply(ctx, fakeapi.Infos(t, c.target...), ApplyOptions{IsAbsent: func(*resource.Info) bool { return true }})
					done <- outcome{applied, err}
				}()
				synctest.Wait()
				cancel()
				got := <-done
				if !errors.Is(got.err, context.Canceled) || len(got.applied.Created) != c.done {
					t.Errorf("%d created, %v", len(got.applied.Created), got.err)
				}
				if n := api.Count("create"); n != c.calls {
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

// TestApplyEndsBetweenKinds cancels the context after the objects of one kind, and checks
// that the error is not that of an object.
func TestApplyEndsBetweenKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		ctx, cancel := context.WithCancel(t.Context())
		writer := NewRequestWriter(cluster.Connect(api.Getter(), func(text string, args ...any) {
			if strings.HasPrefix(fmt.Sprintf(text, args...), `created ConfigMap "a"`) {
				cancel() // the server has answered
			}
		}))
		applied, err := writer.Apply(ctx, fakeapi.Infos(t, fakeapi.ConfigMap("a", ""), secret), ApplyOptions{})
		if err != ctx.Err() || len(applied.Created) != 1 || api.Count("create") != 1 { //nolint:errorlint // must be the error of the context itself
			t.Errorf("got %v, %v", applied, err)
		}
	})
}
