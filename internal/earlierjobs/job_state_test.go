// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package earlierjobs

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// TestPodSelector checks that the selector of pods is valid whatever the names of the Jobs are:
// the server rejects some names, but failed revisions contain these Jobs.
func TestPodSelector(t *testing.T) {
	tooLong := strings.Repeat("m", 64)
	for _, c := range []struct {
		name string
		jobs []string
		want string
	}{
		{"several", []string{"migrate-1", "seed"}, "job-name in (migrate-1,seed)"},
		{"one whose name is too long", []string{tooLong, "seed"}, "job-name in (seed)"},
		{"only invalid names", []string{tooLong, "migrate-", "a, b)"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := podSelector(c.jobs)
			if _, err := labels.Parse(got); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}
