// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness judges whether a Kubernetes object is ready, by its content
// (docs/reference.md, "Readiness"). It adds rules to those of kstatus.
package readiness
