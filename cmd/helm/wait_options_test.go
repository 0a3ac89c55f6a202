// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

// These are charts with and without an order that applies.
var (
	chartWithOrder    = map[string]string{"Chart.yaml": "apiVersion: v3\nname: x\nversion: 1.0.0\n"}
	chartOptedIn      = map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\nannotations: {helm.sh/sequencing: enabled}\n"}
	chartWithoutOrder = map[string]string{"Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n"}
	chartAroundOrder  = map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: sub, version: 1.0.0, condition: sub.enabled}]\n",
		"charts/sub/Chart.yaml": "apiVersion: v3\nname: sub\nversion: 1.0.0\n",
		"values.yaml":           "sub: {enabled: false}\n",
	}
)

// TestWaitFromEnvironment checks what $HELM_WAIT changes in install, upgrade and plan.
func TestWaitFromEnvironment(t *testing.T) {
	const ordered = action.WaitStrategyOrdered
	tests := []struct {
		name     string
		chart    map[string]string
		env      string
		line     string
		wait     bool
		strategy action.WaitStrategy
	}{
		{name: "no wait", chart: chartWithOrder, env: "ordered", line: ""},
		{name: "bare", chart: chartWithOrder, env: "ordered", line: "--wait", strategy: ordered},
		{name: "bare, variable not set", chart: chartWithOrder, line: "--wait", wait: true},
		{name: "bare, opted in", chart: chartOptedIn, env: "ordered", line: "--wait", strategy: ordered},
		{name: "bare, no order", chart: chartWithoutOrder, env: "ordered", line: "--wait", wait: true},
		{name: "bare, order of a subchart", chart: chartAroundOrder, env: "ordered", line: "--wait", strategy: ordered},
		{name: "true", chart: chartWithOrder, env: "ordered", line: "--wait=true", wait: true},
		{name: "false", chart: chartWithOrder, env: "ordered", line: "--wait=false"},
		{name: "ordered, no order", chart: chartWithoutOrder, env: "ordered", line: "--wait=ordered", strategy: ordered},
		{name: "the last one wins, bare", chart: chartWithOrder, env: "ordered", line: "--wait=true --wait", strategy: ordered},
		{name: "the last one wins, true", chart: chartWithOrder, env: "ordered", line: "--wait --wait=true", wait: true},
		{name: "in the value of another flag", chart: chartWithOrder, env: "ordered", line: "--wait=true --description --wait", wait: true},
		{name: "atomic", chart: chartWithOrder, env: "ordered", line: "--atomic", strategy: ordered},
		{name: "atomic=false", chart: chartWithOrder, env: "ordered", line: "--atomic=false"},
		{name: "atomic, no order", chart: chartWithoutOrder, env: "ordered", line: "--atomic"},
		{name: "atomic, variable not set", chart: chartWithOrder, line: "--atomic"},
		{name: "atomic and true", chart: chartWithOrder, env: "ordered", line: "--atomic --wait=true", wait: true},
		{name: "atomic and false", chart: chartWithOrder, env: "ordered", line: "--atomic --wait=false"},
		{name: "atomic and bare", chart: chartWithOrder, env: "ordered", line: "--atomic --wait", strategy: ordered},
	}
	for _, tt := range tests {
		for _, command := range []string{"install", "upgrade", "plan"} {
			t.Run(command+" "+tt.name, func(t *testing.T) {
				t.Setenv("HELM_WAIT", tt.env)
				chrt, err := loader.Load(writeChart(t, tt.chart))
				if err != nil {
					t.Fatal(err)
				}
				wait, strategy := resolveWait(t, command, strings.Fields(tt.line), chrt)
				if wait != tt.wait || strategy != tt.strategy {
					t.Errorf("Wait is %v and the strategy %q, want %v and %q", wait, strategy, tt.wait, tt.strategy)
				}
			})
		}
	}
}

// resolveWait returns the fields Wait and WaitStrategy of the action of a command after the
// flags have been parsed and the chart has been loaded.
func resolveWait(t *testing.T, command string, flags []string, chrt *chart.Chart) (bool, action.WaitStrategy) {
	t.Helper()
	a := &app{settings: cli.New(), config: new(action.Configuration), args: append([]string{command}, flags...), out: t.Output(), errOut: t.Output()}
	parse := func(cmd *cobra.Command) {
		if err := cmd.ParseFlags(flags); err != nil {
			t.Fatal(err)
		}
	}
	if command == "install" {
		in := newInstallActionInput(a)
		parse(newInstallCmd(in))
		if err := in.wait.resolve(chrt, waitFields{&in.client.Wait, &in.client.WaitStrategy, &in.client.AllowIgnoredOrder}, in.client.Atomic); err != nil {
			t.Fatal(err)
		}
		return in.client.Wait, in.client.WaitStrategy
	}
	in := newUpgradeActionInput(a)
	if command == "upgrade" {
		parse(newUpgradeCmd(in))
	} else {
		parse(newPlanCmd(in))
	}
	if err := in.wait.resolve(chrt, waitFields{&in.client.Wait, &in.client.WaitStrategy, &in.client.AllowIgnoredOrder}, in.client.Atomic); err != nil {
		t.Fatal(err)
	}
	return in.client.Wait, in.client.WaitStrategy
}

// TestInvalidWaitInEnvironment checks that other values of $HELM_WAIT are rejected before
// anything happens, in the commands to which the variable applies.
func TestInvalidWaitInEnvironment(t *testing.T) {
	for _, value := range []string{"true", "false", "Ordered", "ordered ", "1"} {
		t.Setenv("HELM_WAIT", value)
		for _, line := range []string{"install web ./nowhere", "install web ./nowhere --wait=true", "upgrade web ./nowhere", "upgrade web ./nowhere -i", "plan web ./nowhere"} {
			if got := runHelm(t, strings.Fields(line)...); got.code != 1 || !strings.Contains(got.stderr, "$HELM_WAIT: must be ordered, or not set") {
				t.Errorf("HELM_WAIT=%q helm %s: %+v", value, line, got)
			}
		}
		if got := runHelm(t, "template", writeChart(t, chartWithoutOrder), "--wait"); got.code != 0 || got.stderr != "" {
			t.Errorf("HELM_WAIT=%q helm template: %+v", value, got)
		}
	}
}

// TestEnvironmentListsWait checks that helm env prints $HELM_WAIT, like stock Helm's variables.
func TestEnvironmentListsWait(t *testing.T) {
	for value, want := range map[string]string{"": "HELM_WAIT=\"\"\n", "ordered": "HELM_WAIT=\"ordered\"\n"} {
		t.Setenv("HELM_WAIT", value)
		if got := runHelm(t, "env"); !strings.HasSuffix(got.stdout, "\n"+want) {
			t.Errorf("%q is not printed at the end:\n%s", want, got.stdout)
		}
		if got := runHelm(t, "env", "HELM_WAIT"); got.stdout != value+"\n" {
			t.Errorf("printed %q, want %q", got.stdout, value)
		}
	}
}

// TestReadinessTimeoutWithWaitFromEnvironment checks that there is no warning about
// --readiness-timeout if $HELM_WAIT makes the order apply.
func TestReadinessTimeoutWithWaitFromEnvironment(t *testing.T) {
	t.Setenv("HELM_WAIT", "ordered")
	for _, tt := range []struct {
		name  string
		chart map[string]string
		warns bool
	}{{"with an order", chartWithOrder, false}, {"without an order", chartWithoutOrder, true}} {
		var stderr bytes.Buffer
		a := &app{settings: cli.New(), config: new(action.Configuration), args: []string{"install", "--wait", "--readiness-timeout=3s"}, errOut: &stderr}
		in := newInstallActionInput(a)
		if err := newInstallCmd(in).ParseFlags(a.args[1:]); err != nil {
			t.Fatal(err)
		}
		chrt, err := loader.Load(writeChart(t, tt.chart))
		if err != nil {
			t.Fatal(err)
		}
		if err := in.wait.resolve(chrt, waitFields{&in.client.Wait, &in.client.WaitStrategy, &in.client.AllowIgnoredOrder}, false); err != nil {
			t.Fatal(err)
		}
		if warns := strings.Contains(stderr.String(), "no effect"); warns != tt.warns {
			t.Errorf("%s: warns %v, want %v", tt.name, warns, tt.warns)
		}
	}
}
