// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

func TestRepoIndex(t *testing.T) {
	t.Parallel()
	packed := []step{
		pack{"charts/tiny", "out/tiny-0.1.0.tgz"}, pack{"charts/plain", "out/plain.tgz"}, pack{"charts/library", "out/sub/library.tgz"},
		pack{"charts/deprecated", "out/sub/deeper/deprecated.tgz"}, pack{"charts/umbrella", "out/umbrella.tgz"}, pack{"charts/future", "out/future.tgz"}, pack{"charts/legacy", "out/legacy.tgz"},
	}
	const merged = "apiVersion: v1\nentries:\n  tiny:\n  - name: tiny\n    version: 0.0.1\n    created: \"2019-01-01T00:00:00Z\"\n    urls: [old.tgz]\n  gone:\n  - name: gone\n    version: 1.0.0\n    created: \"2019-01-01T00:00:00Z\"\n    urls: [gone.tgz]\n"
	runLocal(t, []scenario{
		{name: "plain", steps: steps(packed, []step{helm("repo index out"), show("out/index.yaml"), helm("repo index out/"), helm("repo index ./out/sub"), show("out/sub/index.yaml")})},
		{name: "with a URL", steps: steps(packed, []step{
			helm("repo index out --url https://example.com/charts"), show("out/index.yaml"), helm("repo index out --url https://example.com/charts/?a=b"), show("out/index.yaml"),
			helm("repo index out --url charts"), show("out/index.yaml"), helm("repo index out --url %zz"), show("out/index.yaml"),
		})},
		{name: "as JSON", steps: steps(packed, []step{helm("repo index out --json"), show("out/index.yaml"), helm("repo index out --json --merge new.json")})},
		{name: "merged", steps: steps(packed, []step{
			write{"old.yaml", merged}, helm("repo index out --merge old.yaml"), show("out/index.yaml"), helm("repo index out --merge out/index.yaml"), helm("repo index out --merge old.yaml --url https://example.com"),
			helm("repo index out --merge new.yaml"), show("new.yaml"),
			write{"bad.yaml", "entries: [}"}, helm("repo index out --merge bad.yaml"), write{"bad.yaml", ""}, helm("repo index out --merge bad.yaml"), helm("repo index out --merge out"),
		})},
		{name: "empty folders", steps: []step{folder("out"), helm("repo index out"), show("out/index.yaml"), helm("repo index ."), show("index.yaml")}},
		{name: "folders that are none", steps: []step{helm("repo index nowhere"), helm("repo index values/first.yaml"), helm("repo index", "")}, rules: []rule{temporaryFiles}},
		{name: "the same version twice", steps: []step{pack{"charts/tiny", "out/a.tgz"}, pack{"charts/tiny", "out/b.tgz"}, helm("repo index out"), show("out/index.yaml")}},
		{name: "a folder with the name of a package", steps: []step{folder("out/x.tgz"), write{"out/x.tgz/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n"}, helm("repo index out")}},
		{name: "what comes of it is served", steps: steps(packed, []step{
			helm("repo index out"), serve{name: "OUT", folder: "out"}, helm("repo add out @OUT@"), helm("search repo out/"), helm("template web out/tiny"), asked("OUT"),
		})},
	}, cachedNames)
}

// temporaryFiles are the names of files that are renamed after they were written.
var temporaryFiles = pattern("temporary file", "the system draws the end of its name", `index\.yaml\d+`, "index.yamlN")
