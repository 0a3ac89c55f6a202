// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ours is an incorrect replacement for package theirs.
package ours

const Constant = 2

var Value int

type Interface interface{ Do() }

type inner struct{ B int }

type Literal struct {
	A int
	inner
}

type Options struct {
	Timeout int
	Same    *Literal
	More    string
}

func (o *Options) Run(_ ...int)                   {}
func (o *Options) Same2(other Interface, arg any) {}

type Alike = Literal

func Function(_ int) {}

func New(_ ...func(*Options)) *Options { return nil }
