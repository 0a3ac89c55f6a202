// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package launch runs a command and measures its resource usage.
//
// On Linux, the peak memory of a new process is at least the memory of the process that
// started it. The command is therefore started by a small program, the launcher, in the
// directory cmd.
package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Usage is the resource usage of a command.
type Usage struct {
	Begin, End time.Time
	CPU        time.Duration
	// PeakMiB is the peak memory, in MiB. It is 0 on systems other than Linux.
	PeakMiB float64
	// Output is the output of the command.
	Output []byte
	// Failure is the error of the command, or empty if the command succeeded.
	Failure string
}

// Build builds the launcher into a directory, and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "launch")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/ordered-helm/helm/test/bench/launch/cmd")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the launcher: %w\n%s", err, out)
	}
	return path, nil
}

// Run runs a command with the launcher, whose path Build returned.
func Run(ctx context.Context, launcher string, cmd *exec.Cmd) (Usage, error) {
	child := exec.CommandContext(ctx, launcher, cmd.Args...)
	child.Env, child.Dir = cmd.Environ(), cmd.Dir
	said, err := child.Output()
	if err != nil {
		return Usage{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	var took Usage
	if err := json.Unmarshal(said, &took); err != nil {
		return Usage{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	if took.Failure != "" {
		const most = 4000 // the end contains the error
		return Usage{}, fmt.Errorf("%s: %s\n%s", strings.Join(cmd.Args, " "), took.Failure, took.Output[max(0, len(took.Output)-most):])
	}
	return took, nil
}

// Main is the main function of the launcher. It runs the command in its arguments and prints
// the Usage.
func Main() error {
	cmd := exec.Command(os.Args[1], os.Args[2:]...) //nolint:noctx // the process that started this one ends both
	dieWithParent(cmd)
	var took Usage
	var err error
	took.Begin = time.Now()
	took.Output, err = cmd.CombinedOutput()
	took.End = time.Now()
	if err != nil {
		took.Failure = err.Error()
	}
	if state := cmd.ProcessState; state != nil {
		took.CPU = state.UserTime() + state.SystemTime()
		took.PeakMiB = peakMemory(state)
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}
