// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// ofConfigMap returns a matcher of requests for a ConfigMap with a verb. A create request has no
// name.
func ofConfigMap(verb, name string) func(fault.Request) bool {
	return func(what fault.Request) bool {
		return what.Verb == verb && what.Resource == "configmaps" && (what.Name == name || verb == "create")
	}
}

// interrupt corrects the drift of the release, and calls do while a matching request of the
// correction is held. It returns the result of the correction.
func (p *program) interrupt(t *testing.T, matches func(fault.Request) bool, do func()) *correction {
	t.Helper()
	held, pass := p.HoldRequests(t, matches)
	defer pass()
	running := p.start(t)
	select {
	case <-held:
	case <-running.done:
		t.Fatalf("the correction ended before the request: %s, %v", describe(running.result), running.err)
	}
	do()
	pass()
	harness.AwaitClosed(t, running.done, "the end of the correction")
	return running
}

// expectInterrupted checks the error and the result of a correction during which another operation
// has begun.
func (c *correction) expectInterrupted(t *testing.T, text string) {
	t.Helper()
	interrupted, ok := errors.AsType[*action.DriftInterruptedError](c.err)
	if !ok || interrupted.Release != "rel" || interrupted.Revision != 1 || !strings.Contains(c.err.Error(), text) {
		t.Errorf("got the error %v, want one that contains %q", c.err, text)
	}
	if got := describe(c.result); got != "" {
		t.Errorf("got the result %q", got)
	}
}

// TestUpgradeBeforeWrite lets an upgrade run after the correction has found drift, and before it
// reads the object for the patch. The value of the upgrade must stay.
//   - "An operation can therefore begin at any time, and takes precedence"
//   - "CorrectDrift checks that its revision is still the newest one, and deployed"
//   - "Otherwise it stops"
func TestUpgradeBeforeWrite(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"in order": {"--wait=ordered"}, "without an order": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := harness.New(t)
			direct.MustRun(append(flags, "install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("old")))...)
			direct.Patch(t, "ConfigMap/own", `{"data":{"value":"wrong"}}`)
			h := *direct
			c := newProgram(&h).interrupt(t, ofConfigMap("get", "own"), func() {
				direct.MustRun("upgrade", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("new")))
			})
			c.expectInterrupted(t, "revision 2 is deployed")
			if got := harness.ValueOf(direct.Get(t, "ConfigMap/own")); got != "new" {
				t.Errorf("the object has the value %q", got)
			}
			newProgram(&h).correct(t, "")
		})
	}
}

// TestUpgradeDuringPatch lets an upgrade run after the correction has checked that there is none,
// and before the server receives the patch. The value of the upgrade must stay.
//   - "Each patch has the resource version of the object from which it was computed before that check"
//   - "If somebody else has changed the object since, the server rejects the patch"
func TestUpgradeDuringPatch(t *testing.T) {
	t.Parallel()
	direct := harness.New(t)
	direct.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("old")))
	direct.Patch(t, "ConfigMap/own", `{"data":{"value":"wrong"}}`)
	h := *direct
	c := newProgram(&h).interrupt(t, ofConfigMap("patch", "own"), func() {
		direct.MustRun("upgrade", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("new")))
	})
	c.expectInterrupted(t, "revision 2 is deployed")
	if got := harness.ValueOf(direct.Get(t, "ConfigMap/own")); got != "new" {
		t.Errorf("the object has the value %q", got)
	}
}

// TestChangeDuringPatch lets another client change the object before the server receives the patch.
// The correction computes the patch again.
//   - "CorrectDrift then reads the object again, and checks again"
func TestChangeDuringPatch(t *testing.T) {
	t.Parallel()
	direct := harness.New(t)
	direct.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("right")))
	direct.Patch(t, "ConfigMap/own", `{"data":{"value":"wrong"}}`)
	h := *direct
	c := newProgram(&h).interrupt(t, ofConfigMap("patch", "own"), func() {
		direct.Patch(t, "ConfigMap/own", `{"data":{"value":"worse","foreign":"kept"}}`)
	})
	harness.NoError(t, c.err)
	if got := describe(c.result); got != "changed ConfigMap/own" {
		t.Errorf("got the result %q", got)
	}
	if got := harness.ValueOf(direct.Get(t, "ConfigMap/own")); got != "right" {
		t.Errorf("the object has the value %q", got)
	}
}

// TestOperationDuringCreation lets another operation run before the server receives the request to
// create an object.
//   - "If another operation has begun while an object was created, it is deleted again"
func TestOperationDuringCreation(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"upgrade without the object": func(t *testing.T, direct *harness.Helm) {
			createDuring(t, direct, "revision 2 is deployed", "-", "upgrade", "rel", charts.Write(t, charts.Object{Name: "other"}))
		},
		"upgrade with the object": func(t *testing.T, direct *harness.Helm) {
			createDuring(t, direct, "revision 2 is deployed", "new", "upgrade", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("new")))
		},
		"uninstall": func(t *testing.T, direct *harness.Helm) {
			createDuring(t, direct, "no longer exists", "-", "uninstall", "rel")
		},
		"uninstall that keeps the history": func(t *testing.T, direct *harness.Helm) {
			createDuring(t, direct, "revision 1 is uninstalled", "-", "uninstall", "rel", "--keep-history")
		},
	})
}

// createDuring runs helm while the correction creates the object own, and checks the error, and the
// value of the object afterwards.
func createDuring(t *testing.T, direct *harness.Helm, text, value string, args ...string) {
	t.Helper()
	direct.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("old")+"---\n"+charts.ConfigMap("other")))
	direct.Delete(t, "ConfigMap/own")
	h := *direct
	c := newProgram(&h).interrupt(t, ofConfigMap("create", "own"), func() { direct.MustRun(args...) })
	c.expectInterrupted(t, text)
	if got := harness.ValueOf(direct.Get(t, "ConfigMap/own")); got != value {
		t.Errorf("the object has the value %q, want %q", got, value)
	}
}

// TestUpgradeAfterCreation lets an upgrade run after the correction has created an object, and before
// the correction notices the upgrade, which finds that the object is as its revision declares it.
// The object must stay.
func TestUpgradeAfterCreation(t *testing.T) {
	t.Parallel()
	direct := harness.New(t)
	own := charts.WriteTemplate(t, charts.OwnConfigMap("same"))
	direct.MustRun("install", "rel", own)
	direct.Delete(t, "ConfigMap/own")
	h := *direct
	var created atomic.Bool
	c := newProgram(&h).interrupt(t, func(what fault.Request) bool {
		if ofConfigMap("create", "own")(what) {
			created.Store(true)
		}
		return created.Load() && harness.ListsRevisions(what)
	}, func() { direct.MustRun("upgrade", "rel", own) })
	if interrupted, ok := errors.AsType[*action.DriftInterruptedError](c.err); !ok || describe(c.result) != "created ConfigMap/own" {
		t.Errorf("got %q, %v", describe(c.result), interrupted)
	}
	if got := harness.ValueOf(direct.Get(t, "ConfigMap/own")); got != "same" {
		t.Errorf("the object has the value %q", got)
	}
}

// TestCreationDuringUpgrade lets the correction create an object after an upgrade has found that it
// does not exist, and before the upgrade creates it. The upgrade must succeed.
//   - "CorrectDrift does not lock the release, because the lock is part of the stored release"
//   - "An upgrade or rollback that does not know that the object exists again changes it"
func TestCreationDuringUpgrade(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"in order": {"--wait=ordered"}, "without an order": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := harness.New(t)
			direct.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("old")))
			direct.Delete(t, "ConfigMap/own")
			direct.Env = slices.Clip(direct.Env) // the two copies get proxies of their own
			h, upgrading := *direct, *direct
			absent, pass := upgrading.HoldRequests(t, ofConfigMap("create", "own"))
			defer pass()
			var upgrade *harness.Process
			c := newProgram(&h).interrupt(t, ofConfigMap("create", "own"), func() {
				upgrade = upgrading.Start(t, append(flags, "upgrade", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("new")))...)
				harness.AwaitClosed(t, absent, "a request of the upgrade")
			})
			if _, ok := errors.AsType[*action.HeldError](c.err); !ok {
				t.Errorf("got the error %v", c.err)
			}
			pass()
			upgrade.ExpectExit(t, 0)
			if got := harness.ValueOf(direct.Get(t, "ConfigMap/own")); got != "new" {
				t.Errorf("the object has the value %q", got)
			}
		})
	}
}

// TestLostCreation lets an upgrade without the object run after the server has received the request
// to create it, but before the correction knows that. The object must not be left.
func TestLostCreation(t *testing.T) {
	t.Parallel()
	direct := harness.New(t)
	direct.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("old")+"---\n"+charts.ConfigMap("other")))
	direct.Delete(t, "ConfigMap/own")
	h := *direct
	proxy := h.UseProxy(t)
	var upgraded atomic.Bool
	proxy.Intercept(func(w http.ResponseWriter, r *http.Request, what fault.Request) bool {
		if !ofConfigMap("create", "own")(what) || upgraded.Swap(true) {
			return false
		}
		direct.MustRun("upgrade", "rel", charts.Write(t, charts.Object{Name: "other"}))
		return fault.DropAfter(w, r, what)
	})
	p := newProgram(&h)
	c := p.start(t)
	harness.AwaitClosed(t, c.done, "the end of the correction")
	c.expectInterrupted(t, "revision 2 is deployed")
	if direct.Get(t, "ConfigMap/own") != nil {
		t.Error("the object is left")
	}
}

// TestUpgradeInProgress checks that the error names the lock holder if the other operation is still
// running.
//   - "If another operation begins later, it is a *DriftInterruptedError"
func TestUpgradeInProgress(t *testing.T) {
	t.Parallel()
	direct := harness.New(t)
	direct.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("old")))
	direct.Patch(t, "ConfigMap/own", `{"data":{"value":"wrong"}}`)
	direct.Env = slices.Clip(direct.Env) // the two copies get proxies of their own
	h, upgrading := *direct, *direct
	locked, pass := upgrading.HoldRequests(t, func(what fault.Request) bool { return fault.Writes(what) && what.Resource == "configmaps" })
	defer pass()
	var upgrade *harness.Process
	c := newProgram(&h).interrupt(t, ofConfigMap("get", "own"), func() {
		upgrade = upgrading.Start(t, "upgrade", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("new")))
		harness.AwaitClosed(t, locked, "a request of the upgrade")
	})
	c.expectInterrupted(t, "helm upgrade on")
	if held, ok := errors.AsType[*action.HeldError](c.err); !ok || held.Holder == nil || held.Revision != 2 {
		t.Errorf("got the error %v", c.err)
	}
	pass()
	upgrade.ExpectExit(t, 0)
	if got := harness.ValueOf(direct.Get(t, "ConfigMap/own")); got != "new" {
		t.Errorf("the object has the value %q", got)
	}
}

// TestCancellation checks that a correction stops when its context is canceled.
func TestCancellation(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.Write(t, charts.UnreadyObjects("right")...))
	h.Delete(t, "ConfigMap/first")
	held, pass := h.HoldRequests(t, ofConfigMap("create", "first"))
	defer pass()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-held:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := newProgram(h).try(ctx, t); !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v", err)
	}
}
