// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// runUnread runs helm with a stderr that is a pipe whose reading end is closed.
func runUnread(h *harness.Helm, args ...string) {
	h.TB.Helper()
	reader, writer, err := os.Pipe()
	harness.NoError(h.TB, err)
	harness.NoError(h.TB, reader.Close())
	defer func() { _ = writer.Close() }()
	cmd := exec.CommandContext(h.TB.Context(), binaries.Get(h.TB).Helm, append(args, "--namespace", h.Namespace)...)
	cmd.Env, cmd.Stderr = h.Env, writer
	_ = cmd.Run() // helm can be ended by the signal when it prints its final error
}

// TestClosedStderr checks that an operation finishes although nobody reads its stderr, and so
// does the rollback or uninstall of a failed operation with --atomic.
func TestClosedStderr(t *testing.T) {
	t.Parallel()
	const unready = "apiVersion: v1\nkind: Pod\nmetadata: {name: bad, annotations: {devcluster/pod: never}}\nspec: {containers: [{name: c, image: i}]}\n"
	for _, c := range []struct {
		name string
		run  func(h *harness.Helm)
		want string // the releases that are left, with their status
	}{
		{name: "install in order", want: "rel deployed", run: func(h *harness.Helm) {
			runUnread(h, "install", "rel", harness.ExampleChart(t, "shop"), "--wait=ordered")
		}},
		{name: "uninstall in order", want: "", run: func(h *harness.Helm) {
			h.MustRun("install", "rel", harness.ExampleChart(t, "shop"), "--wait=ordered")
			runUnread(h, "uninstall", "rel")
		}},
		{name: "install that is undone", want: "", run: func(h *harness.Helm) {
			runUnread(h, "install", "rel", charts.WriteTemplate(t, unready), "--atomic", "--timeout", "2s")
		}},
		{name: "upgrade that is undone", want: "rel deployed", run: func(h *harness.Helm) {
			h.MustRun("install", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("1")))
			runUnread(h, "upgrade", "rel", charts.WriteTemplate(t, charts.OwnConfigMap("2")+"---\n"+unready), "--atomic", "--timeout", "3s")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			c.run(h)
			var releases []struct{ Name, Status string }
			harness.NoError(t, json.Unmarshal([]byte(h.MustRun("list", "--all", "-o", "json").Stdout), &releases))
			got := ""
			for _, r := range releases {
				got += r.Name + " " + r.Status
			}
			if got != c.want {
				t.Errorf("left %q, want %q", got, c.want)
			}
		})
	}
}

// TestFullDisk checks commands whose output cannot be written: as in stock Helm, an operation
// succeeds, and a command that only prints fails.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("there is no device that is always full: %v", err)
	}
	t.Cleanup(func() { _ = full.Close() })
	h := harness.New(t)
	chart := charts.WriteTemplate(t, charts.OwnConfigMap("1"))
	for _, c := range []struct {
		args []string
		done bool
	}{
		{[]string{"install", "rel", chart}, true},
		{[]string{"upgrade", "rel", chart}, true},
		{[]string{"rollback", "rel"}, true},
		{[]string{"test", "rel"}, true},
		{[]string{"get", "manifest", "rel"}, false},
		{[]string{"status", "rel"}, false},
		{[]string{"show", "chart", chart}, false},
		{[]string{"version"}, false},
		{[]string{"template", "rel", chart}, false},
		{[]string{"uninstall", "rel"}, true},
	} {
		cmd := exec.CommandContext(t.Context(), binaries.Get(t).Helm, append(c.args, "--namespace", h.Namespace)...)
		var stderr bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = h.Env, full, &stderr
		err := cmd.Run()
		if (err == nil) != c.done || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("helm %s: %v\n%s", strings.Join(c.args, " "), err, stderr.String())
		}
		if warned := strings.HasPrefix(stderr.String(), "WARNING: the operation succeeded, but"); warned != c.done {
			t.Errorf("helm %s says\n%s", strings.Join(c.args, " "), stderr.String())
		}
	}
}
