// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordered-helm/helm/pkg/action"
)

// waitFlags returns a flag set with --wait and other flags, like that of a command.
func waitFlags(wait *bool, strategy *action.WaitStrategy) *pflag.FlagSet {
	cmd := &cobra.Command{}
	addWaitFlag(cmd, wait, strategy, "")
	f := cmd.Flags()
	f.Duration("timeout", time.Minute, "")
	f.String("description", "", "")
	f.StringP("namespace", "n", "", "")
	f.StringP("output", "o", "", "")
	f.BoolP("generate-name", "g", false, "")
	f.String("dry-run", "", "")
	f.Lookup("dry-run").NoOptDefVal = "client"
	return f
}

func TestWaitFlag(t *testing.T) {
	const ordered = action.WaitStrategyOrdered
	tests := []struct {
		name     string
		args     []string
		wait     bool
		strategy action.WaitStrategy
		off      bool
		rest     []string
		fails    string
	}{
		{name: "not given"},
		{name: "bare", args: []string{"--wait"}, wait: true},
		{name: "bare before a flag", args: []string{"--wait", "--timeout", "1m"}, wait: true},
		{name: "bare before a name", args: []string{"--wait", "web"}, wait: true, rest: []string{"web"}},
		{name: "true", args: []string{"--wait=true"}, wait: true},
		{name: "1", args: []string{"--wait=1"}, wait: true},
		{name: "T", args: []string{"--wait=T"}, wait: true},
		{name: "false", args: []string{"--wait=false"}, off: true},
		{name: "0", args: []string{"--wait=0"}, off: true},
		{name: "F", args: []string{"--wait=F"}, off: true},
		{name: "ordered", args: []string{"--wait=ordered"}, strategy: ordered},
		{name: "the last one wins, ordered", args: []string{"--wait", "--wait=ordered"}, strategy: ordered},
		{name: "the last one wins, false", args: []string{"--wait=ordered", "--wait=false"}, off: true},
		{name: "the last one wins, true", args: []string{"--wait=ordered", "--wait"}, wait: true},
		{name: "other capitals", args: []string{"--wait=Ordered"}, fails: `must be true, false or ordered, not "Ordered"`},
		{name: "nothing after the equals sign", args: []string{"--wait="}, fails: `must be true, false or ordered, not ""`},
		{name: "anything else", args: []string{"--wait=yes"}, fails: `must be true, false or ordered, not "yes"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var wait bool
			var strategy action.WaitStrategy
			f := waitFlags(&wait, &strategy)
			err := f.Parse(tt.args)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v does not say %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if wait != tt.wait || strategy != tt.strategy {
				t.Errorf("Wait is %v and the strategy %q, want %v and %q", wait, strategy, tt.wait, tt.strategy)
			}
			if got := isWaitDisabled(f); got != tt.off {
				t.Errorf("switched off: %v, want %v", got, tt.off)
			}
			if got, want := strings.Join(f.Args(), " "), strings.Join(tt.rest, " "); got != want {
				t.Errorf("arguments %q, want %q", got, want)
			}
		})
	}
}

func TestOrderedAfterBareWait(t *testing.T) {
	tests := []struct {
		line string
		want bool
	}{
		{"install --wait ordered ./shop", true},
		{"install ./shop --wait ordered", true},
		{"install -n shop --wait ordered x", true},
		{"install -nshop --wait ordered x", true},
		{"install -g --wait ordered", true},
		{"install -gn shop --wait ordered", true},
		{"install --dry-run --wait ordered x", true},
		{"install --wait=false --wait ordered x", true},
		{"install ordered ./shop --wait", false},
		{"install --wait=true ordered ./shop", false},
		{"install --wait=ordered ./shop", false},
		{"install --wait --timeout 1m ordered ./shop", false},
		{"install --wait shop ordered", false},
		{"install --wait", false},
		{"install --description --wait ordered ./shop", false},
		{"install -n --wait ordered ./shop", false},
		{"install -gn --wait ordered ./shop", false},
		{"install -- --wait ordered", false},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			f := waitFlags(new(bool), new(action.WaitStrategy))
			if got := orderedAfterBareWait(f, strings.Fields(tt.line)); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestWaitForJobsFlag checks that an explicit false differs from no flag.
func TestWaitForJobsFlag(t *testing.T) {
	for _, c := range []struct {
		args         string
		wait, ignore bool
		fails        bool
	}{
		{args: ""},
		{args: "--wait-for-jobs", wait: true},
		{args: "--wait-for-jobs=true", wait: true},
		{args: "--wait-for-jobs=1", wait: true},
		{args: "--wait-for-jobs=false", ignore: true},
		{args: "--wait-for-jobs=0", ignore: true},
		{args: "--wait-for-jobs --wait-for-jobs=false", ignore: true},
		{args: "--wait-for-jobs=false --wait-for-jobs", wait: true},
		{args: "--wait-for-jobs=never", fails: true},
	} {
		var wait, ignore bool
		f := pflag.NewFlagSet("test", pflag.ContinueOnError)
		addWaitForJobsFlag(f, &wait, &ignore)
		if err := f.Parse(strings.Fields(c.args)); (err != nil) != c.fails || wait != c.wait || ignore != c.ignore {
			t.Errorf("%s: got %v, %v, %v", c.args, wait, ignore, err)
		}
	}
}

func TestWaitCheck(t *testing.T) {
	for _, line := range []string{
		"install --wait ordered ./nowhere",
		"install -n shop web ./nowhere --wait ordered",
		"template --wait ordered ./nowhere",
		"upgrade --wait ordered ./nowhere",
		"upgrade web ./nowhere --wait ordered",
		"rollback --wait ordered",
		"rollback web 1 --wait ordered",
		"uninstall --wait ordered",
		"uninstall --wait ordered web",
	} {
		t.Run(line, func(t *testing.T) {
			got := runHelm(t, strings.Fields(line)...)
			if got.code != 1 || !strings.Contains(got.stderr, "use --wait=ordered") {
				t.Errorf("not refused with a hint: %+v", got)
			}
		})
	}
}

func TestReadinessTimeout(t *testing.T) {
	tests := []struct {
		name, env string
		args      []string
		want      time.Duration
		fails     bool
	}{
		{name: "nothing said"},
		{name: "flag", args: []string{"--readiness-timeout", "20s"}, want: 20 * time.Second},
		{name: "environment", env: "30s", want: 30 * time.Second},
		{name: "the flag wins", env: "30s", args: []string{"--readiness-timeout=1m"}, want: time.Minute},
		{name: "broken environment", env: "soon", fails: true},
		{name: "the flag wins over a broken environment", env: "soon", args: []string{"--readiness-timeout=1m"}, want: time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HELM_READINESS_TIMEOUT", tt.env)
			var got time.Duration
			f := pflag.NewFlagSet("test", pflag.ContinueOnError)
			check := addReadinessFlag(f, &got)
			if err := f.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			if err := check(); (err != nil) != tt.fails {
				t.Errorf("error: %v", err)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestInvalidReadinessTimeouts(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n"})
	t.Run("longer than the whole operation", func(t *testing.T) {
		got := runHelm(t, "template", chart, "--wait=ordered", "--timeout", "10s", "--readiness-timeout", "11s")
		if got.code != 1 || !strings.Contains(got.stderr, "--readiness-timeout") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("broken environment", func(t *testing.T) {
		t.Setenv("HELM_READINESS_TIMEOUT", "soon")
		got := runHelm(t, "template", chart)
		if got.code != 1 || !strings.Contains(got.stderr, "$HELM_READINESS_TIMEOUT") {
			t.Errorf("%+v", got)
		}
	})
}

func TestReadinessTimeoutWithoutOrder(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n"})
	const warning = "WARNING: --readiness-timeout has no effect without --wait=ordered\n"
	for line, want := range map[string]string{"--readiness-timeout 3s": warning, "--readiness-timeout 3s --wait": warning, "--readiness-timeout 3s --wait=ordered": "", "--wait": ""} {
		if got := runHelm(t, append([]string{"template", chart}, strings.Fields(line)...)...); got.stderr != want || got.code != 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestReadinessFromEnvKeepsTheCause(t *testing.T) {
	t.Setenv("HELM_READINESS_TIMEOUT", "soon")
	if _, err := readinessFromEnv(); errors.Unwrap(err) == nil {
		t.Errorf("%v wraps nothing", err)
	}
}
