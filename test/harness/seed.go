// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// The environment variables of tests that do something at random: their first seed, how
// many seeds they try, and how many operations are killed.
const (
	SeedEnv   = "ORDERED_HELM_SEED"
	randomEnv = "ORDERED_HELM_RANDOM"
	KillsEnv  = "ORDERED_HELM_KILLS"
)

// CountFromEnv is the number in an environment variable, or the default if it is not set.
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

// Seeds are the first seed of a test and how many seeds it tries: by default few known
// ones, otherwise as many new ones as the environment says.
func Seeds(tb testing.TB, few uint64) (first, count uint64) {
	tb.Helper()
	first = 1
	if os.Getenv(randomEnv) != "" {
		first = uint64(time.Now().Unix()) * 1000
	}
	return CountFromEnv(tb, SeedEnv, first), CountFromEnv(tb, randomEnv, few)
}

// NewSeed is a new seed, unless the environment gives one. It is logged, so that a failure
// can be repeated.
func NewSeed(tb testing.TB) uint64 {
	tb.Helper()
	seed := CountFromEnv(tb, SeedEnv, uint64(time.Now().UnixNano()))
	tb.Logf("%s=%d", SeedEnv, seed)
	return seed
}
