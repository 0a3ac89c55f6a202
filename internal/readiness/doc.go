// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness decides from the content of a Kubernetes object whether it is ready
// (docs/reference.md, "Readiness"). It uses the kstatus library, with other rules for some
// kinds, and applies the readiness expressions of charts. Package watcher reads the
// objects.
package readiness
