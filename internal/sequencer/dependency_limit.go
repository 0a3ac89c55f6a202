// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "fmt"

const (
	// MaxDependencies limits how many dependencies a release can declare. Each layer that
	// a resource depends on counts, and each subchart that a name in a Chart.yaml refers
	// to. A tag can refer to many subcharts.
	MaxDependencies = 250_000
	// maxUnknownSubcharts limits how many references to unknown subcharts are reported.
	maxUnknownSubcharts = 100
)

// DependenciesError reports that a release declares more than MaxDependencies dependencies.
type DependenciesError struct {
	// File is the template or Chart.yaml in which the limit was exceeded.
	File string
}

func (e *DependenciesError) Error() string {
	return fmt.Sprintf("%s: the release declares more than %d dependencies between layers and subcharts: "+
		"remove those that are implied by others, or put resources with equal dependencies into one layer", e.File, MaxDependencies)
}

// dependencyCounter counts the declared dependencies of a release, to enforce MaxDependencies.
type dependencyCounter int

// add counts n dependencies that are declared in file. It returns an error only for the
// call that first exceeds the limit.
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

func (b *dependencyCounter) exceeded() bool { return *b > MaxDependencies }
