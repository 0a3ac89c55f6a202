// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

const (
	// kills is how many there are where no more are asked for.
	kills = 20
	// killWindow is within what time an operation of killedChart is killed, from the
	// start of its process: it takes about that long on an idle machine.
	killWindow = 3 * time.Second
)

// killedChart has hooks around everything, two charts, and layers of every sort of
// object that is waited for. What it has differs from revision to revision.
func killedChart(tb testing.TB) string {
	tb.Helper()
	hook := func(name, events, policies, after string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + name + "\n  annotations:\n    helm.sh/hook: " + events + "\n" +
			"    helm.sh/hook-delete-policy: " + policies + "\nspec:\n  backoffLimit: 0\n  template:\n" +
			"    metadata: {annotations: {devcluster/after: " + after + "}}\n    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n"
	}
	var hooks strings.Builder
	for _, when := range []string{"pre", "post"} {
		events := fmt.Sprintf("%[1]s-install,%[1]s-upgrade,%[1]s-rollback,%[1]s-delete", when)
		// Helm would fail on the next run: nothing of this one may be left.
		hooks.WriteString(hook(when+"-once", events, "hook-succeeded", "100ms"))
		hooks.WriteString(hook(when+"-again", events, "before-hook-creation,hook-succeeded", "0s"))
	}
	hooks.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: of-hooks\n  annotations: {helm.sh/hook: 'pre-install,pre-upgrade,pre-rollback', helm.sh/hook-weight: '-1'}\n")
	parts := ""
	for _, p := range []charts.Object{
		{Name: "first", Layer: "first", Value: "{{ .Values.value }}"},
		{Kind: "Deployment", Name: "app", Layer: "app", DependsOn: "first", Value: "{{ .Values.value }}", Annotations: charts.LongTimeout},
		{Kind: "Job", Name: "work-{{ .Values.value }}", Layer: "work", DependsOn: "first", PodAnnotations: []string{"devcluster/after: 200ms"}, Annotations: charts.LongTimeout},
		{Name: "of-{{ .Values.value }}", Layer: "work", DependsOn: "first"},
		{Name: "last", Layer: "last", DependsOn: "app,work", Value: "{{ .Values.value }}"},
	} {
		parts += p.Manifest()
	}
	sub := charts.Object{Kind: "Deployment", Name: "backend", Value: "{{ .Values.value }}", Annotations: charts.LongTimeout}.Manifest()
	return charts.WriteFiles(tb, map[string]string{
		"Chart.yaml":  "apiVersion: v3\nname: app\nversion: 0.1.0\nannotations: {helm.sh/depends-on/subcharts: '[\"backend\"]'}\ndependencies: [{name: backend, version: 0.1.0}]\n",
		"values.yaml": "value: '0'\n", "templates/hooks.yaml": hooks.String(), "templates/parts.yaml": parts,
		"charts/backend/Chart.yaml": "apiVersion: v3\nname: backend\nversion: 0.1.0\n", "charts/backend/values.yaml": "value: '0'\n", "charts/backend/templates/all.yaml": sub,
	})
}

// TestKilledAtAnyTime kills operations at random moments. After each, one ordinary
// command brings the release to a good state: there is what its last revision declares,
// and nothing else; nobody holds it, and no hook is left.
func TestKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	seed := harness.NewSeed(t)
	dir := killedChart(t)
	for i := range harness.CountFromEnv(t, harness.KillsEnv, kills) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			k := &killedOperation{T: t, Rand: rand.New(rand.NewPCG(seed, i)), Helm: harness.New(t), chart: dir}
			k.run([]string{"install", "upgrade", "rollback", "uninstall"}[i%4])
		})
	}
}

// killedOperation is one operation that is killed, and what comes after it.
type killedOperation struct {
	*testing.T
	*rand.Rand
	*harness.Helm
	chart string
}

func (k *killedOperation) run(verb string) {
	k.Helper()
	args := map[string][]string{
		"install":   k.deploys("install", "1"),
		"upgrade":   k.deploys("upgrade", "2"),
		"rollback":  {"rollback", "rel", "1"},
		"uninstall": {"uninstall", "rel"},
	}
	for _, before := range map[string][]string{"upgrade": {"install"}, "rollback": {"install", "upgrade"}, "uninstall": {"install"}}[verb] {
		k.MustRun(args[before]...)
	}
	after := time.Duration(k.Int64N(int64(killWindow)))
	story := fmt.Sprintf("%s, killed after %s, %s", verb, after, k.kill(after, args[verb]))
	next := [][]string{append(k.deploys("upgrade", "3"), "--install"), {"uninstall", "rel", "--ignore-not-found"}}
	switch verb {
	case "upgrade":
		next = append(next, []string{"rollback", "rel", "1"}, args["upgrade"])
	case "rollback":
		next = append(next, args["rollback"], []string{"rollback", "rel", "2"})
	case "uninstall": // most of all what was begun
		next = append(next, args["uninstall"])
	}
	last := next[k.IntN(len(next))]
	if verb == "uninstall" && last[0] == "uninstall" {
		last = append(slices.Clone(last), "--ignore-not-found") // it may have been done
	}
	r := k.Helm.Run(last...)
	story += fmt.Sprintf("; then %s", strings.Join(last, " "))
	k.Log(story)
	if r.ExitCode != 0 {
		k.Fatalf("%s: exit code %d\n%s%s", story, r.ExitCode, r.Stdout, r.Stderr)
	}
	k.check(last[0] == "uninstall")
	if k.Failed() {
		k.Logf("it said:\n%s%s", r.Stdout, r.Stderr)
	}
}

// deploys installs or upgrades to a value.
func (k *killedOperation) deploys(verb, value string) []string {
	return []string{verb, "rel", k.chart, "--wait=ordered", "--timeout", "2m", "--set", "value=" + value + ",backend.value=" + value}
}

// kill runs the binary for so long, and says what it was in then.
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

// check compares the release with the cluster.
func (k *killedOperation) check(removed bool) {
	k.Helper()
	if removed {
		k.ExpectObjects(k, "rel")
		k.expectNothingBeside()
		if left := k.releaseSecrets(); len(left) > 0 {
			k.Errorf("these are left of the release: %q", left)
		}
		return
	}
	k.ExpectManifestObjects(k, "rel")
	k.expectNothingBeside()
	last := k.LastRevision(k, "rel")
	value := fmt.Sprint(last.Config["value"])
	for id, o := range k.ReleaseObjects(k, "rel") {
		if !strings.HasSuffix(id, "-"+value) && harness.ValueOf(o) != value {
			k.Errorf("%s has the value %s, want %s", id, harness.ValueOf(o), value)
		}
	}
	deployed := 0
	for _, rel := range k.History(k, "rel") {
		switch status := rel.Info.Status.String(); status {
		case "deployed":
			deployed++
		case "failed", "superseded":
		default:
			k.Errorf("revision %d is %s", rel.Version, status)
		}
		if strings.Contains(string(harness.Record(rel)), `"lease"`) {
			k.Errorf("revision %d is held", rel.Version)
		}
	}
	if deployed != 1 || last.Info.Status != "deployed" {
		k.Errorf("%d revisions are deployed, and the last one is %s", deployed, last.Info.Status)
	}
}

// expectNothingBeside checks that of the hooks only what their policies keep is there.
func (k *killedOperation) expectNothingBeside() {
	k.Helper()
	beside := map[string]bool{}
	client := k.Client
	for _, resource := range harness.Resources {
		switch harness.Kinds[resource.Resource] {
		case "ConfigMap", "Job":
		default:
			continue
		}
		list, err := client.Resource(resource).Namespace(k.Namespace).List(k.Context(), metav1.ListOptions{})
		if err != nil {
			k.Fatal(err)
		}
		for _, item := range list.Items {
			if item.GetAnnotations()["meta.helm.sh/release-name"] == "" {
				beside[item.GetKind()+"/"+item.GetName()] = true
			}
		}
	}
	for _, kept := range []string{"ConfigMap/of-hooks", "ConfigMap/kube-root-ca.crt"} {
		delete(beside, kept)
	}
	if len(beside) > 0 {
		k.Errorf("these are left of hooks: %q", slices.Sorted(maps.Keys(beside)))
	}
}

func (k *killedOperation) releaseSecrets() []string {
	k.Helper()
	list, err := k.Cluster.Client().CoreV1().Secrets(k.Namespace).List(k.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		k.Fatal(err)
	}
	var names []string
	for _, s := range list.Items {
		names = append(names, s.Name)
	}
	return names
}
