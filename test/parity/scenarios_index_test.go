// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

func TestRepoIndex(t *testing.T) {
	t.Parallel()
	packed := []step{
		packChart{"charts/tiny", "out/tiny-0.1.0.tgz"}, packChart{"charts/plain", "out/plain.tgz"}, packChart{"charts/library", "out/sub/library.tgz"},
		packChart{"charts/deprecated", "out/sub/deeper/deprecated.tgz"}, packChart{"charts/umbrella", "out/umbrella.tgz"}, packChart{"charts/future", "out/future.tgz"}, packChart{"charts/legacy", "out/legacy.tgz"},
	}
	const merged = "apiVersion: v1\nentries:\n  tiny:\n  - name: tiny\n    version: 0.0.1\n    created: \"2019-01-01T00:00:00Z\"\n    urls: [old.tgz]\n  gone:\n  - name: gone\n    version: 1.0.0\n    created: \"2019-01-01T00:00:00Z\"\n    urls: [gone.tgz]\n"
	runLocal(t, []scenario{
		{name: "plain", steps: steps(packed, []step{helm("repo index out"), showFile("out/index.yaml"), helm("repo index out/"), helm("repo index ./out/sub"), showFile("out/sub/index.yaml")})},
		{name: "with a URL", steps: steps(packed, []step{
			helm("repo index out --url https://example.com/charts"), showFile("out/index.yaml"), helm("repo index out --url https://example.com/charts/?a=b"), showFile("out/index.yaml"),
			helm("repo index out --url charts"), showFile("out/index.yaml"), helm("repo index out --url %zz"), showFile("out/index.yaml"),
		})},
		{name: "as JSON", steps: steps(packed, []step{helm("repo index out --json"), showFile("out/index.yaml"), helm("repo index out --json --merge new.json")})},
		{name: "merged", steps: steps(packed, []step{
			writeFile{"old.yaml", merged}, helm("repo index out --merge old.yaml"), showFile("out/index.yaml"), helm("repo index out --merge out/index.yaml"), helm("repo index out --merge old.yaml --url https://example.com"),
			helm("repo index out --merge new.yaml"), showFile("new.yaml"),
			writeFile{"bad.yaml", "entries: [}"}, helm("repo index out --merge bad.yaml"), writeFile{"bad.yaml", ""}, helm("repo index out --merge bad.yaml"), helm("repo index out --merge out"),
		})},
		{name: "empty folders", steps: []step{makeDir("out"), helm("repo index out"), showFile("out/index.yaml"), helm("repo index ."), showFile("index.yaml")}},
		{name: "folders that are none", steps: []step{helm("repo index nowhere"), helm("repo index values/first.yaml"), helm("repo index", "")}, rules: []rule{temporaryFiles}},
		{name: "the same version twice", steps: []step{packChart{"charts/tiny", "out/a.tgz"}, packChart{"charts/tiny", "out/b.tgz"}, helm("repo index out"), showFile("out/index.yaml")}},
		{name: "a folder with the name of a package", steps: []step{makeDir("out/x.tgz"), writeFile{"out/x.tgz/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n"}, helm("repo index out")}},
		{name: "what comes of it is served", steps: steps(packed, []step{
			helm("repo index out"), serveRepository{name: "OUT", folder: "out"}, helm("repo add out @OUT@"), helm("search repo out/"), helm("template web out/tiny"), showRequests("OUT"),
		})},
	}, cachedNames)
}

// temporaryFiles is a rule for the names of files that are renamed after they were written.
var temporaryFiles = pattern("temporary file", "the system chooses its suffix at random", `index\.yaml\d+`, "index.yamlN")
