// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

const (
	// kills is the default number of operations that TestKilledAtAnyTime kills.
	kills = 10
	// killWindow is the time after the start of an operation within which it is killed. It is
	// about the time that the operation takes on an idle machine.
	killWindow = 3 * time.Second
)

// TestKilledAtAnyTime kills operations at random moments. It checks after each of them that
// one ordinary command repairs the release: its objects are those of its last revision, it is
// not locked, and no hook is left.
func TestKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	seed := harness.NewSeed(t)
	dir := charts.FullChart(t)
	for i := range harness.CountFromEnv(t, harness.KillsEnv, kills) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			k := &killedOperation{T: t, Rand: rand.New(rand.NewPCG(seed, i)), Helm: harness.New(t), chart: dir}
			k.run([]string{"install", "upgrade", "rollback", "uninstall"}[i%4])
		})
	}
}

// killedOperation is an operation that is killed, with the operation that repairs the release.
type killedOperation struct {
	*testing.T
	*rand.Rand
	*harness.Helm
	chart string
}

func (k *killedOperation) run(verb string) {
	k.Helper()
	args := map[string][]string{
		"install":   charts.FullChartArgs("install", k.chart, "1"),
		"upgrade":   charts.FullChartArgs("upgrade", k.chart, "2"),
		"rollback":  {"rollback", "rel", "1"},
		"uninstall": {"uninstall", "rel"},
	}
	for _, before := range map[string][]string{"upgrade": {"install"}, "rollback": {"install", "upgrade"}, "uninstall": {"install"}}[verb] {
		k.MustRun(args[before]...)
	}
	after := time.Duration(k.Int64N(int64(killWindow)))
	story := fmt.Sprintf("%s, killed after %s, %s", verb, after, k.kill(after, args[verb]))
	next := [][]string{append(charts.FullChartArgs("upgrade", k.chart, "3"), "--install"), {"uninstall", "rel", "--ignore-not-found"}}
	switch verb {
	case "upgrade":
		next = append(next, []string{"rollback", "rel", "1"}, args["upgrade"])
	case "rollback":
		next = append(next, args["rollback"], []string{"rollback", "rel", "2"})
	case "uninstall": // usually the operation that was started before
		next = append(next, args["uninstall"])
	}
	last := next[k.IntN(len(next))]
	if verb == "uninstall" && last[0] == "uninstall" {
		last = append(slices.Clone(last), "--ignore-not-found") // the uninstall may have been completed
	}
	r := k.Helm.Run(last...)
	story += fmt.Sprintf("; then %s", strings.Join(last, " "))
	k.Log(story)
	if r.ExitCode != 0 {
		k.Fatalf("%s: exit code %d\n%s%s", story, r.ExitCode, r.Stdout, r.Stderr)
	}
	if last[0] == "uninstall" {
		k.ExpectNoFullChart(k)
	} else {
		k.ExpectFullChart(k)
	}
	if k.Failed() {
		k.Logf("it said:\n%s%s", r.Stdout, r.Stderr)
	}
}

// kill runs helm, kills it after the given time, and returns a description of the state of the
// release.
func (k *killedOperation) kill(after time.Duration, args []string) string {
	k.Helper()
	p := k.Start(k, args...)
	over := time.AfterFunc(after, p.Kill)
	r := p.Wait(k)
	over.Stop()
	switch r.ExitCode {
	case 0:
		return "when it was over"
	case -1:
		return "before it was over"
	default:
		k.Fatalf("%v ended with exit code %d\n%s", args, r.ExitCode, r.Stderr)
		return ""
	}
}

// TestKilledBeforeFirstRevision kills an install while it stores its first revision. An uninstall then leaves
// nothing, and an install succeeds.
func TestKilledBeforeFirstRevision(t *testing.T) {
	t.Parallel()
	for name, next := range map[string][]string{
		"uninstall": {"uninstall", "rel", "--ignore-not-found"}, "install": {"install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			proxied := *h
			held, _ := proxied.HoldRequests(t, harness.CreatesRevision)
			p := proxied.Start(t, "install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			harness.AwaitClosed(t, held, "the attempt to store a revision")
			p.Kill()
			p.Wait(t)
			h.MustRun(next...)
			if name == "install" {
				h.ExpectDeployed(t)
				h.MustRun("uninstall", "rel")
			}
			h.ExpectNoReleases(t)
		})
	}
}
