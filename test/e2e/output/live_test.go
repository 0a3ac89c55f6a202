// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// liveChart writes a chart with a hook and two layers. The pods of the first layer wait for a
// gate; the second layer depends on the first.
func liveChart(tb testing.TB, annotations ...string) string {
	tb.Helper()
	return charts.Chart{TemplatePerObject: true, Objects: []charts.Object{
		{Kind: "Job", Name: "migrate", Hook: "pre-install", PodAnnotations: []string{"devcluster/pod: complete", "devcluster/after: 3s", `devcluster/log: "42 rows moved"`}},
		{Kind: "Deployment", Name: "a", Layer: "a", Annotations: annotations, Gate: "gate-a"},
		{Kind: "Deployment", Name: "b", Layer: "b", DependsOn: "a", Gate: "gate-b"},
	}}.Write(tb)
}

// spinnerFrames contains the frames of the spinner in the live view.
const spinnerFrames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// TestLiveView checks the live view of an install in terminals of three widths, one of which
// is resized during the install: it shows what is running and what it waits for, and is
// replaced by a summary at the end.
func TestLiveView(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		width, height int
		hook, running []string
		ended         []string
	}{
		{"100 columns", 100, 30,
			[]string{"▸ Job/migrate pre-install hook", "42 rows moved", "install rel  revision 1"},
			[]string{"✓ pre-install hooks 1 done", "▾ app 0 of 2 nodes ready", "▸ a", "Deployment/a Available: 0/1", "Pod ", "left", "· b after a"},
			[]string{"✓ install rel  2 of 2 nodes ready", "✓ pre-install hook Job/migrate", "✓ app:a", "✓ app:b", "* critical path"}},
		{"60 columns", 60, 12,
			[]string{"▸ Job/migrate pre-install hook", "42 rows moved"},
			[]string{"▾ app 0 of 2 nodes ready", "▸ a", "Deployment/a Available: 0/1", "· b after a"},
			[]string{"✓ install rel", "✓ app:b"}},
		{"20 columns", 20, 10,
			[]string{"install rel", "▸ Job/mig"},
			[]string{"▾ app", "▸ a", "Deploym"},
			[]string{"✓ install", "✓ app:b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			term := startInTerminal(t, h, tt.width, tt.height, nil,
				"install", "rel", liveChart(t), "--wait=ordered", "--readiness-timeout", "2m", "--timeout", "4m")
			term.await(t, tt.hook...)
			term.await(t, tt.running...)
			if tt.width == 100 {
				term.tmux(t, "resize-window", "-x", "50", "-y", "20")
				narrow := term.awaitVisible(t, "namespace … ", "▾ app 0 of 2 nodes ready", "▸ a", "· b after a")
				if strings.Count(narrow, "install rel") != 1 || strings.Count(narrow, "pre-install hooks") != 1 {
					t.Errorf("there is more than the view:\n%s", narrow)
				}
				term.tmux(t, "resize-window", "-x", "100", "-y", "30")
			}
			h.OpenGates(t, "gate-a")
			term.await(t, "▸ b")
			h.OpenGates(t, "gate-b")
			// Only the visible lines are read, because tmux may have wrapped and scrolled
			// others.
			screen := term.awaitVisible(t, append(tt.ended, "exit code 0")...)
			if strings.ContainsAny(screen, spinnerFrames) || strings.Contains(screen, "▾") {
				t.Errorf("the view is still there:\n%s", screen)
			}
			if cursor := strings.TrimSpace(term.tmux(t, "display-message", "-p", "#{cursor_flag}")); cursor != "1" {
				t.Error("the cursor is not there any more")
			}
			stdout, err := os.ReadFile(term.stdout)
			harness.NoError(t, err)
			if !strings.HasPrefix(string(stdout), "NAME: rel\n") || strings.Contains(string(stdout), "\x1b") {
				t.Errorf("standard output is\n%q", stdout)
			}
		})
	}
}

// TestLiveViewOfFailure checks the live view of an install that fails after a warning, and of
// one that is interrupted.
func TestLiveViewOfFailure(t *testing.T) {
	t.Parallel()
	t.Run("not ready in time", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		chart := liveChart(t, "helm.sh/readiness-timeout: 3s", "depends-on.helm.sh/layers: nowhere")
		term := startInTerminal(t, h, 90, 30, nil, "install", "rel", chart, "--wait=ordered", "--no-hooks")
		term.await(t, "▸ a", "Deployment/a Available: 0/1")
		screen := term.await(t, "exit code 1", "✗ install rel failed", "✗ app:a failed",
			"Error: INSTALLATION FAILED: Deployment/a was not ready within 3s", "skipped (blocked by this failure): app:b")
		warning, failure := strings.Index(screen, `WARNING: app/templates/a.yaml: Deployment/a depends on the unknown layer "nowhere"`), strings.Index(screen, "✗ install rel failed")
		if warning < 0 || warning > failure || strings.Count(screen, "WARNING") != 1 {
			t.Errorf("the warning does not stand once above the summary:\n%s", screen)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		term := startInTerminal(t, h, 90, 30, nil, "install", "rel", liveChart(t), "--wait=ordered", "--no-hooks", "--readiness-timeout", "2m")
		term.await(t, "▸ a", "Deployment/a Available: 0/1")
		term.tmux(t, "send-keys", "C-c")
		term.await(t, "exit code 1", "Release rel has been cancelled.", "✗ install rel failed", "Error: INSTALLATION FAILED")
	})
}

// TestProgressModes checks that there is no live view if --progress or HELM_PROGRESS selects
// another mode, or if the terminal does not support it.
func TestProgressModes(t *testing.T) {
	t.Parallel()
	chart := charts.Write(t, charts.Object{Name: "a", Layer: "a"}, charts.Object{Name: "b", Layer: "b", DependsOn: "a"})
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want []string
	}{
		{"a terminal that cannot redraw", []string{"TERM=dumb"}, nil, []string{"s  app:a started", "s  install of release rel finished", "exit code 0"}},
		{"plain on a terminal", nil, []string{"--progress", "plain"}, []string{"s  app:a started", "exit code 0"}},
		{"by the environment", []string{"HELM_PROGRESS=plain"}, nil, []string{"s  app:a started", "exit code 0"}},
		{"the flag wins", []string{"HELM_PROGRESS=nonsense"}, []string{"--progress=plain"}, []string{"s  app:a started", "exit code 0"}},
		{"asked for where it cannot be", []string{"TERM=dumb"}, []string{"--progress=tty"},
			[]string{"exit code 1", "Error: INSTALLATION FAILED: --progress: the terminal does not support redrawing (TERM=dumb): use plain"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			screen := startInTerminal(t, h, 150, 30, tt.env, append([]string{"install", "rel", chart, "--wait=ordered"}, tt.args...)...).await(t, tt.want...)
			if strings.ContainsAny(screen, spinnerFrames+"✓") {
				t.Errorf("there is a view:\n%s", screen)
			}
		})
	}
}

// TestProgressWithoutOrder checks that operations without an order print what they wait for,
// and that with --progress=none they print no more than stock Helm.
func TestProgressWithoutOrder(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	pod := charts.Pod("a", "", "devcluster/after: 3s", "devcluster/stop-after: 3s")
	chart := charts.Chart{APIVersion: "v2", Objects: []charts.Object{pod, {Kind: "Job", Name: "migrate", Hook: "pre-install,test"}}}.Write(t)
	expectLines(t, h.MustRun("install", "rel", chart, "--wait").Stderr, "pre-install hook Job/migrate started", "pre-install hook Job/migrate done",
		"waiting for 1 resource to become ready", "Pod/a: InProgress: phase Running, not ready", "Pod/a: Ready")
	expectLines(t, h.MustRun("test", "rel").Stderr, "test hook Job/migrate started", "test hook Job/migrate done")
	expectLines(t, h.MustRun("uninstall", "rel", "--wait").Stderr, "waiting for 1 resource to be deleted", "Pod/a: Terminating: being deleted", "Pod/a: deleted")

	h.Env = append(h.Env, "HELM_PROGRESS=none")
	for _, args := range [][]string{{"install", "rel", chart, "--wait"}, {"test", "rel"}, {"uninstall", "rel", "--wait"}} {
		if r := h.MustRun(args...); r.Stderr != "" {
			t.Errorf("%s says:\n%s", args[0], r.Stderr)
		}
	}
}

var elapsed = regexp.MustCompile(`^ *\d+\.\ds  `)

// expectLines checks the lines of progress. It ignores lines about resources that are not
// ready yet, because it depends on timing whether they are printed.
func expectLines(tb testing.TB, stderr string, want ...string) {
	tb.Helper()
	var got []string
	for line := range strings.Lines(stderr) {
		text := strings.TrimSuffix(elapsed.ReplaceAllString(line, ""), "\n")
		if strings.HasPrefix(text, "Deployment/") || strings.Contains(text, "InProgress: phase Pending") {
			continue
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		tb.Errorf("the lines are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
