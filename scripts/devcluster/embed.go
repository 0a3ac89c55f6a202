// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package devcluster contains the module's go.mod and go.sum, which define the versions of
// the dev cluster. Everything else is in the packages below it.
package devcluster

import _ "embed"

//go:embed go.mod
var goMod string

//go:embed go.sum
var goSum string

// GoMod returns the text of the go.mod, which pins every component of the cluster and names
// them in its tool lines.
func GoMod() string { return goMod }

// GoSum returns the text of the go.sum that belongs to GoMod.
func GoSum() string { return goSum }
