// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package launch runs a command and says what that took of the machine.
//
// Linux begins the peak memory of a process with that of the one that started it.
// So whoever measures leaves the starting to a small program, which is in cmd.
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

// Usage is what a command took.
type Usage struct {
	Begin, End time.Time
	CPU        time.Duration
	// PeakMiB is the most memory at a time; 0 but on Linux.
	PeakMiB float64
	// Output is what it printed.
	Output []byte
	// Failure is empty where it ended well.
	Failure string
}

// Build builds the small program into a folder, and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "launch")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/ordered-helm/helm/test/bench/launch/cmd")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the launcher: %w\n%s", err, out)
	}
	return path, nil
}

// Run runs a command by way of the small program.
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
		const most = 4000 // its end says what is wrong
		return Usage{}, fmt.Errorf("%s: %s\n%s", strings.Join(cmd.Args, " "), took.Failure, took.Output[max(0, len(took.Output)-most):])
	}
	return took, nil
}

// Main is the small program: it runs its arguments and prints what that took.
func Main() error {
	cmd := exec.Command(os.Args[1], os.Args[2:]...) //nolint:noctx // who started this ends both
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
