// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"io"
	"slices"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	// IncludeNameFilter is the key in ReleaseTesting.Filters whose value lists the names of
	// the tests to run. If it is not set, all tests run.
	IncludeNameFilter = helmaction.IncludeNameFilter
	// ExcludeNameFilter is the key in ReleaseTesting.Filters whose value lists the names of
	// the tests to skip. It takes precedence over IncludeNameFilter.
	ExcludeNameFilter = helmaction.ExcludeNameFilter
)

// ReleaseTesting runs the tests of a release: its hooks for the event test. It has every
// field of Helm's ReleaseTesting, with the same meaning (docs/reference.md, "helm test").
type ReleaseTesting struct {
	*helmaction.ReleaseTesting

	// MaxParallelHooks is the maximum number of hooks that run at the same time, if a chart
	// allows its hooks to run in parallel. 0 means no limit. A negative value is an error.
	MaxParallelHooks int
	// FollowHookLogs makes the operation read the log of each running hook about once a
	// second, and report its last line in an event of type EventHookLog.
	FollowHookLogs bool
	// OnEvent, if not nil, is called with each event of the operation (docs/reference.md,
	// "Events"). It is called from different goroutines, but never concurrently. It must
	// return quickly, because the operation waits for it.
	OnEvent func(Event)

	cfg *Configuration
}

// NewReleaseTesting returns a ReleaseTesting with Helm's defaults.
func NewReleaseTesting(cfg *Configuration) *ReleaseTesting {
	return &ReleaseTesting{ReleaseTesting: helmaction.NewReleaseTesting(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (t *ReleaseTesting) Run(name string) (*release.Release, error) {
	return t.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext runs those tests of the release with the given name that Filters selects.
// When ctx is done, it stops, and the running tests count as failed. The returned release
// contains the results of these tests, and the earlier results of the others. If a test
// fails, RunWithContext returns the release together with a *HookError.
func (t *ReleaseTesting) RunWithContext(ctx context.Context, name string) (*release.Release, error) {
	if err := hooks.ValidateLimit(t.MaxParallelHooks); err != nil {
		return nil, err
	}
	if err := t.cfg.KubeClient.IsReachable(); err != nil {
		return nil, err
	}
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return nil, fmt.Errorf("releaseTest: Release name is invalid: %s", name)
	}
	stored, err := t.cfg.Releases.Last(name)
	if err != nil {
		return stored, err
	}
	rel := history.Copy(stored)
	op, ctx, end := operation.Start(ctx, t.cfg, operation.StartOptions{Notify: t.OnEvent})
	defer end()
	op.Announce(Operation{Name: "test", Release: name, Namespace: rel.Namespace, Revision: rel.Version})
	op.Events.RedactWith(redact.ForObjects(append(redact.ManifestObjects(rel.Manifest), redact.HookObjects(rel.Hooks)...)))
	modes := history.HookModesOrWarn(rel, op.Events)
	w := op.Store.NewHookResultWriter(rel)
	if slices.ContainsFunc(hookorder.ForEvent(rel.Hooks, release.HookTest), modes.IsManaged) {
		if err := w.RecordHookObjects(); err != nil {
			return rel, op.Finish(ctx, err)
		}
	}
	w.Background.Start()
	defer w.Background.Stop()
	runner := op.Hooks(hooks.Options{
		Timeout: t.Timeout, Limit: t.MaxParallelHooks, FollowLogs: t.FollowHookLogs, Modes: modes, Filter: t.Picks,
	})
	if err := runner.Run(ctx, w, release.HookTest); err != nil {
		w.LogFailure(w.Write(nil))
		return rel, op.Finish(ctx, err)
	}
	return rel, op.Finish(ctx, w.Write(nil))
}

// Picks reports whether Filters selects the test h.
func (t *ReleaseTesting) Picks(h *release.Hook) bool {
	include, exclude := t.Filters[IncludeNameFilter], t.Filters[ExcludeNameFilter]
	return !slices.Contains(exclude, h.Name) && (len(include) == 0 || slices.Contains(include, h.Name))
}

// GetPodLogs writes the logs of the tests in rel that have run and that Filters selects to
// out. The logs are sorted by the weight and name of the tests, even if the tests ran in
// parallel.
func (t *ReleaseTesting) GetPodLogs(out io.Writer, rel *release.Release) error {
	return t.GetPodLogsWithContext(context.Background(), out, rel) //nolint:forbidigo // the signature is Helm's
}

// GetPodLogsWithContext is like GetPodLogs, but stops when ctx is done. If a test is a Job,
// both write the log of each container of the Job's pods.
func (t *ReleaseTesting) GetPodLogsWithContext(ctx context.Context, out io.Writer, rel *release.Release) error {
	client, err := t.cfg.KubernetesClientSet()
	if err != nil {
		return fmt.Errorf("unable to get kubernetes client to fetch pod logs: %w", err)
	}
	for _, b := range hookorder.Buckets(hookorder.ForEvent(rel.Hooks, release.HookTest), hookorder.ChartModes{}) {
		for _, h := range b.Hooks() {
			if !t.Picks(h) || h.LastRun.StartedAt.IsZero() {
				continue
			}
			if err := hooks.WriteTestLogs(ctx, out, client.CoreV1().Pods(t.Namespace), h); err != nil {
				return err
			}
		}
	}
	return nil
}
