// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder

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

// DependencyCounter counts the declared dependencies of a release, to enforce MaxDependencies.
type DependencyCounter int

// Add counts n dependencies that are declared in file. It returns an error only for the
// call that first exceeds the limit.
func (c *DependencyCounter) Add(n int, file string) error {
	if c.Exceeded() {
		return nil
	}
	*c += DependencyCounter(n)
	if c.Exceeded() {
		return &DependenciesError{File: file}
	}
	return nil
}

// Exceeded reports whether the limit is exceeded.
func (c *DependencyCounter) Exceeded() bool { return *c > MaxDependencies }
