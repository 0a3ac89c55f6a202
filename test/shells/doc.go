// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package shells completes command lines in real shells, with the scripts that
// "helm completion" prints. A shell that is not installed is skipped by name.
// Debian's packages zsh and fish bring two of them; PowerShell is not among its
// packages.
package shells
