// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMaliciousArchives checks the handling of malicious archives: nothing is written outside
// the requested directory, and nothing is rendered.
func TestMaliciousArchives(t *testing.T) {
	t.Parallel()
	outside := outsideOfSandboxes(t)
	meta := entry{name: "evil/Chart.yaml", text: "apiVersion: v2\nname: evil\nversion: 1.0.0\n"}
	named := func(name string) []byte {
		return archive(t, entry{name: "evil/Chart.yaml", text: "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"}, entry{name: "evil/payload.txt", text: "x"})
	}
	archives := []struct {
		name string
		data []byte
	}{
		{"parent", archive(t, meta, entry{name: "evil/../../../payload.txt", text: "x"})},
		{"above", archive(t, meta, entry{name: "../payload.txt", text: "x"})},
		{"inside", archive(t, meta, entry{name: "evil/templates/../../../payload.txt", text: "x"})},
		{"absolute", archive(t, meta, entry{name: outside, text: "x"})},
		{"double", archive(t, meta, entry{name: "evil/" + outside, text: "x"})},
		{"backslash", archive(t, meta, entry{name: `evil\..\..\payload.txt`, text: "x"})},
		{"drive", archive(t, meta, entry{name: "evil/c:/payload.txt", text: "x"})},
		{"symlink", archive(t, meta, entry{name: "evil/link", kind: '2', link: outside}, entry{name: "evil/link/payload.txt", text: "x"})},
		{"symlinked", archive(t, meta, entry{name: "evil/link", kind: '2', link: "/etc/passwd"})},
		{"hardlink", archive(t, meta, entry{name: "evil/link", kind: '1', link: "/etc/passwd"})},
		{"device", archive(t, meta, entry{name: "evil/device", kind: '3'})},
		{"pipe", archive(t, meta, entry{name: "evil/pipe", kind: '6'})},
		{"setuid", archive(t, meta, entry{name: "evil/program", text: "x", mode: 0o6777})},
		{"toplevel", archive(t, entry{name: "Chart.yaml", text: meta.text})},
		{"dotdot", named("..")}, {"dot", named(".")}, {"slash", named("a/b")}, {"climb", named("../../up")},
		{"rooted", named(outside)}, {"empty", named(`""`)}, {"control", named(`"a\u0007b"`)},
		{"nothing", archive(t)},
		{"truncated", archive(t, meta, entry{name: "evil/payload.txt", text: strings.Repeat("x", 5000)})[:150]},
		{"largefile", archive(t, meta, entry{name: "evil/large", size: 6 << 20})},
		{"bomb", archive(t, bomb(meta)...)},
	}
	table := make([]scenario, 0, len(archives))
	for _, a := range archives {
		url := serveFiles(t, map[string][]byte{"evil-1.0.0.tgz": a.data})
		table = append(table, scenario{name: a.name, rules: []rule{namelessFolder, digests}, steps: []step{
			writeBytes{"deep/down/evil-1.0.0.tgz", a.data},
			helm("pull " + url + "/evil-1.0.0.tgz --untar -d deep/down --untardir out"),
			showTree("deep"),
			helm("template web deep/down/evil-1.0.0.tgz"),
			helm("push deep/down/evil-1.0.0.tgz oci://127.0.0.1:1/charts"),
		}})
	}
	i := slices.IndexFunc(table, func(sc scenario) bool { return sc.name == "symlink" })
	table[i].differs = []string{
		`- Error: mkdir deep/down/out/evil/link: not a directory`,
		`+ Error: cannot unpack link/payload.txt: mkdirat link: file exists`,
		`- drwxr-xr-x deep/down/out/evil`,
		`- -rw-r--r-- deep/down/out/evil/Chart.yaml`,
		`- -rw-r--r-- deep/down/out/evil/link`,
		`- file deep/down/out/evil/Chart.yaml -rw-r--r--`,
		`- apiVersion: v2`,
		`- name: evil`,
		`- version: 1.0.0`,
		`- file deep/down/out/evil/link -rw-r--r--`,
		`- `,
		`- `,
	}
	runLocally(t, table)
}

// namelessFolder is a rule that removes an empty directory that only stock Helm creates.
var namelessFolder = pattern("folder of the archive's name", "stock Helm creates it next to the chart; see TestPullFromRepository",
	`(?m)^drwxr-xr-x \S+/out/evil-1\.0\.0\.tgz\n`, "")

// outsideOfSandboxes returns the path of a file outside of the sandboxes, and checks at the
// end of the test that the file does not exist.
func outsideOfSandboxes(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), "parity-outside-"+runID)
	t.Cleanup(func() {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was written", path)
		}
	})
	return path
}

// bomb returns the entries of an archive that is much larger when it is unpacked.
func bomb(meta entry) []entry {
	entries := []entry{meta}
	for i := range 21 {
		entries = append(entries, entry{name: fmt.Sprintf("evil/part%d", i), size: 5 << 20})
	}
	return entries
}
