// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// forEachParallel calls do with each number from 0 to n-1, in parallel. If several calls
// fail, it returns the error for the lowest number.
func forEachParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = g.Wait() // errors are recorded by index
	return cmp.Or(errs...)
}
