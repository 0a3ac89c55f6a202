// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package action is Helm's package of the same name with operations that respect the order
// that a chart declares. To use it, a program only changes the import path. Actions that
// need no change are Helm's own; the others embed Helm's type and add WaitStrategy,
// ReadinessTimeout and OnEvent (docs/reference.md, "SDK").
package action
