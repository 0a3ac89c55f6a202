// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness decides from the content of a Kubernetes object whether it is ready
// (docs/reference.md, "Readiness"). For most kinds it uses the kstatus library, for some its
// own rules. It also evaluates the readiness expressions of charts. Package watcher reads
// the objects.
package readiness
