// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command devcluster runs a Kubernetes control plane with simulated pods, for tests,
// benchmarks and the demo.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the program immediately.
	context.AfterFunc(ctx, stop)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "devcluster",
		Short:         "Run a Kubernetes control plane with simulated pods",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newBinariesCommand(), newRunCommand(), newUpCommand(), newDownCommand(), newStatusCommand())
	return root
}
