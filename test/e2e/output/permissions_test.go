// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"os"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// askingChart writes a chart with the subchart sub. The scripts of both ask for permissions.
func askingChart(tb testing.TB) string {
	tb.Helper()
	metadata := func(name string) string {
		return "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\nannotations: {helm.sh/scripts: enabled}\n"
	}
	return charts.WriteFiles(tb, map[string]string{
		"Chart.yaml":                      metadata("app"),
		"templates/app.yaml":              "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n",
		"ext/lua/script.lua":              "println('app runs with ' .. type(http))\n",
		"ext/permissions.yaml":            "lua: [network, filesystem]\n",
		"charts/sub/Chart.yaml":           metadata("sub"),
		"charts/sub/ext/lua/script.lua":   "println('sub runs with ' .. type(cluster))\n",
		"charts/sub/ext/permissions.yaml": "lua: [environment, cluster]\n",
	})
}

// questions are what helm asks about askingChart, without the answers.
var questions = []string{`Chart "app" is requesting the following additional permissions:
  - network: Access the network
  - filesystem: Access the local filesystem
Allow? (y, yes, n, no) > `, `Chart "app/charts/sub" is requesting the following additional permissions:
  - environment: Read environment variables
  - cluster: Read objects in the cluster, except Secrets
Allow? (y, yes, n, no) > `}

// answer waits for the questions, types the answers, which are keys of tmux, and waits for the end of helm. It
// returns the text on the screen.
func (term *terminal) answer(tb testing.TB, answers [][]string, want ...string) string {
	tb.Helper()
	for i, keys := range answers {
		term.await(tb, strings.TrimSpace(questions[i]))
		term.tmux(tb, append([]string{"send-keys"}, keys...)...)
	}
	return term.await(tb, want...)
}

// TestPermissionQuestions answers the questions about the permissions of scripts in a terminal.
func TestPermissionQuestions(t *testing.T) {
	t.Parallel()
	yes := []string{"y", "Enter"}
	const declined = `Error: the permissions of chart "app" were not accepted: network, filesystem`
	for _, tt := range []struct {
		name    string
		answers [][]string
		// typed are the answers as the terminal shows them.
		typed []string
		want  []string
	}{
		{"y", [][]string{yes, yes}, []string{"y", "y"}, []string{"app: app runs with table", "app/charts/sub: sub runs with table", "exit code 0"}},
		{"yes", [][]string{{"yes", "Enter"}, {"Yes", "Enter"}}, []string{"yes", "Yes"}, []string{"exit code 0"}},
		{"n", [][]string{{"n", "Enter"}}, []string{"n"}, []string{declined, "exit code 1"}},
		{"no", [][]string{{"no", "Enter"}}, []string{"no"}, []string{declined, "exit code 1"}},
		{"an empty line", [][]string{{"Enter"}}, []string{""}, []string{declined, "exit code 1"}},
		{"another word", [][]string{{"yess", "Enter"}}, []string{"yess"}, []string{declined, "exit code 1"}},
		{"the end of the input", [][]string{{"C-d"}}, []string{""}, []string{declined, "exit code 1"}},
		{"Ctrl-C", [][]string{{"C-c"}}, []string{"^C"}, []string{"Error: ", "exit code 1"}},
		{"n for the subchart", [][]string{yes, {"n", "Enter"}}, []string{"y", "n"}, []string{`Error: the permissions of chart "app/charts/sub" were not accepted: environment, cluster`, "exit code 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			term := startInTerminal(t, h, 150, 30, nil, "template", "rel", askingChart(t))
			screen := term.answer(t, tt.answers, tt.want...)
			shown := "$ helm\n"
			for i, typed := range tt.typed {
				shown += strings.TrimRight(questions[i]+typed, " ") + "\n"
			}
			if tt.name == "Ctrl-C" { // the message about the signal follows at once
				shown = strings.TrimSuffix(shown, "\n")
			}
			if !strings.HasPrefix(screen, shown) || strings.Count(screen, "Allow?") != len(tt.typed) {
				t.Errorf("the screen is\n%s\nwant\n%s", screen, shown)
			}
			if ran := strings.Contains(screen, "runs with"); ran != strings.HasSuffix(strings.TrimSpace(screen), "exit code 0") {
				t.Errorf("scripts have run: %t\n%s", ran, screen)
			}
			// The questions are on standard error.
			stdout, err := os.ReadFile(term.stdout)
			harness.NoError(t, err)
			if strings.Contains(string(stdout), "Allow?") {
				t.Errorf("stdout is\n%s", stdout)
			}
		})
	}
}

// TestPermissionQuestionsOfReleases checks that each operation on a release asks again, and changes nothing if
// the permissions are not accepted.
func TestPermissionQuestionsOfReleases(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := askingChart(t)
	yes, no := []string{"y", "Enter"}, []string{"n", "Enter"}
	for _, step := range []struct {
		args     []string
		answers  [][]string
		want     string
		statuses string
	}{
		{[]string{"install", "rel", chart}, [][]string{yes, no}, "Error: INSTALLATION FAILED: the permissions", ""},
		{[]string{"install", "rel", chart}, [][]string{yes, yes}, "exit code 0", "deployed"},
		{[]string{"upgrade", "rel", chart}, [][]string{no}, "Error: UPGRADE FAILED: the permissions", "deployed"},
		{[]string{"upgrade", "rel", chart}, [][]string{yes, yes}, "exit code 0", "superseded deployed"},
		{[]string{"rollback", "rel", "1"}, [][]string{yes, no}, "Error: the permissions", "superseded deployed"},
		{[]string{"rollback", "rel", "1"}, [][]string{yes, yes}, "exit code 0", "superseded superseded deployed"},
		{[]string{"rollback", "rel", "1", "--no-scripts"}, nil, "exit code 0", "superseded superseded superseded deployed"},
		{[]string{"uninstall", "rel"}, [][]string{no}, "Error: the permissions", "superseded superseded superseded deployed"},
		{[]string{"uninstall", "rel", "--keep-history", "--no-scripts"}, nil, "exit code 0", "superseded superseded superseded uninstalled"},
	} {
		screen := startInTerminal(t, h, 150, 30, nil, step.args...).answer(t, step.answers, step.want, "exit code")
		if asked := strings.Count(screen, "Allow?"); asked != len(step.answers) {
			t.Errorf("helm %s has asked %d times, want %d\n%s", strings.Join(step.args, " "), asked, len(step.answers), screen)
		}
		if step.statuses == "" {
			h.ExpectNoReleases(t)
		} else {
			h.ExpectStatuses(t, "rel", step.statuses)
		}
		if t.Failed() {
			return
		}
	}
}
