// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

// TestHelmsFields fails if a new version of Helm adds a field that helmFields lacks.
func TestHelmsFields(t *testing.T) {
	for list, of := range map[string]reflect.Type{
		"":             reflect.TypeFor[chart.Metadata](),
		"maintainers":  reflect.TypeFor[chart.Maintainer](),
		"dependencies": reflect.TypeFor[chart.Dependency](),
	} {
		var want []string
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			want = append(want, strings.ToLower(name))
		}
		if !slices.Equal(helmFields[list], want) {
			t.Errorf("the fields of %q are %q, Helm has %q", list, helmFields[list], want)
		}
	}
}
