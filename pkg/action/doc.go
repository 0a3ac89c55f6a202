// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package action is Helm's package of the same name with operations that keep
// the order a chart declares. A program switches by changing the import: the
// actions that need no change are Helm's own, the others embed Helm's type and
// add WaitStrategy, ReadinessTimeout and OnEvent (docs/reference.md,
// "SDK").
package action
