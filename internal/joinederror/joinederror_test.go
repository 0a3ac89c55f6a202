// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package joinederror_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/internal/joinederror"
)

func TestSplit(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	wrapped := fmt.Errorf("wrapped: %w", errors.Join(a, b))
	for name, tt := range map[string]struct {
		err  error
		want []error
	}{
		"nil":               {nil, nil},
		"a single error":    {a, []error{a}},
		"joined":            {errors.Join(a, nil, b), []error{a, b}},
		"joined repeatedly": {errors.Join(errors.Join(a, b), errors.Join(a)), []error{a, b, a}},
		"wrapped":           {errors.Join(wrapped, a), []error{wrapped, a}},
	} {
		if got := joinederror.Split(tt.err); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
