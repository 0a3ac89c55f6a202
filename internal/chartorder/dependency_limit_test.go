// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/joinederror"
	"github.com/ordered-helm/helm/internal/ordererror"
)

// unknown returns a chart with a hundred subcharts that depends on n others, which do not exist.
func unknown(n int) *Chart {
	root := &Chart{Name: "big", Sequenced: true}
	for i := range 100 {
		name := fmt.Sprintf("s%d", i)
		root.Subcharts = append(root.Subcharts, &Chart{Name: name})
		root.Dependencies = append(root.Dependencies, Dependency{Name: name})
	}
	for i := range n {
		root.DependsOnSubcharts = append(root.DependsOnSubcharts, fmt.Sprintf("unknown-%d", i))
	}
	return root
}

// TestNumberOfUnknownSubchartsIsLimited checks that the number of reported errors is limited.
func TestNumberOfUnknownSubchartsIsLimited(t *testing.T) {
	var count DependencyCounter
	problems := joinederror.Split(NewTree(unknown(5000), nil).Resolve(&count))
	if len(problems) != maxUnknownSubcharts {
		t.Errorf("there are %d errors, want %d", len(problems), maxUnknownSubcharts)
	}
	for _, err := range problems {
		if e, is := errors.AsType[*ordererror.UnknownSubchartError](err); !is || len(e.Known) != 100 {
			t.Errorf("got %v", err)
		}
	}
	if want := " and 50 more"; !strings.HasSuffix(problems[0].Error(), want) {
		t.Errorf("got %v, want %s", problems[0], want)
	}
}

// TestUnknownSubchartsCount checks that names of subcharts that do not exist count as dependencies.
func TestUnknownSubchartsCount(t *testing.T) {
	var count DependencyCounter
	err := NewTree(unknown(MaxDependencies+1), nil).Resolve(&count)
	if many, is := errors.AsType[*DependenciesError](err); !is || many.File != "big/Chart.yaml" {
		t.Errorf("got %v", err)
	}
}

func TestDependencyCounter(t *testing.T) {
	count := DependencyCounter(MaxDependencies - 1)
	if err := count.Add(1, "a"); err != nil || count.Exceeded() {
		t.Errorf("got %v", err)
	}
	if err := count.Add(1, "b"); err == nil || !strings.HasPrefix(err.Error(), "b: ") || !count.Exceeded() {
		t.Errorf("got %v", err)
	}
	if err := count.Add(1, "c"); err != nil {
		t.Errorf("the error is repeated: %v", err)
	}
}
