// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// hookPart is a hook of a test's chart: a Job of one container, unless it says
// otherwise.
type hookPart struct {
	kind, name string
	// events, with commas.
	events string
	weight int
	// deletes and logs are its policies, with commas; none if empty.
	deletes, logs string
	// gate is a ConfigMap without which its pod does not begin.
	gate string
	// more are other annotations, play those of its pods: lines of YAML.
	more, play []string
	// spec is more of its spec, an entry of a YAML map.
	spec string
	// containers are the names of several; the default is c.
	containers []string
}

// What pods of hooks do: fail, and run on for longer than any test.
var (
	failing = []string{"devcluster/pod: fail"}
	running = []string{"devcluster/pod: complete", "devcluster/after: 1h"}
)

// said is what the hook's pod logs.
func (p hookPart) said() []string { return []string{p.name + " begins", p.name + " ends"} }

// logLine is the annotation that has the pod log that.
func (p hookPart) logLine() string {
	return fmt.Sprintf("devcluster/log: %q", strings.Join(p.said(), "\n"))
}

func (p hookPart) id() string { return p.kindOr() + "/" + p.name }

func (p hookPart) kindOr() string {
	if p.kind == "" {
		return "Job"
	}
	return p.kind
}

// manifest is the hook as it stands in a template.
func (p hookPart) manifest() string {
	annotations := append([]string{fmt.Sprintf("helm.sh/hook: %q", p.events)}, p.more...)
	if p.deletes != "" {
		annotations = append(annotations, fmt.Sprintf("helm.sh/hook-delete-policy: %q", p.deletes))
	}
	if p.logs != "" {
		annotations = append(annotations, fmt.Sprintf("helm.sh/hook-output-log-policy: %q", p.logs))
	}
	if p.weight != 0 {
		annotations = append(annotations, fmt.Sprintf(`helm.sh/hook-weight: "%d"`, p.weight))
	}
	play := p.play
	if !strings.Contains(strings.Join(play, "\n"), "devcluster/log") {
		play = append([]string{p.logLine()}, play...)
	}
	head := func(apiVersion string, annotations []string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + p.kindOr() + "\nmetadata: " + annotated("name: "+p.name, annotations)
	}
	switch p.kindOr() {
	case "Pod":
		return head("v1", append(annotations, play...)) + "spec: " + p.pod()
	case "Job":
		spec := ""
		if p.spec != "" {
			spec = "  " + p.spec + "\n"
		}
		return head("batch/v1", annotations) + "spec:\n  backoffLimit: 0\n" + spec +
			"  template:\n    metadata: " + annotated("labels: {hook: "+p.name+"}", play) + "    spec: " + p.pod()
	case "ConfigMap", "Secret":
		return head("v1", annotations)
	}
	return head("ordered.example/v1", annotations)
}

func (p hookPart) pod() string {
	var containers []string
	for _, name := range append([]string{}, p.containers...) {
		containers = append(containers, "{name: "+name+", image: i}")
	}
	if len(containers) == 0 {
		containers = []string{"{name: c, image: i}"}
	}
	volumes := ""
	if p.gate != "" {
		volumes = ", volumes: [{name: gate, configMap: {name: " + p.gate + "}}]"
	}
	spec := ""
	if p.spec != "" && p.kindOr() == "Pod" {
		spec = ", " + p.spec
	}
	return "{restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [" + strings.Join(containers, ", ") + "]" + volumes + spec + "}\n"
}

// hooked is a chart, or subchart, and how its hooks run; an empty mode stands
// for a chart without the field.
type hooked struct {
	name, mode string
	hooks      []hookPart
	// more are other templates, by the name of the file.
	more map[string]string
}

// writeHooked writes a chart and subcharts of it: each hook has a template of
// its name.
func writeHooked(tb testing.TB, top hooked, subcharts ...hooked) string {
	tb.Helper()
	files := map[string]string{}
	for i, c := range append([]hooked{top}, subcharts...) {
		dir := ""
		if i > 0 {
			dir = "charts/" + c.name + "/"
		}
		files[dir+"Chart.yaml"] = "apiVersion: v2\nname: " + c.name + "\nversion: 0.1.0\n"
		if c.mode != "" {
			files[dir+"Chart.yaml"] += "runHooksInParallel: " + c.mode + "\n"
		}
		for _, p := range c.hooks {
			files[dir+"templates/"+p.name+".yaml"] = p.manifest()
		}
		for name, text := range c.more {
			files[dir+"templates/"+name] = text
		}
	}
	return writeChart(tb, files)
}

// openGate makes the ConfigMap that pods wait for.
func (h *helm) openGate(tb testing.TB, name string) {
	tb.Helper()
	gate := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := h.cluster.Client().CoreV1().ConfigMaps(h.namespace).Create(tb.Context(), gate, metav1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// lookUntil looks until something has happened.
func lookUntil(tb testing.TB, what string, happened func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), hookPatience)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !happened() {
		select {
		case <-look.C:
		case <-ctx.Done():
			tb.Fatalf("%s never happened", what)
		}
	}
}

// present lists what there is of the kinds of hooks, by "Kind/name".
func (h *helm) present(tb testing.TB) map[string]types.UID {
	tb.Helper()
	core, there := h.cluster.Client().CoreV1(), map[string]types.UID{}
	jobs, err := h.cluster.Client().BatchV1().Jobs(h.namespace).List(tb.Context(), metav1.ListOptions{})
	pods, err2 := core.Pods(h.namespace).List(tb.Context(), metav1.ListOptions{})
	maps, err3 := core.ConfigMaps(h.namespace).List(tb.Context(), metav1.ListOptions{})
	if err := errors.Join(err, err2, err3); err != nil {
		tb.Fatal(err)
	}
	for _, o := range jobs.Items {
		there["Job/"+o.Name] = o.UID
	}
	for _, o := range pods.Items {
		there["Pod/"+o.Name] = o.UID
	}
	for _, o := range maps.Items {
		there["ConfigMap/"+o.Name] = o.UID
	}
	return there
}

// isThere tells whether something of these kinds is there.
func (h *helm) isThere(tb testing.TB, id string) bool {
	tb.Helper()
	_, there := h.present(tb)[id]
	return there
}

// awaitThere waits for objects to be there.
func (h *helm) awaitThere(tb testing.TB, ids ...string) {
	tb.Helper()
	lookUntil(tb, fmt.Sprintf("that there are %s", ids), func() bool {
		there := h.present(tb)
		return !slices.ContainsFunc(ids, func(id string) bool { _, found := there[id]; return !found })
	})
}

// awaitGone waits for an object to be there no more.
func (h *helm) awaitGone(tb testing.TB, id string) {
	tb.Helper()
	lookUntil(tb, "that there is no "+id, func() bool { return !h.isThere(tb, id) })
}

// awaitPods waits for the first pods of hooks to be in a phase.
func (h *helm) awaitPods(tb testing.TB, phase string, jobs ...string) {
	tb.Helper()
	for _, job := range jobs {
		lookUntil(tb, "a pod of "+job+" that is "+phase, func() bool {
			list, err := h.cluster.Client().CoreV1().Pods(h.namespace).List(tb.Context(), metav1.ListOptions{LabelSelector: "hook=" + job})
			if err != nil {
				tb.Fatal(err)
			}
			return len(list.Items) > 0 && string(list.Items[0].Status.Phase) == phase
		})
	}
}

// runs reads what the newest stored revision says of its hooks, by "Kind/name";
// nothing if there is no release.
func (h *helm) runs(tb testing.TB, name string) map[string]release.HookExecution {
	tb.Helper()
	store := storage.Init(driver.NewSecrets(h.cluster.Client().CoreV1().Secrets(h.namespace)))
	rel, err := store.Last(name)
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		tb.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return runsOf(rel)
}

func runsOf(rel *release.Release) map[string]release.HookExecution {
	runs := map[string]release.HookExecution{}
	for _, hook := range rel.Hooks {
		runs[hook.Kind+"/"+hook.Name] = hook.LastRun
	}
	return runs
}

// awaitPhases waits until the stored release says of hooks that they are in a
// phase.
func (h *helm) awaitPhases(tb testing.TB, name string, phase release.HookPhase, ids ...string) {
	tb.Helper()
	lookUntil(tb, fmt.Sprintf("the release saying %s of %s", phase, ids), func() bool {
		runs := h.runs(tb, name)
		for _, id := range ids {
			if runs[id].Phase != phase {
				return false
			}
		}
		return true
	})
}
