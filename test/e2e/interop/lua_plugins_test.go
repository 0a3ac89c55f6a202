// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLuaPluginDiff installs the example plugin diff, and compares releases with the cluster.
func TestLuaPluginDiff(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	plugin := harness.ExampleChart(t, "plugins/diff")
	h.MustRun("plugin", "install", plugin)
	chart := charts.Write(t, charts.Object{Name: "base", Value: "1"}, charts.Object{Kind: "Secret", Name: "hidden"}, charts.Object{Kind: "Deployment", Name: "app"})
	h.MustRun("install", "rel", chart)
	run := func(want harness.Result, args ...string) {
		t.Helper()
		if r := h.Run(args...); r.ExitCode != want.ExitCode || r.Stdout != want.Stdout {
			t.Errorf("%q: exit code %d and\n%s%s", args, r.ExitCode, r.Stdout, r.Stderr)
		}
	}
	run(harness.Result{}, "diff", "rel", "--detailed-exitcode")
	h.Patch(t, "ConfigMap/base", `{"data":{"value":"2"}}`)
	h.Delete(t, "Deployment/app")
	run(harness.Result{Stdout: "ConfigMap/base: .data.value is \"2\", and \"1\" in the release\nDeployment/app: does not exist\n", ExitCode: 2}, "diff", "rel", "--detailed-exitcode")
	run(harness.Result{ExitCode: 1}, "diff", "missing")
	run(harness.Result{ExitCode: 1}, "diff", "rel", "--unknown")
	complete := exec.CommandContext(t.Context(), binaries.Get(t).Helm, "__complete", "diff", "")
	complete.Env = slices.Concat(h.Env, []string{"HELM_NAMESPACE=" + h.Namespace})
	if out, err := complete.Output(); err != nil || string(out) != "rel\n:4\n" {
		t.Errorf("suggested %q, %v", out, err)
	}
	h.MustRun("plugin", "uninstall", "diff")
	if r := h.Run("diff", "rel"); r.ExitCode == 0 {
		t.Error("the plugin was not uninstalled")
	}
}

// TestLuaPluginDownloader installs the example plugin github, and downloads charts and an index from
// a server.
func TestLuaPluginDownloader(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	files := t.TempDir()
	h.MustRun("package", charts.Write(t, charts.Object{Name: "base"}), "-d", files)
	h.MustRun("repo", "index", files)
	mux := http.NewServeMux()
	mux.Handle("/ann/charts/releases/download/v1/", http.StripPrefix("/ann/charts/releases/download/v1/", http.FileServer(http.Dir(files))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.Env = append(h.Env, "GITHUB_SERVER_URL="+server.URL, "GITHUB_TOKEN=")
	h.MustRun("plugin", "install", harness.ExampleChart(t, "plugins/github"))

	const base = "github://ann/charts/v1"
	out := t.TempDir()
	h.MustRun("pull", base+"/app-0.1.0.tgz", "-d", out, "--untar")
	if _, err := os.Stat(filepath.Join(out, "app", "Chart.yaml")); err != nil {
		t.Error(err)
	}
	h.MustRun("install", "rel", base+"/app-0.1.0.tgz")
	h.MustRun("repo", "add", "ann", base)
	h.MustRun("repo", "update")
	h.MustRun("upgrade", "rel", "ann/app")
	h.MustRun("template", "app", "--repo", base)
	h.ExpectFailure(t, []string{"pull", base + "/missing-1.0.0.tgz"}, `the downloader of plugin "github" failed`, "HTTP status 404")
	h.ExpectFailure(t, []string{"pull", "github://ann/charts/app.tgz"}, "the URL must be github://OWNER/REPOSITORY/TAG/FILE")
	h.Env = append(h.Env, "HELM_NO_PLUGINS=1")
	h.MustRun("pull", base+"/app-0.1.0.tgz", "-d", t.TempDir())
}

// TestLuaPluginProcess checks what a plugin in Lua has in common with other programs.
func TestLuaPluginProcess(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	dir := charts.WriteFiles(t, map[string]string{
		"plugin.yaml": "name: talk\nversion: 1.0.0\ncommand: $HELM_PLUGIN_DIR/talk.lua\nhooks: {install: talk.lua installed, delete: talk.lua deleted}\n",
		"lua.yaml":    "",
		"talk.lua": `print(table.concat(arg, ","), os.getenv("HELM_NAMESPACE"))
			if arg[1] == "fail" then os.exit(3) end
			if arg[1] == "loop" then io.stderr:write("looping\n") while true do pcall(function() while true do end end) end end`,
		"render.lua": `io.write((io.read("*a"):gsub("name: base", "name: " .. arg[1])))`,
	})
	if r := h.MustRun("plugin", "install", dir); r.Stdout != "installed\t"+h.Namespace+"\nInstalled plugin: talk\n" {
		t.Errorf("got %q", r.Stdout)
	}
	if r := h.Run("talk", "fail", "--flag"); r.ExitCode != 3 || r.Stdout != "fail,--flag\t"+h.Namespace+"\n" {
		t.Errorf("got the exit code %d and %q", r.ExitCode, r.Stdout)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		process := h.Start(t, "talk", "loop")
		process.AwaitLine(t, "looping")
		process.Signal(t, signal)
		process.ExpectExit(t, 1, signal.String()+" signal received")
	}
	if r := h.RunStock(t, "plugin", "list"); !strings.Contains(r.Stdout, "talk\t1.0.0") {
		t.Errorf("stock Helm lists %q", r.Stdout)
	}
	if r := h.RunStock(t, "talk"); r.ExitCode != 1 || !strings.Contains(r.Stderr, "permission denied") {
		t.Errorf("stock Helm runs the plugin: %d, %q", r.ExitCode, r.Stderr)
	}
	// The scripts of the chart run in the same process as the post-renderer, without its libraries.
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: app\nversion: 0.1.0\nannotations: {helm.sh/scripts: enabled}\n",
		"templates/base.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n",
		"ext/lua/check.lua":   `assert(not (io or os or helm or arg or http or cluster or print), "there is a library of plugins")`,
	})
	script := filepath.Join(dir, "render.lua")
	r := h.MustRun("template", chart, "--post-renderer", script, "--post-renderer-args", "changed")
	harness.ExpectContains(t, r.Stdout, "name: changed")
	if r := h.MustRun("plugin", "uninstall", "talk"); r.Stdout != "deleted\t"+h.Namespace+"\nUninstalled plugin: talk\n" {
		t.Errorf("got %q", r.Stdout)
	}
	h.MustRun("plugin", "install", charts.WriteFiles(t, map[string]string{
		"plugin.yaml": "name: render\nversion: 1.0.0\ncommand: " + script + "\n", "lua.yaml": "",
	}))
	r = h.MustRun("template", chart, "--post-renderer", "render", "--post-renderer-args", "changed")
	harness.ExpectContains(t, r.Stdout, "name: changed")
	if r := h.MustRun("plugin", "uninstall", "render"); r.Stdout != "Uninstalled plugin: render\n" {
		t.Errorf("got %q", r.Stdout)
	}
}

// TestLuaPluginStopped checks that a signal ends a post-renderer during an installation, before anything
// is recorded, and that a second one ends a plugin that waits for a program that ignores signals.
func TestLuaPluginStopped(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	dir := charts.WriteFiles(t, map[string]string{
		"loop.lua": `assert(io.open(arg[1], "w")) while true do pcall(function() while true do end end) end`,
	})
	exists := func(name string) {
		t.Helper()
		harness.Eventually(t, name+" exists", func() bool { _, err := os.Stat(name); return err == nil })
	}
	rendering := filepath.Join(dir, "rendering")
	chart := charts.Write(t, charts.Object{Name: "base"})
	process := h.Start(t, "install", "rel", chart, "--post-renderer", filepath.Join(dir, "loop.lua"), "--post-renderer-args", rendering)
	exists(rendering)
	process.Signal(t, syscall.SIGTERM)
	process.ExpectExit(t, 1, "error while running post-renderer")
	h.ExpectFailure(t, []string{"status", "rel"}, "not found")

	waiting := filepath.Join(dir, "waiting") // it is deleted with the directory of the test
	plugins := charts.WriteFiles(t, map[string]string{
		"stubborn/plugin.yaml": "name: stubborn\nversion: 1.0.0\nplatformCommand:\n- command: sh\n  args:\n  - -c\n" +
			"  - trap '' TERM; touch " + waiting + "; while [ -e " + waiting + " ]; do sleep 0.1; done\n",
		"talk/plugin.yaml": "name: talk\nversion: 1.0.0\ncommand: talk.lua\n",
		"talk/lua.yaml":    "",
		"talk/talk.lua":    `helm.run("stubborn")`,
	})
	h.MustRun("plugin", "install", filepath.Join(plugins, "stubborn"))
	h.MustRun("plugin", "install", filepath.Join(plugins, "talk"))
	process = h.Start(t, "talk")
	exists(waiting)
	harness.Eventually(t, "the plugin ended", func() bool {
		_ = process.Cmd.Process.Signal(syscall.SIGTERM) // it fails if the process has ended
		select {
		case <-process.Ended:
			return true
		default:
			return false
		}
	})
}
