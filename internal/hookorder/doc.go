// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookorder decides in which order the hooks of a release run, and which of them run
// in parallel (docs/reference.md, "Hooks"). Buckets computes the order, and Run follows it.
// This package sends no requests: Run calls the methods of HookActions, which package hooks
// implements.
package hookorder
