// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "fmt"

const (
	// MaxDependencies limits the dependencies that a release may declare: names of layers
	// in resources, and the subcharts that names in a Chart.yaml refer to. With tags, a
	// few names can refer to very many subcharts.
	MaxDependencies = 250_000
	// maxUnknownSubcharts limits the reported names of subcharts that do not exist.
	maxUnknownSubcharts = 100
)

// DependenciesError reports that a release declares more than MaxDependencies
// dependencies.
type DependenciesError struct {
	// File is the template or Chart.yaml in which the limit was exceeded.
	File string
}

func (e *DependenciesError) Error() string {
	return fmt.Sprintf("%s: the release declares more than %d dependencies between layers and subcharts: "+
		"remove those that are implied by others, or put resources with equal dependencies into one layer", e.File, MaxDependencies)
}

// dependencyCounter counts declared dependencies.
type dependencyCounter int

// add counts n dependencies from a file. It returns an error the first time that the
// limit is exceeded.
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

// exceeded reports whether the limit is exceeded.
func (b *dependencyCounter) exceeded() bool { return *b > MaxDependencies }
