// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/statedir"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/supervisor"
)

const lookInterval = 50 * time.Millisecond

func newUpCommand() *cobra.Command {
	var binDir string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster that runs until down",
		Args:  cobra.NoArgs,
	}
	path := addDirFlag(cmd)
	addBinDirFlag(cmd, &binDir)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := statedir.New(*path)
		if err != nil {
			return err
		}
		running, err := dir.Running()
		if err != nil {
			return err
		}
		if running {
			fmt.Fprintln(cmd.ErrOrStderr(), "a cluster is already running in", dir)
			if err := awaitOthers(cmd.Context(), dir); err != nil {
				return err
			}
		} else if err := startDetached(cmd, dir, binDir); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), dir.Kubeconfig())
		return nil
	}
	return cmd
}

// startDetached starts a supervisor that outlives this process. It returns when the cluster
// is ready.
func startDetached(cmd *cobra.Command, dir statedir.Dir, binDir string) error {
	ctx := cmd.Context()
	var err error
	if binDir == "" {
		// The binaries are built in this process, so that the user sees the progress.
		if binDir, err = supervisor.EnsureBinaries(ctx, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return fmt.Errorf("create the directory of the cluster: %w", err)
	}
	log, err := os.OpenFile(dir.SupervisorLog(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log of the supervisor: %w", err)
	}
	defer func() { _ = log.Close() }()
	child := exec.CommandContext(context.WithoutCancel(ctx), self, "run", "--dir", string(dir), "--bin-dir", binDir)
	child.Dir = string(dir)
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = process.DetachedAttributes()
	if err := child.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	return awaitReady(ctx, dir, child.Process, ended)
}

func awaitReady(ctx context.Context, dir statedir.Dir, supervisor *os.Process, ended <-chan error) error {
	for {
		if _, err := os.Stat(dir.Kubeconfig()); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return didNotComeUp(dir, err)
		case <-ctx.Done():
			// The children of the supervisor end with it.
			_ = supervisor.Signal(os.Interrupt)
			return errors.Join(ctx.Err(), <-ended)
		case <-time.After(lookInterval):
		}
	}
}

// didNotComeUp returns an error with the log of the supervisor, whose end names the process
// that failed and quotes its log.
func didNotComeUp(dir statedir.Dir, exit error) error {
	if exit == nil {
		exit = errors.New("the supervisor ended")
	}
	words, err := os.ReadFile(dir.SupervisorLog())
	if err != nil {
		exit = errors.Join(exit, err)
	}
	return fmt.Errorf("the cluster did not become ready: %w\n%s", exit, bytes.TrimSpace(words))
}

// awaitOthers waits until a cluster is ready that another process is starting in the
// directory.
func awaitOthers(ctx context.Context, dir statedir.Dir) error {
	for {
		if _, err := os.Stat(dir.Kubeconfig()); err == nil {
			return nil
		}
		running, err := dir.Running()
		if err != nil {
			return err
		}
		if !running {
			return errors.New("the cluster that was being started did not become ready: try again")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookInterval):
		}
	}
}
