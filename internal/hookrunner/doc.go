// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner decides in which order and in how many parallel chains the hooks of a
// release run (docs/reference.md, "Hooks"). It sends no requests: Buckets computes the
// order from the hooks only, and Run passes each hook to a Runner, which package hooks
// implements.
package hookrunner
