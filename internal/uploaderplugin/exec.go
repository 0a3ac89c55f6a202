// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uploaderplugin

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"time"
)

// endTimeout is how long a program that is told to end can take before it is killed.
const endTimeout = 5 * time.Second

// Exec is a Run that starts the program as a process. If ctx is done, it tells the process, and
// all processes that it has started, to end. Those that do not end are killed.
func Exec(ctx context.Context, p Program) error {
	cmd := exec.CommandContext(ctx, filepath.Join(p.Dir, p.Words[0]), p.Words[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.Env, p.Output, p.Output
	group := newProcessGroup(cmd)
	cmd.Cancel, cmd.WaitDelay = group.terminate, endTimeout
	err := cmd.Run()
	if ctx.Err() != nil {
		group.kill()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return &ExitError{exit.ExitCode()}
	}
	return err
}
