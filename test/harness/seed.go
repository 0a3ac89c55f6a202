// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Environment variables for randomized tests: the first seed, the number of seeds, and the
// number of operations that TestKilledAtAnyTime kills.
const (
	SeedEnv   = "ORDERED_HELM_SEED"
	randomEnv = "ORDERED_HELM_RANDOM"
	KillsEnv  = "ORDERED_HELM_KILLS"
)

// CountFromEnv returns the number in an environment variable, or defaultCount if the variable
// is not set.
func CountFromEnv(tb testing.TB, env string, defaultCount uint64) uint64 {
	tb.Helper()
	text := os.Getenv(env)
	if text == "" {
		return defaultCount
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %v", env, err)
	}
	return n
}

// Seeds returns the first seed of a randomized test and the number of seeds. By default, these
// are a few fixed seeds; the environment variables select others.
func Seeds(tb testing.TB, few uint64) (first, count uint64) {
	tb.Helper()
	first = 1
	if os.Getenv(randomEnv) != "" {
		first = uint64(time.Now().Unix()) * 1000
	}
	return CountFromEnv(tb, SeedEnv, first), CountFromEnv(tb, randomEnv, few)
}

// NewSeed returns the seed in the environment variable, or a random one, and logs it, so that
// a failure can be reproduced.
func NewSeed(tb testing.TB) uint64 {
	tb.Helper()
	seed := CountFromEnv(tb, SeedEnv, uint64(time.Now().UnixNano()))
	tb.Logf("%s=%d", SeedEnv, seed)
	return seed
}
