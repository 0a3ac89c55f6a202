// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
)

// Request is what a chart asks for: a library in a range of versions.
type Request struct {
	// Name is the name of the library.
	Name string
	// Range is a range of versions. If it is empty, every version is accepted.
	Range string
	// By is the path of the chart that asks, such as shop/charts/database.
	By string
	// Position returns where it asks, such as Chart.yaml:12, for errors.
	Position func() string
}

// Candidate is a library that is in the directory library/ of a chart.
type Candidate struct {
	// Path is the path of the library, such as shop/library/common-1.2.0.tgz.
	Path    string
	Library *chart.Chart
}

// Select returns for each library that is asked for the candidate with the highest version that
// all charts accept. Libraries without candidates are not in the result. If all candidates for a
// library are rejected, the error is a *ConflictError. If candidates with the selected version differ,
// it is a *DifferentContentError.
func Select(requests []Request, candidates []Candidate) (map[string]Candidate, error) {
	asked := map[string][]Request{}
	for _, r := range requests {
		asked[r.Name] = append(asked[r.Name], r)
	}
	available := map[string][]Candidate{}
	for _, c := range candidates {
		available[c.Library.Name()] = append(available[c.Library.Name()], c)
	}
	selected := make(map[string]Candidate, len(available))
	for _, r := range requests {
		if _, done := selected[r.Name]; done || len(available[r.Name]) == 0 {
			continue
		}
		c, err := selectOne(asked[r.Name], available[r.Name])
		if err != nil {
			return nil, err
		}
		selected[r.Name] = c
	}
	return selected, nil
}

// selectOne selects one of the candidates for a library.
func selectOne(requests []Request, candidates []Candidate) (Candidate, error) {
	candidates = slices.Clone(candidates)
	slices.SortStableFunc(candidates, func(a, b Candidate) int {
		return compareVersions(b.Library.Metadata.Version, a.Library.Metadata.Version)
	})
	constraint, err := NewConstraint(requests)
	if err != nil {
		return Candidate{}, err
	}
	var available []string
	for i, c := range candidates {
		if i > 0 && sameVersion(c, candidates[i-1]) {
			continue
		}
		version, err := semver.NewVersion(c.Library.Metadata.Version)
		if err == nil && constraint.Check(version) {
			return c, checkContents(candidates[i:])
		}
		available = append(available, fmt.Sprintf("%s (%s)", c.Library.Metadata.Version, c.Path))
	}
	return Candidate{}, &ConflictError{Library: requests[0].Name, Requests: requests, Available: available}
}

func sameVersion(a, b Candidate) bool {
	return a.Library.Metadata.Version == b.Library.Metadata.Version
}

// checkContents returns an error if a candidate has the version of the first one, but other templates or scripts.
func checkContents(candidates []Candidate) error {
	first := candidates[0]
	for _, c := range candidates[1:] {
		if !sameVersion(c, first) {
			break
		}
		if c.Library == first.Library { // the loader loads the same files once
			continue
		}
		if !equalContents(NewCopy(c.Library), NewCopy(first.Library)) {
			return &DifferentContentError{Library: c.Library.Name(), Version: c.Library.Metadata.Version, Paths: [2]string{first.Path, c.Path}}
		}
	}
	return nil
}

// compareVersions compares two versions. One that is not valid is lower than all others. Of two that
// differ only in their text, such as 1.0.0+a and 1.0.0+b, the greater text is higher.
func compareVersions(a, b string) int {
	versionA, errA := semver.NewVersion(a)
	versionB, errB := semver.NewVersion(b)
	switch {
	case errA != nil && errB != nil:
		return strings.Compare(a, b)
	case errA != nil:
		return -1
	case errB != nil:
		return 1
	}
	return cmp.Or(versionA.Compare(versionB), strings.Compare(a, b))
}

// Constraint accepts the versions that several charts accept.
type Constraint struct {
	ranges map[string]*semver.Constraints
}

// NewConstraint returns the constraint of some requests. It returns an error if a range is invalid.
func NewConstraint(requests []Request) (Constraint, error) {
	c := Constraint{ranges: map[string]*semver.Constraints{}}
	for _, r := range requests {
		if _, known := c.ranges[r.Range]; known || r.Range == "" {
			continue
		}
		constraints, err := semver.NewConstraint(r.Range)
		if err != nil {
			return c, fmt.Errorf("%s asks for the library %s in an invalid range of versions, %q: %w", r.By, r.Name, r.Range, err)
		}
		c.ranges[r.Range] = constraints
	}
	return c, nil
}

// Check reports whether all charts accept the version.
func (c Constraint) Check(version *semver.Version) bool {
	for _, r := range c.ranges {
		if !r.Check(version) {
			return false
		}
	}
	return true
}

// ConflictError reports that no version of a library is accepted by all charts that ask for it.
type ConflictError struct {
	Library  string
	Requests []Request
	// Available lists the versions that there are.
	Available []string
}

// DifferentContentError reports that a tree of charts contains a library twice in the same version, with
// different content.
type DifferentContentError struct {
	Library, Version string
	// Paths are the paths of the two libraries.
	Paths [2]string
}

func (e *DifferentContentError) Error() string {
	return fmt.Sprintf("the library %s %s has different content in %s and in %s: give one of them another version, or remove it",
		e.Library, e.Version, e.Paths[0], e.Paths[1])
}

// maxInError is the number of charts that the text of a ConflictError names.
const maxInError = 20

func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no version of the library %s satisfies all charts that use it:", e.Library)
	named := 0
	for _, r := range e.Requests {
		if r.Range == "" {
			continue
		}
		if named++; named <= maxInError {
			fmt.Fprintf(&b, "\n  %s asks for %s (%s)", r.By, r.Range, r.Position())
		}
	}
	if named > maxInError {
		fmt.Fprintf(&b, "\n  and %d more", named-maxInError)
	}
	fmt.Fprintf(&b, "\n  available: %s", strings.Join(e.Available, ", "))
	return b.String()
}
