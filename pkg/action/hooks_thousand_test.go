// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"

	"github.com/ordered-helm/helm/internal/testutil/chartgen"
	"github.com/ordered-helm/helm/pkg/action"
)

// TestHooksThousandRuns runs the hooks of random charts through all operations, while
// another goroutine continuously reads the release from a storage that returns the objects
// that it stores. Only the race detector can detect a release that is changed after it was
// stored.
func TestHooksThousandRuns(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 100
	}
	log.SetOutput(io.Discard) // messages about hooks that cannot be cleaned up
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	for seed := uint64(0); runs > 0; seed++ {
		l := newLife(t, seed)
		stop := l.read()
		l.live()
		stop()
		runs -= l.runs
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// life is the life of one release: the operations on it, from install to uninstall.
type life struct {
	*testing.T
	*rand.Rand
	seed uint64
	cfg  *action.Configuration
	kube *flakyKubeClient
	// runs counts the events for which hooks were run.
	runs int
	// events counts the reported events. They must be reported one at a time.
	events int
}

func newLife(t *testing.T, seed uint64) *life {
	l := &life{T: t, Rand: rand.New(rand.NewPCG(seed, 10)), seed: seed, cfg: configuration(memory())}
	l.kube = &flakyKubeClient{seed: seed, trouble: uint64(l.IntN(20))}
	l.cfg.KubeClient = l.kube
	return l
}

// read reads the release continuously, in another goroutine, until stop is called.
func (l *life) read() (stop func()) {
	over := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			l.look(l.cfg.Releases)
			runtime.Gosched()
		}
	})
	return func() {
		close(over)
		reading.Wait()
	}
}

// look reads those parts of the stored release that an operation might change, and checks
// that they are complete.
func (l *life) look(releases *storage.Storage) {
	history, err := releases.History("test")
	if err != nil {
		return // there is no release
	}
	if rel, err := releases.Last("test"); err == nil {
		history = append(history, rel)
	}
	if rel, err := releases.Get("test", 1); err == nil {
		history = append(history, rel)
	}
	for _, rel := range history {
		if info := rel.Info; info.Status == "" || info.Description == "" || info.LastDeployed.IsZero() || info.Deleted.Before(info.FirstDeployed) && !info.Deleted.IsZero() || rel.Version == 0 || rel.Chart == nil || len(rel.Chart.Files) > 1 {
			l.Errorf("stored is %+v", rel)
		}
		for _, h := range rel.Hooks {
			if h.LastRun.CompletedAt.IsZero() && h.LastRun.Phase == release.HookPhaseSucceeded || slices.Contains(h.DeletePolicies, "") {
				l.Errorf("stored is %+v", h)
			}
		}
	}
}

// live installs the release, upgrades, rolls back and tests it in random order, and
// uninstalls it.
func (l *life) live() {
	l.do(l.install, release.HookPreInstall, release.HookPostInstall)
	for range 1 + l.IntN(3) {
		switch l.IntN(5) {
		case 0, 1:
			l.do(l.upgrade, release.HookPreUpgrade, release.HookPostUpgrade)
		case 2:
			l.do(l.rollBack, release.HookPreRollback, release.HookPostRollback)
		default:
			l.do(l.test, release.HookTest)
		}
	}
	l.do(l.uninstall, release.HookPreDelete, release.HookPostDelete)
}

// do runs an operation, which can fail or be canceled, and checks that the stored results
// of the hooks are those of the hooks that ran for events.
func (l *life) do(operation func(context.Context) error, events ...release.HookEvent) {
	ctx, cancel := context.WithCancel(l.Context())
	defer cancel()
	before, revision := map[string]release.HookPhase{}, 0
	if rel, err := l.cfg.Releases.Last("test"); err == nil {
		revision = rel.Version
		for _, h := range rel.Hooks {
			before[h.Name] = h.LastRun.Phase
		}
	}
	l.kube.begin(cancel, l.IntN(10) == 0, l.IntN(20))
	err := operation(ctx)
	var failed *action.HookError
	isHook := errors.As(err, &failed)
	ran := l.kube.end()
	l.runs += len(events)
	rel, notFound := l.cfg.Releases.Last("test")
	if notFound != nil {
		return // it is uninstalled
	}
	vain := 0
	for _, h := range rel.Hooks {
		want := ran[h.Name]
		switch {
		case want != "":
		case events[0] == release.HookPreRollback: // hooks that did not run keep what the target recorded
			continue
		case rel.Version == revision: // or what this revision recorded
			want = before[h.Name]
		}
		if h.LastRun.Phase != want {
			l.Errorf("%s of %s is recorded as %q, and is %q (%v)", h.Name, events, h.LastRun.Phase, want, err)
		}
		if ran[h.Name] == release.HookPhaseFailed {
			vain++
		}
	}
	if vain > 0 && !isHook && ctx.Err() == nil {
		l.Errorf("%d hooks failed, and the error is %v", vain, err)
	}
}

func (l *life) notify(action.Event) { l.events++ }

func (l *life) install(ctx context.Context) error {
	i := installer(l.cfg, nil)
	i.WaitStrategy = action.WaitStrategyNone
	if l.IntN(3) == 0 {
		i.WaitStrategy = action.WaitStrategyOrdered
	}
	i.MaxParallelHooks, i.OnEvent = l.IntN(4), l.notify
	_, err := i.RunWithContext(ctx, load(l.T, l.chart()), nil)
	return err
}

func (l *life) upgrade(ctx context.Context) error {
	u := action.NewUpgrade(l.cfg)
	u.Namespace, u.MaxParallelHooks, u.OnEvent = chartgen.Namespace, l.IntN(4), l.notify
	_, err := u.RunWithContext(ctx, "test", load(l.T, l.chart()), nil)
	return err
}

func (l *life) rollBack(ctx context.Context) error {
	r := action.NewRollback(l.cfg)
	r.MaxParallelHooks, r.OnEvent = l.IntN(4), l.notify
	return r.RunWithContext(ctx, "test")
}

func (l *life) test(ctx context.Context) error {
	r := action.NewReleaseTesting(l.cfg)
	r.Namespace, r.MaxParallelHooks, r.OnEvent = chartgen.Namespace, l.IntN(4), l.notify
	if l.IntN(2) == 0 {
		r.Filters[action.ExcludeNameFilter] = []string{"h0", "h3", "h5"}
	}
	_, err := r.RunWithContext(ctx, "test")
	return err
}

func (l *life) uninstall(ctx context.Context) error {
	u := action.NewUninstall(l.cfg)
	u.MaxParallelHooks, u.OnEvent, u.KeepHistory = l.IntN(4), l.notify, l.IntN(2) == 0
	_, err := u.RunWithContext(ctx, "test")
	return err
}

// chart returns one or two charts with hooks of different names.
func (l *life) chart() []*file {
	modes := []string{"true", "true", "otherChartsOnly", "false"}
	kinds := []string{"Job", "Job", "Pod", "ConfigMap"}
	events := []string{
		"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "pre-delete", "post-delete", "test", "test",
		"pre-install,post-install,test", "pre-upgrade,pre-delete,pre-rollback", "post-upgrade,post-delete,test",
	}
	var files []*file
	n := 0
	for c := range 1 + l.IntN(2) {
		path, name := "", fmt.Sprintf("c%d", c)
		if c > 0 {
			path = "charts/" + name + "/"
		}
		files = append(files, &file{Name: path + "Chart.yaml", Data: fmt.Appendf(nil,
			"apiVersion: v2\nname: %s\nversion: 1.0.0\nrunHooksInParallel: %s\n", name, modes[l.IntN(len(modes))])})
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"
		for range l.IntN(7) {
			text += fmt.Sprintf("---\napiVersion: v1\nkind: %s\nmetadata:\n  name: h%d\n  annotations:\n    helm.sh/hook: %s\n    helm.sh/hook-weight: %q\n    helm.sh/hook-delete-policy: %s\n",
				kinds[l.IntN(len(kinds))], n, events[l.IntN(len(events))], fmt.Sprint(l.IntN(3)), []string{"before-hook-creation", "hook-succeeded", "hook-failed,hook-succeeded", "hook-failed"}[l.IntN(4)])
			n++
		}
		files = append(files, &file{Name: path + "templates/all.yaml", Data: []byte(text)})
	}
	return files
}
