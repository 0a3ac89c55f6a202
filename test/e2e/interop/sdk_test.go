// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// sdkInstall returns an action.Install as a program that embeds Ordered Helm would create it.
func sdkInstall(tb testing.TB, h *harness.Helm) *action.Install {
	tb.Helper()
	install := action.NewInstall(sdkConfiguration(tb, h))
	install.ReleaseName, install.Namespace = "rel", h.Namespace
	install.WaitStrategy, install.Timeout = action.WaitStrategyOrdered, time.Minute
	return install
}

// sdkConfiguration returns a configuration for actions, as a program that embeds Ordered Helm
// would create it.
func sdkConfiguration(tb testing.TB, h *harness.Helm) *action.Configuration {
	tb.Helper()
	flags := genericclioptions.NewConfigFlags(true)
	kubeconfig := h.Cluster.Kubeconfig()
	flags.KubeConfig, flags.Namespace = &kubeconfig, &h.Namespace
	cfg := new(action.Configuration)
	harness.NoError(tb, action.InitConfiguration(cfg, flags, h.Namespace, "secret", func(string, ...any) {}))
	return cfg
}

// TestSDKErrors checks that the code in docs/reference.md gets the details of a failure from
// the error of an action.
func TestSDKErrors(t *testing.T) {
	h := harness.New(t)
	chrt, err := loader.Load(charts.HangingChart(t, "1s"))
	harness.NoError(t, err)
	install := sdkInstall(t, h)
	_, err = install.RunWithContext(t.Context(), chrt, nil)

	var log printed
	var failure *action.DeployError
	if errors.As(err, &failure) {
		for _, r := range failure.Resources {
			log.Printf("%s in %s: %s after %s: %s %v", r.Resource, r.Node, r.State, r.Waited, r.Message, r.Causes)
		}
		log.Printf("skipped: %v", failure.NeverStarted)
	}
	for _, want := range []string{"Pod/never in app:second: InProgress after 1", "Readiness probe failed", "skipped: [app:third]"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("got %q, want %q; the error is %v", log, want, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the timeout of one resource is taken for that of the operation")
	}
	expectNoGoroutines(t)
	expectInReference(t, `	for _, r := range failure.Resources {`,
		`		log.Printf("%s in %s: %s after %s: %s %v", r.Resource, r.Node, r.State, r.Waited, r.Message, r.Causes)`,
		`	log.Printf("skipped: %v", failure.NeverStarted)`)
}

type printed string

func (p *printed) Printf(format string, values ...any) {
	*p += printed(fmt.Sprintf(format+"\n", values...))
}

// TestSDKLeavesNothingRunning checks that no goroutine or watch of an action is left when its
// call returns after a timeout or a cancellation, and that a canceled action returns
// context.Canceled.
func TestSDKLeavesNothingRunning(t *testing.T) {
	for _, c := range []struct {
		name, timeout string
		set           func(*action.Install)
		is            error
	}{
		{"its time is over", "1m", func(i *action.Install) { i.Timeout, i.ReadinessTimeout = time.Second, time.Second }, nil},
		{"its context ends", "50s", func(*action.Install) {}, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := harness.New(t)
			chrt, err := loader.Load(charts.HangingChart(t, c.timeout))
			harness.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			install := sdkInstall(t, h)
			c.set(install)
			install.OnEvent = func(e action.Event) {
				if c.is != nil && e.Type == action.EventResourceChanged && e.Resource == "Pod/never" {
					cancel()
				}
			}
			_, err = install.RunWithContext(ctx, chrt, nil)
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v", err, c.is)
			}
			expectNoGoroutines(t)
		})
	}
}

// expectNoGoroutines fails the test if goroutines of an action are left, including its
// watches.
func expectNoGoroutines(tb testing.TB) {
	tb.Helper()
	stacks := make([]byte, 1<<24)
	var left []string
	for range 200 {
		left = nil
		for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "ordered-helm/helm/pkg/") || strings.Contains(stack, "ordered-helm/helm/internal/") || strings.Contains(stack, "watch.(*StreamWatcher)") {
				left = append(left, stack)
			}
		}
		if left == nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // a connection may still be about to end
	}
	tb.Errorf("goroutines stay:\n%s", strings.Join(left, "\n\n"))
}

// expectInReference fails the test if docs/reference.md does not contain the lines.
func expectInReference(tb testing.TB, lines ...string) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(binaries.Root(tb), "docs", "reference.md"))
	harness.NoError(tb, err)
	for _, line := range lines {
		if !strings.Contains(string(text), line) {
			tb.Errorf("docs/reference.md does not say\n%s", line)
		}
	}
}
