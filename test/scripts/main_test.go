// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package scripts runs helm, without a cluster, with charts whose Lua scripts are malicious or
// invalid.
package scripts

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
)

// metadata is the Chart.yaml of a chart whose scripts run.
const metadata = "apiVersion: v2\nname: app\nversion: 0.1.0\nannotations: {helm.sh/scripts: enabled}\n"

// template is the template of the charts.
const template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"

// on returns a script with a handler of an event.
func on(event, body string) string {
	return `events.on("` + event + `", 0.5, function(name, namespace, chart, values, manifest) ` + body + ` end)`
}

// writeChart writes a chart with a script, in ext/lua/script.lua, and other files, which can replace
// those that every chart has. It returns its directory.
func writeChart(tb testing.TB, script string, files map[string]string) string {
	tb.Helper()
	all := map[string]string{"Chart.yaml": metadata, "templates/app.yaml": template, "ext/lua/script.lua": script}
	for name, text := range files {
		all[name] = text
	}
	return charts.WriteFiles(tb, all)
}

// result is the result of a run of helm.
type result struct {
	stdout, stderr string
	exitCode       int
	elapsed        time.Duration
	// memory is the maximum size of the process in bytes.
	memory int64
}

// runHelm runs helm with a home directory of its own.
func runHelm(tb testing.TB, args ...string) result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	home := tb.TempDir()
	cmd := exec.CommandContext(ctx, binaries.Get(tb).Helm, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(home, "none"), "SECRET_OF_USER=exposed"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	started := time.Now()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	r := result{stdout: stdout.String(), stderr: stderr.String(), exitCode: cmd.ProcessState.ExitCode(), elapsed: time.Since(started)}
	if usage, is := cmd.ProcessState.SysUsage().(*syscall.Rusage); is {
		r.memory = maxRSS(usage)
	}
	r.checkOutput(tb)
	return r
}

// checkOutput checks that helm has neither crashed nor printed text that controls the terminal.
func (r result) checkOutput(tb testing.TB) {
	tb.Helper()
	if r.exitCode != 0 && r.exitCode != 1 || strings.Contains(r.stderr, "goroutine ") {
		tb.Errorf("exit code %d\n%.2000s", r.exitCode, r.stderr)
	}
	controls := func(c rune) bool {
		return c != '\n' && c != '\t' && unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
	}
	if i := strings.IndexFunc(r.stderr, controls); i >= 0 {
		tb.Errorf("stderr contains a control character: %.100q", r.stderr[i:])
	}
	if i := strings.IndexFunc(r.stdout, controls); i >= 0 {
		tb.Errorf("stdout contains a control character: %.100q", r.stdout[i:])
	}
}

// expect checks that helm has failed, with all of want on stderr, or has succeeded if want is empty.
func (r result) expect(tb testing.TB, want ...string) {
	tb.Helper()
	if failed := r.exitCode != 0; failed != (len(want) > 0) {
		tb.Errorf("exit code %d\n%.2000s", r.exitCode, r.stderr)
	}
	for _, text := range want {
		if !strings.Contains(r.stderr, text) {
			tb.Errorf("%q is missing in\n%.2000s", text, r.stderr)
		}
	}
}
