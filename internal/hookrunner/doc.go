// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner decides in which order hooks run, and runs them with a Runner that
// has access to the cluster. Buckets does not use a cluster, and returns equal buckets
// for equal hooks (docs/reference.md, "Hooks").
package hookrunner
