// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner decides in what order hooks run, and runs them over an
// injected Runner that knows the cluster. Buckets is pure: it knows no cluster,
// and the same hooks always give the same buckets (docs/reference.md, "Hooks").
package hookrunner
