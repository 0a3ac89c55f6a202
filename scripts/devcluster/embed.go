// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package devcluster holds what names the versions of the dev cluster: the
// go.mod of its module. Everything else is in the packages below it.
package devcluster

import _ "embed"

//go:embed go.mod
var goMod string

//go:embed go.sum
var goSum string

// GoMod returns the text of the go.mod that pins every component of the
// cluster, and by its tool lines names them.
func GoMod() string { return goMod }

// GoSum returns the text of the go.sum that belongs to GoMod.
func GoSum() string { return goSum }
