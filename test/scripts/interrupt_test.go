// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// TestInterrupt checks that a signal ends a script that never ends. The script creates a file when it runs.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"chart-loaded", "pre-render", "post-render"} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			started := filepath.Join(home, "started")
			chart := writeChart(t, on(event, `io.open("`+started+`", "w"):close() while true do pcall(function() while true do end end) end`),
				map[string]string{"ext/permissions.yaml": "lua: [filesystem]"})
			cmd := exec.CommandContext(t.Context(), binaries.Get(t).Helm, "template", "rel", chart, "--yes")
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for _, err := os.Stat(started); err != nil && t.Context().Err() == nil; _, err = os.Stat(started) {
				time.Sleep(10 * time.Millisecond)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code == 0 || strings.Contains(stderr.String(), "takes too long") || strings.Contains(stderr.String(), "goroutine ") {
				t.Errorf("exit code %d\n%s", code, &stderr)
			}
		})
	}
}
