// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package uploaderplugin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/cli"

	"github.com/ordered-helm/helm/internal/uploaderplugin"
)

// run runs a shell script as an uploader with Exec.
func run(ctx context.Context, t *testing.T, script string, output io.Writer) error {
	t.Helper()
	u := uploaderplugin.Uploader{Plugin: "cloud", Dir: t.TempDir(), Command: "up.sh"}
	if script != "" {
		if err := os.WriteFile(filepath.Join(u.Dir, "up.sh"), []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return u.Upload(ctx, cli.New(), uploaderplugin.Upload{URL: "s3://bucket", File: "shop-1.2.3.tgz"}, uploaderplugin.Exec, output)
}

func TestExec(t *testing.T) {
	tests := []struct{ name, script, output, want string }{
		{"output", "echo to stdout; echo to stderr >&2; cat; echo $4 $5", "to stdout\nto stderr\ns3://bucket shop-1.2.3.tgz\n", ""},
		{"prints nothing", "exit 0", "", ""},
		{"exit code", "echo broken; exit 3", "broken\n", `the uploader of plugin "cloud" failed: exit code 3`},
		{"killed", "kill -9 $$", "", `the uploader of plugin "cloud" failed: signal: killed`},
		{"missing program", "", "", "no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var output bytes.Buffer
			err := run(t.Context(), t, tt.script, &output)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
			if output.String() != tt.output {
				t.Errorf("output is %q, want %q", output.String(), tt.output)
			}
		})
	}
	var exit *uploaderplugin.ExitError
	if err := run(t.Context(), t, "exit 3", io.Discard); !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("error is %v", err)
	}
}

// TestExecCanceled checks that a program that never ends is ended, with the processes that it has started.
func TestExecCanceled(t *testing.T) {
	for name, script := range map[string]string{
		"waiting":             "sleep 1000 & echo $!; wait",
		"in the foreground":   "sh -c 'echo $$; exec sleep 1000'; true",
		"with a child behind": "(trap '' TERM; sleep 1000) >/dev/null 2>&1 & echo $!; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			reader, writer := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- run(ctx, t, script, writer) }()
			line := make([]byte, 32)
			n, err := reader.Read(line)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			_ = reader.Close()
			if err := <-ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "was stopped") {
				t.Errorf("error is %v", err)
			}
			const patience = time.Minute
			start := time.Now()
			child, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
			if err != nil {
				t.Fatal(err)
			}
			for isRunning(child) { // until the signal has reached it
				if time.Since(start) > patience {
					t.Fatalf("process %d still runs", child)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// isRunning reports whether a process runs. A process that has ended can stay until its parent,
// which is not this program, has read its exit code.
func isRunning(process int) bool {
	if syscall.Kill(process, 0) != nil {
		return false
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/stat")
	return err == nil && !strings.Contains(string(status), ") Z ")
}
