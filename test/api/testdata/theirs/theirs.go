// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package theirs is an API that another package has to replace.
package theirs

const Constant = 1

var Value string

type Interface interface {
	Do()
	Undo()
}

type Literal struct{ A, B int }

type Options struct {
	Timeout string
	Less    bool
	Same    *Literal

	hidden int
}

func (o *Options) Run(_ []int)                      {}
func (o *Options) Stay()                            { o.hidden++ }
func (o *Options) Same2(_ Interface, _ interface{}) {}

type Alike = Literal

func Function(_ string) {}
func Gone()             {}

func New(_ ...func(*Options)) *Options { return nil }
