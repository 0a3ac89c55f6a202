// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
)

const parallelHooksEnv = "HELM_MAX_PARALLEL_HOOKS"

// maxParallelHooks returns the value of $HELM_MAX_PARALLEL_HOOKS, which limits how many
// hooks run in parallel. 0 means no limit.
func maxParallelHooks() (int, error) {
	text := os.Getenv(parallelHooksEnv)
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 0 {
		return 0, fmt.Errorf("$%s: %q is not a valid number of parallel hooks: use an integer, or 0 for no limit", parallelHooksEnv, text)
	}
	return limit, nil
}
