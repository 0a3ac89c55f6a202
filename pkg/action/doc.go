// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package action installs, upgrades, rolls back, uninstalls and inspects releases. It
// exports every name of Helm's package helm.sh/helm/v3/pkg/action, so a program switches to
// Ordered Helm by changing the import path (docs/reference.md, "SDK").
//
// Install and Upgrade deploy a release in the order that its charts declare if their field
// WaitStrategy is WaitStrategyOrdered. Rollback and Uninstall follow the order that is
// recorded with the release.
//
// Actions that need no change, such as List, are Helm's own. The others have all fields of
// Helm's type with the same meaning. Those that work on a release also have new fields,
// such as WaitStrategy, ReadinessTimeout and OnEvent.
package action
