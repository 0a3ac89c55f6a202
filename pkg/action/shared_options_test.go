// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"testing"

	"github.com/ordered-helm/helm/internal/hooks"
)

// TestValidateParallelHooks checks that all operations reject a negative limit.
func TestValidateParallelHooks(t *testing.T) {
	for limit, want := range map[int]string{0: "", 1: "", 1000: "", -1: "invalid limit of -1 parallel hooks: must be positive, or 0 for no limit"} {
		err := hooks.ValidateLimit(limit)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d: got %v", limit, err)
		}
	}
	cfg := &Configuration{Log: t.Logf} // the configuration is not used
	install, upgrade, rollback, uninstall, tests := NewInstall(cfg), NewUpgrade(cfg), NewRollback(cfg), NewUninstall(cfg), NewReleaseTesting(cfg)
	install.MaxParallelHooks, upgrade.MaxParallelHooks, rollback.MaxParallelHooks, uninstall.MaxParallelHooks, tests.MaxParallelHooks = -1, -1, -1, -1, -1
	for name, run := range map[string]func() error{
		"install":   func() error { _, err := install.RunWithContext(t.Context(), nil, nil); return err },
		"upgrade":   func() error { _, err := upgrade.RunWithContext(t.Context(), "rel", nil, nil); return err },
		"rollback":  func() error { return rollback.RunWithContext(t.Context(), "rel") },
		"uninstall": func() error { _, err := uninstall.RunWithContext(t.Context(), "rel"); return err },
		"test":      func() error { _, err := tests.RunWithContext(t.Context(), "rel"); return err },
	} {
		if err := run(); err == nil || err.Error() != "invalid limit of -1 parallel hooks: must be positive, or 0 for no limit" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestWaitsForJobs checks which operations wait for Jobs that nothing depends on.
func TestWaitsForJobs(t *testing.T) {
	for _, c := range []struct{ ordered, wait, ignore, want bool }{
		{false, false, false, false},
		{false, true, false, true},
		{false, false, true, false},
		{true, false, false, true},
		{true, true, false, true},
		{true, false, true, false},
		{true, true, true, true}, // a rollback with WaitForJobs to a revision with IgnoreJobs
	} {
		if got := waitsForJobs(c.ordered, c.wait, c.ignore); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestValidateJobs checks that all operations reject WaitForJobs together with IgnoreJobs.
func TestValidateJobs(t *testing.T) {
	cfg := &Configuration{Log: t.Logf} // the configuration is not used
	install, upgrade, rollback := NewInstall(cfg), NewUpgrade(cfg), NewRollback(cfg)
	install.WaitForJobs, upgrade.WaitForJobs, rollback.WaitForJobs = true, true, true
	install.IgnoreJobs, upgrade.IgnoreJobs, rollback.IgnoreJobs = true, true, true
	for name, run := range map[string]func() error{
		"install":  func() error { _, err := install.RunWithContext(t.Context(), nil, nil); return err },
		"upgrade":  func() error { _, err := upgrade.RunWithContext(t.Context(), "rel", nil, nil); return err },
		"rollback": func() error { return rollback.RunWithContext(t.Context(), "rel") },
	} {
		if err := run(); err == nil || err.Error() != "WaitForJobs and IgnoreJobs exclude each other" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestDryRunMode checks which modes the fields DryRunOption and DryRun select, as in Helm.
func TestDryRunMode(t *testing.T) {
	for option, want := range map[string][2]runMode{ // without and with DryRun
		"":       {deploying, clientDryRun},
		"none":   {deploying, serverDryRun},
		"false":  {deploying, serverDryRun},
		"other":  {deploying, clientDryRun},
		"true":   {clientDryRun, clientDryRun},
		"client": {clientDryRun, clientDryRun},
		"server": {serverDryRun, serverDryRun},
	} {
		if got := [2]runMode{dryRunMode(option, false), dryRunMode(option, true)}; got != want {
			t.Errorf("%q: got %v, want %v", option, got, want)
		}
	}
}

// TestContradictingCRDOptions checks that an install and an upgrade reject a policy for CRDs that
// SkipCRDs contradicts, and unknown policies.
func TestContradictingCRDOptions(t *testing.T) {
	cfg := &Configuration{Log: t.Logf} // the configuration is not used
	for _, c := range []struct {
		policy CRDPolicy
		skip   bool
		want   string
	}{
		{CRDPolicyApply, true, `SkipCRDs and the policy "apply" for CRDs exclude each other`},
		{"replace", false, `unknown policy "replace" for CRDs: use one of ["create" "apply" "skip"], or leave it empty`},
	} {
		install, upgrade := NewInstall(cfg), NewUpgrade(cfg)
		install.CRDs, install.SkipCRDs, upgrade.CRDs, upgrade.SkipCRDs = c.policy, c.skip, c.policy, c.skip
		if _, err := install.RunWithContext(t.Context(), nil, nil); err == nil || err.Error() != c.want {
			t.Errorf("install: got %v, want %s", err, c.want)
		}
		if _, err := upgrade.RunWithContext(t.Context(), "rel", nil, nil); err == nil || err.Error() != c.want {
			t.Errorf("upgrade: got %v, want %s", err, c.want)
		}
	}
}
