// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner decides in which order the hooks of a release run, and which of them run
// in parallel (docs/reference.md, "Hooks"). It sends no requests: Buckets computes the order
// from the declarations of the hooks alone, and Run follows it and passes each hook to a
// Runner, which package hooks implements.
package hookrunner
