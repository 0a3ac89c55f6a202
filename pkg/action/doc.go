// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package action installs, upgrades, rolls back, uninstalls and inspects releases. It
// exports the same names as Helm's package action, so a program switches to ordered
// deployment by changing the import path. Actions that need no change are Helm's own. The
// others have all fields of Helm's type, and those that change a release add fields such as
// WaitStrategy, ReadinessTimeout and OnEvent (docs/reference.md, "SDK").
package action
