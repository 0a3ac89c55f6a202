// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

// TestRevisionFlag checks what commands accept as a revision if the storage driver stores no ReleaseVersions.
func TestRevisionFlag(t *testing.T) {
	first, second := revision(t, 1, action.WaitStrategyOrdered), revision(t, 2, action.WaitStrategyOrdered)
	first.Info.Status = release.StatusSuperseded
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, first, second))
	const id = "01jd9x5k2fz5g0v8w8k7c3n4qm"
	noIDs := func(id string) string {
		return "Error: " + id + ` is the name of a ReleaseVersion, but HELM_DRIVER is memory: set HELM_DRIVER=crd if release "shop" is stored so, ` +
			"or use the number of a revision, which \"helm history shop\" prints\n"
	}
	tests := []struct {
		line, stdout, stderr string
	}{
		{line: "status shop --revision 1", stdout: "REVISION: 1\n"},
		{line: "status shop --revision 0x1", stdout: "REVISION: 1\n"},
		{line: "status shop --revision 0", stdout: "REVISION: 2\n"},
		{line: "status shop --revision " + id, stderr: noIDs(id)},
		{line: "status shop --revision " + strings.ToUpper(id), stderr: noIDs(strings.ToUpper(id))},
		{line: "status shop --revision " + id + " --revision 1", stdout: "REVISION: 1\n"},
		{line: "get values shop --revision " + id, stderr: noIDs(id)},
		{line: "get metadata shop --revision " + id, stderr: noIDs(id)},
		{line: "dag shop --revision " + id, stderr: noIDs(id)},
		{line: "dag ./chart --diff shop --revision " + id, stderr: noIDs(id)},
		{line: "rollback shop " + id, stderr: noIDs(id)},
		{line: "rollback shop " + strings.ToUpper(id), stderr: noIDs(strings.ToUpper(id))},
		{line: "rollback shop " + id[1:], stderr: "Error: could not convert revision to a number: strconv.Atoi: parsing \"" + id[1:] + "\": invalid syntax\n"},
		{line: "rollback shop 99999999999999999999", stderr: "Error: could not convert revision to a number: strconv.Atoi: parsing \"99999999999999999999\": value out of range\n"},
		{line: "status shop --revision one", stderr: `Error: invalid argument "one" for "--revision" flag: strconv.ParseInt: parsing "one": invalid syntax` + "\n"},
		{line: "status shop --revision " + id[1:], stderr: `Error: invalid argument "` + id[1:] + `" for "--revision" flag: strconv.ParseInt: parsing "` + id[1:] + `": invalid syntax` + "\n"},
		{line: "status --revision " + id, stderr: "Error: \"helm status\" requires 1 argument\n\nUsage:  helm status RELEASE_NAME [flags]\n"},
		{line: "__complete status shop --revision 0", stdout: "1\tApp: , Chart: shop-1.0.0\n2\tApp: , Chart: shop-1.0.0\n:4\n"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got := runHelm(t, strings.Fields(tt.line)...)
			if !strings.Contains(got.stdout, tt.stdout) || tt.stderr != "" && got.stderr != tt.stderr || (got.code != 0) != (tt.stderr != "") {
				t.Errorf("got %+v\nwant stdout %q, stderr %q", got, tt.stdout, tt.stderr)
			}
		})
	}
}
