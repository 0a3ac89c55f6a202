// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "fmt"

const (
	// MaxDependencies is how many dependencies a release may declare: names of layers
	// in resources, and subcharts that names in a Chart.yaml stand for. With tags few
	// names stand for very many.
	MaxDependencies = 250_000
	// maxUnknownSubcharts is how many names of subcharts that are not declared are reported.
	maxUnknownSubcharts = 100
)

// DependenciesError says that a release declares more dependencies than it may.
type DependenciesError struct {
	// File is where the limit was passed: a template or a Chart.yaml.
	File string
}

func (e *DependenciesError) Error() string {
	return fmt.Sprintf("%s: with it the release declares more than %d dependencies between layers and subcharts: "+
		"leave out those that follow from others, or put resources that wait for the same into one layer", e.File, MaxDependencies)
}

// dependencyCounter counts what is declared.
type dependencyCounter int

// add counts n more from a file, and returns an error when that is too much: only
// once.
func (b *dependencyCounter) add(n int, file string) error {
	if b.exceeded() {
		return nil
	}
	*b += dependencyCounter(n)
	if b.exceeded() {
		return &DependenciesError{File: file}
	}
	return nil
}

// exceeded is whether more was declared than may be.
func (b *dependencyCounter) exceeded() bool { return *b > MaxDependencies }
