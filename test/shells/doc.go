// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package shells completes command lines in real shells, with the scripts that "helm
// completion" prints. If a shell is not installed, its test is skipped. Debian has the
// packages zsh and fish, but none for PowerShell.
package shells
