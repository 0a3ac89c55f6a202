// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/filelock"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/statedir"
)

const (
	// stopTimeout is longer than the time that the supervisor gives its children.
	stopTimeout = 20 * time.Second
	killTimeout = 10 * time.Second
)

// errNotRunning is the error of status if no cluster is running.
var errNotRunning = errors.New("no cluster is running")

func newDownCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster that up started, and wait until it has stopped",
		Args:  cobra.NoArgs,
	}
	path := addDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := statedir.New(*path)
		if err != nil {
			return err
		}
		running, err := dir.Running()
		if err != nil {
			return err
		}
		if !running {
			fmt.Fprintln(cmd.ErrOrStderr(), "no cluster is running in", dir)
			return cleanUp(cmd.Context(), dir)
		}
		if err := stop(cmd.Context(), dir); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "stopped the cluster in", dir)
		return cleanUp(cmd.Context(), dir)
	}
	return cmd
}

// cleanUp removes the files that a killed supervisor has left.
func cleanUp(ctx context.Context, dir statedir.Dir) error {
	if _, err := os.Stat(string(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := dir.Claim(ctx)
	if errors.Is(err, filelock.ErrHeld) {
		// Another process has started a new cluster in the directory.
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Retire(), lock.Release())
}

func stop(ctx context.Context, dir statedir.Dir) error {
	pid, err := dir.SupervisorPID()
	if err != nil {
		return err
	}
	supervisor, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find the supervisor: %w", err)
	}
	// The supervisor may have exited already while its children are still ending.
	if err := supervisor.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the supervisor: %w", err)
	}
	gone, err := awaitGone(ctx, dir, stopTimeout)
	if err != nil || gone {
		return err
	}
	// On Linux, the kernel ends the children of a supervisor that is killed.
	if err := supervisor.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the supervisor: %w", err)
	}
	gone, err = awaitGone(ctx, dir, killTimeout)
	if err == nil && !gone {
		return fmt.Errorf("processes of the cluster in %s do not end", dir)
	}
	return err
}

func awaitGone(ctx context.Context, dir statedir.Dir, timeout time.Duration) (bool, error) {
	deadline := time.Now().Add(timeout)
	for {
		running, err := dir.Running()
		if err != nil {
			return false, err
		}
		if !running {
			return true, nil
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(lookInterval):
		}
	}
}

func newStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print whether a cluster is running; the exit code is 0 if it is ready",
		Args:  cobra.NoArgs,
	}
	path := addDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := statedir.New(*path)
		if err != nil {
			return err
		}
		running, err := dir.Running()
		if err != nil {
			return err
		}
		if !running {
			return fmt.Errorf("%w in %s", errNotRunning, dir)
		}
		pid, err := dir.SupervisorPID()
		if err != nil {
			return err
		}
		if _, err := os.Stat(dir.Kubeconfig()); err != nil {
			return fmt.Errorf("the cluster in %s (process %d) is not ready yet", dir, pid)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "running\nprocess: %d\nkubeconfig: %s\naudit log: %s\nlogs: %s\n",
			pid, dir.Kubeconfig(), dir.AuditLog(), dir.Logs())
		return nil
	}
	return cmd
}
