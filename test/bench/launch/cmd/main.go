// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command launch runs the command in its arguments and prints its resource usage.
package main

import (
	"fmt"
	"os"

	"github.com/ordered-helm/helm/test/bench/launch"
)

func main() {
	if err := launch.Main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
