// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// What is asked of the tests that do something at random: of which seed they do it, and
// how often.
const (
	SeedEnv   = "ORDERED_HELM_SEED"
	randomEnv = "ORDERED_HELM_RANDOM"
	KillsEnv  = "ORDERED_HELM_KILLS"
)

// CountFromEnv is the number that a variable of the environment asks for; the other one if it
// asks for none.
func CountFromEnv(tb testing.TB, env string, otherwise uint64) uint64 {
	tb.Helper()
	text := os.Getenv(env)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %v", env, err)
	}
	return n
}

// Seeds are the first of the seeds to make releases from, and how many of them
// there are: few known ones, or as many new ones as are asked for.
func Seeds(tb testing.TB, few uint64) (first, count uint64) {
	tb.Helper()
	first = 1
	if os.Getenv(randomEnv) != "" {
		first = uint64(time.Now().Unix()) * 1000
	}
	return CountFromEnv(tb, SeedEnv, first), CountFromEnv(tb, randomEnv, few)
}

// NewSeed is another one each time, unless one is asked for. The test tells it if it
// fails.
func NewSeed(tb testing.TB) uint64 {
	tb.Helper()
	seed := CountFromEnv(tb, SeedEnv, uint64(time.Now().UnixNano()))
	tb.Logf("%s=%d", SeedEnv, seed)
	return seed
}
