// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// launchEnv has this test binary run one command and say what that took, instead
// of running benchmarks. Linux begins the peak memory of a process with that of
// the one that started it: this one has read long audit logs, its child has not.
const launchEnv = "BENCH_LAUNCH"

// usage is what a command took.
type usage struct {
	Begin, End time.Time
	CPU        time.Duration
	PeakMiB    float64
	Failure    string
	Output     []byte
}

// launched runs a command by way of a child.
func launched(ctx context.Context, cmd *exec.Cmd) (usage, error) {
	child := exec.CommandContext(ctx, os.Args[0], cmd.Args...)
	child.Env = append(cmd.Environ(), launchEnv+"=1")
	child.Dir = cmd.Dir
	said, err := child.Output()
	if err != nil {
		return usage{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	var took usage
	if err := json.Unmarshal(said, &took); err != nil {
		return usage{}, fmt.Errorf("run %s: %w", cmd, err)
	}
	if took.Failure != "" {
		const most = 4000 // its end says what is wrong
		return usage{}, fmt.Errorf("%s: %s\n%s", strings.Join(cmd.Args, " "), took.Failure, took.Output[max(0, len(took.Output)-most):])
	}
	return took, nil
}

// launch is what the child does.
func launch() (code int) {
	if err := os.Unsetenv(launchEnv); err != nil {
		return 1
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...) //nolint:noctx // it ends when who started this ends it
	dieWithParent(cmd)
	var took usage
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
	if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
		return 1
	}
	return 0
}
