// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/test/chartserver"
)

// needs returns a step that writes the dependencies of charts/needy, each with its name,
// version and repository.
func needs(deps ...[3]string) writeFile {
	text := "apiVersion: v2\nname: needy\nversion: 0.1.0\ndependencies:\n"
	for _, d := range deps {
		text += fmt.Sprintf("- {name: %q, version: %q, repository: %q}\n", d[0], d[1], d[2])
	}
	return writeFile{"charts/needy/Chart.yaml", text}
}

// repositoriesNamed returns a step that writes the repository file, with URLs by name.
func repositoriesNamed(urls map[string]string) writeFile {
	text := "apiVersion: v1\nrepositories:\n"
	for _, name := range []string{"first", "second"} {
		if urls[name] != "" {
			text += fmt.Sprintf("- {name: %s, url: %q}\n", name, urls[name])
		}
	}
	return writeFile{"repositories.yaml", text}
}

// updates is a rule for the messages about updated repositories.
var updates = rule{
	name: "order of updates",
	why:  "stock fetches the indexes side by side and reports on them as they come",
	apply: func(s string) string {
		return updateReports.ReplaceAllStringFunc(s, func(reports string) string {
			return strings.Join(slices.Sorted(slices.Values(updateReport.FindAllString(reports, -1))), "")
		})
	},
}

var (
	updateReport  = regexp.MustCompile(`(?m)^\.\.\.(?:Successfully got|Unable to get) an update.*\n(?:\t.*\n)?`)
	updateReports = regexp.MustCompile(`(?m)(?:^\.\.\.(?:Successfully got|Unable to get) an update.*\n(?:\t.*\n)?)+`)
)

// TestDependencies compares how the dependencies of a chart are processed.
func TestDependencies(t *testing.T) {
	t.Parallel()
	server := chartserver.Start(t, publishCharts(t, "charts/tiny", "charts/plain", "charts/umbrella/charts/cache"), chartserver.Options{})
	other := chartserver.Start(t, publishCharts(t, "charts/tiny"), chartserver.Options{})
	broken := chartserver.Start(t, t.TempDir(), chartserver.Options{})
	strange := chartserver.Start(t, t.TempDir(), chartserver.Options{})
	strange.Answer("/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "apiVersion: v1\nentries:\n  tiny:\n  - {name: tiny, version: 1.0.0, apiVersion: v2, urls: [tiny-1.0.0.tgz]}\n")
	})
	strange.Answer("/tiny-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no archive") })

	const config = " --repository-config repositories.yaml"
	both := repositoriesNamed(map[string]string{"first": server.URL, "second": other.URL})
	list := helm("dependency list charts/needy")
	update, build := helm("dependency update charts/needy"+config), helm("dependency build charts/needy"+config)
	quiet := helm("dependency update charts/needy --skip-refresh" + config)
	table := []scenario{
		{name: "list", steps: []step{
			helm("dependency list charts/broad"),
			helm("dependency list charts/umbrella"),
			helm("dep ls charts/legacy"),
			helm("dependencies list charts/tiny"),
			helm("dependency list charts/broad --max-col-width 6"),
			helm("dependency list charts/careless"),
			helm("dependency list"), helm("dependency list a b"),
			helm("dependency list charts/none"),
			helm("dependency list charts/empty"),
			helm("dependency list charts/badyaml"),
			helm("dependency list values/first.yaml"),
		}},
		{name: "of a chart without any", steps: []step{
			helm("dependency update charts/tiny"), helm("dependency build charts/tiny"), helm("dep up charts/tiny"),
			helm("dependency update charts/none"), helm("dependency update values/first.yaml"), helm("dependency update charts/badyaml"),
			helm("dependency build charts/none"), helm("dependency update a b"),
			helm("dependency update charts/tiny --ca-file nowhere"), helm("dependency build charts/tiny --cert-file no --key-file no"),
		}},
		{name: "in folders", steps: []step{
			needs([3]string{"tiny", "1.0.0", "file://../tiny"}, [3]string{"broad", ">=1.0.0-0", "file://../broad"}),
			list, update.ok(), list, update.ok(), build.ok(), helm("template web charts/needy").ok(), helm("package charts/needy").ok(),
			needs([3]string{"tiny", "1.0.0", "file://../tiny"}),
			build, update.ok(), list,
		}},
		{name: "in folders that will not do", steps: []step{
			needs([3]string{"tiny", "9.0.0", "file://../tiny"}), update,
			needs([3]string{"tiny", "1.0.0", "file://../nowhere"}), update,
			needs([3]string{"tiny", "1.0.0", "file://../badyaml"}), update,
			needs([3]string{"tiny", "1.0.0", "file://../empty"}), update,
			needs([3]string{"tiny", "one", "file://../tiny"}), update,
		}},
		{name: "in the charts folder", steps: []step{
			helm("dependency update charts/umbrella"),
			helm("dependency update charts/legacy"),
			helm("dependency build charts/legacy"),
			needs([3]string{"tiny", "1.0.0", ""}), update,
		}},
		{name: "in a repository that was added", rules: []rule{updates}, steps: []step{
			both,
			needs([3]string{"tiny", "1.0.x", server.URL}, [3]string{"plain", "*", "@first"}, [3]string{"cache", ">=0.1", "alias:first"}),
			update.ok(), list, update.ok(), quiet.ok(), build.ok(), helm("dependency build charts/needy --skip-refresh" + config).ok(),
			needs([3]string{"tiny", "1.0.x", other.URL + "/"}),
			build, update.ok(), list,
			needs([3]string{"plain", "", server.URL}), update,
		}},
		{name: "in a repository that nobody added", steps: []step{
			needs([3]string{"tiny", "*", server.URL}),
			update.ok(), list, build, quiet.ok(),
		}},
		{name: "the same one twice", steps: []step{
			repositoriesNamed(map[string]string{"first": server.URL}),
			writeFile{"charts/needy/Chart.yaml", "apiVersion: v2\nname: needy\nversion: 0.1.0\ndependencies:\n" +
				"- {name: tiny, version: 1.0.0, repository: " + server.URL + "}\n" +
				"- {name: tiny, alias: small, version: 1.0.0, repository: " + server.URL + "}\n"},
			update.ok(), list, helm("template web charts/needy").ok(),
		}},
		{name: "with more to say", rules: []rule{updates, debugHead, stackTraces}, steps: []step{
			both, needs([3]string{"tiny", "1.0.0", server.URL}, [3]string{"broad", "*-0", "file://../broad"}),
			helm("dependency update charts/needy --debug" + config).ok(),
			helm("dependency build charts/needy --debug" + config).ok(),
			needs([3]string{"tiny", "^7", server.URL}), helm("dependency update charts/needy --debug" + config),
		}},
		{name: "in repositories that do not have it", steps: []step{
			needs([3]string{"none", "1.0.0", server.URL}), update,
			needs([3]string{"tiny", "^9", server.URL}), update,
			needs([3]string{"tiny", "1.0.0", "@nobody"}), update,
			needs([3]string{"tiny", "1.0.0", "stable"}, [3]string{"plain", "0.1.0", "nothing/there"}), update,
			needs([3]string{"tiny", "1.0.0", broken.URL}), update, quiet,
			needs([3]string{"tiny", "1.0.0", "http://127.0.0.1:1"}), update,
			needs([3]string{"tiny", "1.0.0", "gopher://127.0.0.1:1"}), update,
			needs([3]string{"tiny", "1.0.0", strange.URL}), update, list,
			both, needs([3]string{"tiny", "1.0.0", "@first"}), quiet,
		}},
		{name: "lock file that is not up to date", rules: []rule{updates, logHead}, steps: []step{
			both,
			writeFile{"charts/needy/Chart.lock", "dependencies:\n- {name: tiny, version: 1.0.0, repository: " + server.URL + "}\ndigest: sha256:1234\ngenerated: \"2020-02-03T04:05:06Z\"\n"},
			needs([3]string{"tiny", "1.0.0", server.URL}), build, update.ok(), build.ok(),
			writeFile{"charts/legacy/requirements.lock", "dependencies:\n- {name: child, version: 0.1.0, repository: \"\"}\ndigest: sha256:1234\ngenerated: \"2020-02-03T04:05:06Z\"\n"},
			helm("dependency build charts/legacy" + config),
		}},
		{name: "older archives", steps: []step{
			needs([3]string{"tiny", "1.0.0", "file://../tiny"}), update.ok(),
			writeFile{"charts/needy/charts/fake.tgz", "no archive"}, update, list,
			removeFile("charts/needy/charts/fake.tgz"),
			helm("package charts/plain -d charts/needy/charts").ok(),
			list, update.ok(), list,
			helm("package charts/tiny --version 0.2.0 -d charts/needy/charts"), helm("package charts/tiny --version 0.3.0 -d charts/needy/charts"), list,
		}},
		{name: "charts folder that is none", steps: []step{
			needs([3]string{"tiny", "1.0.0", "file://../tiny"}), writeFile{"charts/needy/charts", "a file"}, update,
		}},
		{name: "fetched before something else is done", steps: []step{
			needs([3]string{"tiny", "1.0.0", "file://../tiny"}),
			helm("template web charts/needy"), helm("package charts/needy"),
			helm("template web charts/needy --dependency-update").ok(),
			needs([3]string{"tiny", "1.0.0", "file://../tiny"}, [3]string{"plain", "*", server.URL}),
			helm("package charts/needy -u").ok(),
			needs([3]string{"tiny", "1.0.0", "file://../nowhere"}),
			helm("package charts/needy --dependency-update"),
		}},
		{name: "signatures that nobody made", steps: []step{
			needs([3]string{"tiny", "1.0.0", server.URL}),
			helm("dependency update charts/needy --verify"),
			helm("dependency update charts/needy --verify --keyring nowhere"), update,
			helm("dependency build charts/needy --verify" + config),
		}},
	}
	runLocal(t, table, cachedNames)
}

// publishCharts packages charts of testdata into a new directory with an index, and returns
// the directory.
func publishCharts(t *testing.T, charts ...string) string {
	t.Helper()
	folder := t.TempDir()
	paths := make([]string, len(charts))
	for i, c := range charts {
		paths[i] = filepath.Join("testdata", c)
	}
	if err := chartserver.Publish(loader.LoadDir, folder, paths...); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != len(charts)+1 {
		t.Fatalf("published %d files, %v", len(entries), err)
	}
	return folder
}
