// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

func TestRollback(t *testing.T) {
	first, second := revision(t, 1, action.WaitStrategyNone), revision(t, 2, action.WaitStrategyNone)
	first.Info.Status = release.StatusSuperseded
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, first, second))
	success := outcome{stdout: "Rollback was a success! Happy Helming!\n"}
	failure := func(text string) outcome { return outcome{code: 1, stderr: "Error: " + text + "\n"} }
	tests := []struct {
		line string
		want outcome
	}{
		{"rollback shop", success},
		{"rollback shop 0", success},
		{"rollback shop 1", success},
		{"rollback shop 1 more", success},
		{"rollback shop 1 --dry-run", success},
		{"rollback shop 1 --wait=false", success},
		{"rollback shop 7", failure("release has no 7 version")},
		{"rollback shop one", failure(`could not convert revision to a number: strconv.Atoi: parsing "one": invalid syntax`)},
		{"rollback shop -- -1", failure("invalid release revision")},
		{"rollback stop", failure("release: not found")},
		{"rollback Shop_", failure("prepareRollback: Release name is invalid: Shop_")},
		{"rollback", failure("\"helm rollback\" requires at least 1 argument\n\nUsage:  helm rollback <RELEASE> [REVISION] [flags]")},
		{"rollback shop --readiness-timeout -1s", failure("--readiness-timeout -1s: must be greater than 0")},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			if got := runHelm(t, strings.Fields(tt.line)...); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
