// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package devcluster embeds the go.mod and go.sum of this module, which determine the versions
// of the components of a dev cluster.
package devcluster

import _ "embed"

//go:embed go.mod
var goMod string

//go:embed go.sum
var goSum string

// GoMod returns the text of go.mod. Its tool lines name the components of the cluster, and its
// require lines pin their versions.
func GoMod() string { return goMod }

// GoSum returns the text of go.sum.
func GoSum() string { return goSum }
