// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// TestCreateInUpgrade checks that an upgrade creates definitions that do not exist, and changes
// no others. Without the flag, it does nothing, like stock Helm.
//   - "--crds changes this in install, upgrade and plan, with and without --wait=ordered"
//   - "create | definitions that do not exist are created, also in an upgrade"
//   - "none | as in stock Helm: install creates the definitions that do not exist; upgrade does nothing"
func TestCreateInUpgrade(t *testing.T) {
	t.Parallel()
	for name, flags := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun("install", "rel", chart(t, charts.OwnConfigMap("1")))
			next := chart(t, w.gadget("v1", "size: 1"), w.gadgets(t, v1Size))
			w.ExpectFailure(t, append([]string{"upgrade", "rel", next}, flags...), "Gadget")
			w.MustRun(append([]string{"upgrade", "rel", next, "--crds=create"}, flags...)...)
			w.MustRun(append([]string{"upgrade", "rel", chart(t, w.gadget("v1", "size: 2"), w.gadgets(t, v1Color, v2Color)), "--crds=create"}, flags...)...)
			if got := w.versionsOf(t, "gadgets"); got != "v1" {
				t.Errorf("the definition has the versions %s", got)
			}
		})
	}
}

// TestCreateWithoutFlag checks that the flag does not change what an installation does without
// it, and that skip creates nothing.
//   - "none | as in stock Helm: install creates the definitions that do not exist"
//   - "skip | as --skip-crds: nothing is done with definitions"
func TestCreateWithoutFlag(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flag, want string
	}{
		{"--timeout=1m", "v1"},
		{"--crds=create", "v1"},
		{"--crds=apply", "v1"},
		{"--crds=skip", ""},
		{"--skip-crds", ""},
	} {
		t.Run(tt.flag, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.MustRun("upgrade", "rel", "--install", chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size)), tt.flag)
			if got := w.versionsOf(t, "gadgets"); got != tt.want {
				t.Errorf("the definition has the versions %q, want %q", got, tt.want)
			}
		})
	}
}

// TestContradictingFlags checks that flags that contradict each other are an error before
// anything is done.
//   - "--skip-crds cannot be combined with another value than skip"
func TestContradictingFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gadgets := chart(t, charts.OwnConfigMap("1"), w.gadgets(t, v1Size))
	for _, args := range [][]string{
		{"install", "rel", gadgets, "--crds=apply", "--skip-crds"},
		{"install", "rel", gadgets, "--crds=create", "--skip-crds"},
		{"upgrade", "rel", gadgets, "--install", "--crds=apply", "--skip-crds"},
		{"upgrade", "rel", gadgets, "--crds=create", "--skip-crds"},
		{"plan", "rel", gadgets, "--install", "--crds=apply", "--skip-crds"},
	} {
		w.ExpectFailure(t, args, "contradict each other")
	}
	w.ExpectFailure(t, []string{"install", "rel", gadgets, "--crds=replace"}, "must be one of: create, apply, skip")
	w.ExpectNoReleases(t)
	if got := w.versionsOf(t, "gadgets"); got != "" {
		t.Errorf("the definition has the versions %s", got)
	}
	w.MustRun("install", "rel", gadgets, "--crds=skip", "--skip-crds")
}
