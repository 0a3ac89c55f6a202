// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package helm4

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/harness"
)

// TestFlags checks the table of docs/helm-4.md about flags. An empty text means that the program
// accepts the flag without a message; other texts must be in the message.
func TestFlags(t *testing.T) {
	t.Parallel()
	h, programs := harness.New(t), binaries.Get(t)
	for _, c := range []struct {
		flag, ours, helm4 string
		rejected          string // which program rejects the flag: ours, helm4 or none
	}{
		{flag: "--wait"},
		{flag: "--wait=true", helm4: "deprecated"},
		{flag: "--wait=false", helm4: "deprecated"},
		{flag: "--wait=ordered", helm4: "invalid argument", rejected: "helm4"},
		{flag: "--wait=watcher", ours: "must be true, false or ordered", rejected: "ours"},
		{flag: "--wait=hookOnly", ours: "must be true, false or ordered", rejected: "ours"},
		{flag: "--wait=legacy", ours: "must be true, false or ordered", rejected: "ours"},
		{flag: "--atomic", helm4: "--rollback-on-failure instead"},
		{flag: "--force", helm4: "--force-replace instead"},
		{flag: "--rollback-on-failure", ours: "unknown flag", rejected: "ours"},
		{flag: "--force-replace", ours: "unknown flag", rejected: "ours"},
		{flag: "--server-side", ours: "unknown flag", rejected: "ours"},
		{flag: "--post-renderer=/bin/cat", helm4: "not found", rejected: "helm4"},
	} {
		t.Run(c.flag, func(t *testing.T) {
			t.Parallel()
			for _, p := range []struct{ name, path, want string }{{"ours", programs.Helm, c.ours}, {"helm4", programs.Helm4, c.helm4}} {
				r := h.StartBinary(t, p.path, h.Namespace, "template", "rel", harness.ExampleChart(t, "shop"), c.flag).Wait(t)
				if rejected := r.ExitCode != 0; rejected != (c.rejected == p.name) || !strings.Contains(r.Stderr, p.want) || p.want == "" && r.Stderr != "" {
					t.Errorf("%s: exit code %d\n%s\nwant %q", p.name, r.ExitCode, r.Stderr, p.want)
				}
			}
		})
	}
}
