// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/statedir"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/supervisor"
)

const startTimeout = 2 * time.Minute

func newBinariesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "binaries",
		Short: "Build the cluster's binaries unless they are cached, and print their directory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := supervisor.EnsureBinaries(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
}

// addDirFlag adds the flag for the directory of the cluster.
func addDirFlag(cmd *cobra.Command) *string {
	dir := cmd.Flags().String("dir", "", "directory for all files of the cluster")
	if err := cmd.MarkFlagRequired("dir"); err != nil {
		// This cannot fail: the flag was just added.
		return dir
	}
	return dir
}

func newRunCommand() *cobra.Command {
	var withParent bool
	opts := supervisor.Options{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a cluster until this process is stopped",
		Args:  cobra.NoArgs,
	}
	dir := addDirFlag(cmd)
	cmd.Flags().BoolVar(&withParent, "with-parent", false, "stop when stdin is closed, for example because the parent process has ended")
	cmd.Flags().BoolVar(&opts.RemoveDir, "remove-dir", false, "remove the directory when the cluster has stopped")
	cmd.Flags().DurationVar(&opts.StartTimeout, "start-timeout", startTimeout, "time to wait for the cluster to become ready")
	addBinDirFlag(cmd, &opts.BinDir)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if opts.Dir, err = statedir.New(*dir); err != nil {
			return err
		}
		opts.Progress = cmd.ErrOrStderr()
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		if withParent {
			go func() {
				defer cancel()
				_, _ = io.Copy(io.Discard, cmd.InOrStdin())
			}()
		}
		return supervisor.Run(ctx, opts, func(facts supervisor.Facts) {
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			printFacts(cmd.OutOrStdout(), facts)
		})
	}
	return cmd
}

// addBinDirFlag adds a flag for the directory of the binaries of the cluster, for tests.
func addBinDirFlag(cmd *cobra.Command, target *string) {
	const name = "bin-dir"
	cmd.Flags().StringVar(target, name, "", "directory of the binaries (default: built, or taken from the cache)")
	cmd.Flags().Lookup(name).Hidden = true
}

func printFacts(w io.Writer, facts supervisor.Facts) {
	fmt.Fprintf(w, "kubeconfig: %s\nserver: %s\naudit log: %s\nbinaries: %s\nstarted in: %s\n",
		facts.Kubeconfig, facts.Server, facts.AuditLog, facts.BinDir, facts.StartTime.Round(time.Millisecond))
}
