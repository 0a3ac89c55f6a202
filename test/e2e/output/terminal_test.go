// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/harness"
)

// terminal is a tmux terminal in which helm runs.
type terminal struct {
	socket string
	// stdout is the file that receives standard output.
	stdout string
}

// startInTerminal starts helm in a terminal. When helm has exited, the screen shows its exit
// code.
func startInTerminal(tb testing.TB, h *harness.Helm, width, height int, env []string, args ...string) *terminal {
	tb.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		tb.Skip("there is no tmux to run helm in")
	}
	dir := tb.TempDir()
	term := &terminal{socket: filepath.Join(dir, "socket"), stdout: filepath.Join(dir, "stdout")}
	var script strings.Builder
	for _, variable := range append(append([]string{"LANG=C.UTF-8", "LC_ALL=C.UTF-8"}, h.Env...), env...) {
		fmt.Fprintf(&script, "export %s\n", harness.ShellQuote(variable))
	}
	// The line above the output stands for the prompt. The shell ignores Ctrl-C, which is for
	// helm.
	script.WriteString("trap : INT\necho \"$ helm\"\n")
	script.WriteString(harness.ShellQuote(binaries.Get(tb).Helm))
	for _, arg := range append(args, "--namespace", h.Namespace) {
		script.WriteString(" " + harness.ShellQuote(arg))
	}
	fmt.Fprintf(&script, " > %s\necho \"exit code $?\"\nexec cat\n", harness.ShellQuote(term.stdout))
	file := filepath.Join(dir, "script")
	harness.NoError(tb, os.WriteFile(file, []byte(script.String()), 0o600))
	term.tmux(tb, "-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "exec sh "+harness.ShellQuote(file))
	tb.Cleanup(func() { term.tmux(tb, "kill-server") })
	return term
}

func (term *terminal) tmux(tb testing.TB, args ...string) string {
	tb.Helper()
	// The test's context is not used, because it has ended when the cleanup runs.
	cmd := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...) //nolint:noctx // as above
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// screen returns the text on the screen, without empty lines.
func (term *terminal) screen(tb testing.TB, more ...string) string {
	tb.Helper()
	var lines []string
	for line := range strings.Lines(term.tmux(tb, append([]string{"capture-pane", "-p"}, more...)...)) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// await waits until all texts are on the screen at the same time, including lines that were
// scrolled out, and returns the text.
func (term *terminal) await(tb testing.TB, texts ...string) string {
	tb.Helper()
	return awaitTexts(tb, func() string { return term.screen(tb, "-S", "-") }, texts)
}

// awaitVisible waits until all texts are visible on the screen at the same time, and
// returns the text.
func (term *terminal) awaitVisible(tb testing.TB, texts ...string) string {
	tb.Helper()
	return awaitTexts(tb, func() string { return term.screen(tb) }, texts)
}

func awaitTexts(tb testing.TB, look func() string, texts []string) string {
	tb.Helper()
	for end := time.Now().Add(harness.Timeout); ; time.Sleep(200 * time.Millisecond) {
		screen, missing := look(), ""
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				missing = text
			}
		}
		if missing == "" {
			return screen
		}
		if time.Now().After(end) {
			tb.Fatalf("%q did not come on the screen:\n%s", missing, screen)
		}
	}
}
