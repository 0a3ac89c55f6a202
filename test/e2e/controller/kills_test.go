// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/harness"
)

const (
	// killsEnv is the environment variable with the number of kills; "make soak" sets 100.
	killsEnv     = "ORDERED_HELM_CONTROLLER_KILLS"
	defaultKills = 3
	// killedRequests is the number of requests that are deployed while the controller is killed.
	killedRequests = 20
	// maxLifetime is the longest time after which a controller is killed. It is longer than the time in which all
	// requests are deployed, so that operations are killed in all of their parts.
	maxLifetime = 4 * time.Second
)

// TestKilledController kills the controller at random moments while requests are created, changed and deleted. In
// the end, everything is as the last changes require, and nothing was deployed twice or left behind.
//   - "Nothing is installed twice, and nothing is left behind"
func TestKilledController(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	kills := harness.CountFromEnv(t, killsEnv, defaultKills)
	seed := harness.NewSeed(t)
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the test must be repeatable
	slow := podTemplate("devcluster/after: 300ms") +
		"---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: 'pre-install,pre-upgrade,pre-delete', helm.sh/hook-delete-policy: before-hook-creation}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}\n"
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", slow))
	values := map[string]string{} // of the requests that exist
	for kill := range kills {
		p := e.startController(t)
		e.changeAtRandom(t, random, chart, values, kill)
		time.Sleep(time.Duration(random.Int64N(int64(maxLifetime)))) // the moment of the kill, not a wait for something
		p.Kill()
		p.Wait(t)
	}
	e.startController(t)
	for name, value := range values {
		e.awaitReady(t, name, "Deployed")
		if got := e.value(t, name); got != value {
			t.Errorf("%s has the value %q, want %q", name, got, value)
		}
	}
	e.expectOnly(t, values)
}

// changeAtRandom creates, changes or deletes each request, or leaves it as it is.
func (e *env) changeAtRandom(t *testing.T, random *rand.Rand, chart string, values map[string]string, round uint64) {
	t.Helper()
	for i := range killedRequests {
		name, value := fmt.Sprintf("r%d", i), fmt.Sprintf("v%d", round)
		_, exists := values[name]
		switch choice := random.IntN(4); {
		case !exists:
			// The request of this name may still be about to be deleted.
			if err := e.Create(t.Context(), requestOf(name, chart+"  values: {v: "+value+"}")); err == nil {
				values[name] = value
			}
		case choice == 0:
			harness.NoError(t, e.requests().Delete(t.Context(), name, metav1.DeleteOptions{}))
			delete(values, name)
		case choice == 1:
			e.change(t, name, `{"values":{"v":"`+value+`"}}`)
			values[name] = value
		}
	}
}

// expectOnly waits until all other requests are gone, and checks that only the releases and objects of the
// requests are left, with one revision that is deployed.
func (e *env) expectOnly(t *testing.T, values map[string]string) {
	t.Helper()
	harness.Eventually(t, "the deleted requests are gone", func() bool {
		list, err := e.requests().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == len(values)
	})
	releases, err := e.Resource("helm.sh/v1alpha1", "Release").List(t.Context(), metav1.ListOptions{})
	harness.NoError(t, err)
	if len(releases.Items) != len(values) {
		t.Errorf("%d releases are left, want %d", len(releases.Items), len(values))
		for _, release := range releases.Items {
			if _, exists := values[release.GetName()]; !exists {
				t.Errorf("release %s is left: %v", release.GetName(), release.Object["status"])
			}
		}
	}
	versions, err := e.Resource("helm.sh/v1alpha1", "ReleaseVersion").List(t.Context(), metav1.ListOptions{})
	harness.NoError(t, err)
	deployed := map[string]int{}
	for _, version := range versions.Items {
		phase, _, _ := unstructured.NestedString(version.Object, "status", "phase")
		if name := version.GetLabels()["helm.sh/release"]; phase == "deployed" {
			deployed[name]++
		} else if _, exists := values[name]; !exists {
			t.Errorf("%s of release %s, which is uninstalled, is left", version.GetName(), name)
		}
	}
	for name := range values {
		if deployed[name] != 1 {
			t.Errorf("release %s has %d deployed revisions", name, deployed[name])
		}
	}
	e.expectNothingElse(t, values)
}

// expectNothingElse checks that the objects of no other releases are left.
func (e *env) expectNothingElse(t *testing.T, values map[string]string) {
	t.Helper()
	ctx, client := context.WithoutCancel(t.Context()), e.Cluster.Client()
	managed := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"}
	configMaps, err := client.CoreV1().ConfigMaps(e.Namespace).List(ctx, managed)
	harness.NoError(t, err)
	pods, err := client.CoreV1().Pods(e.Namespace).List(ctx, managed)
	harness.NoError(t, err)
	if len(configMaps.Items) != len(values) || len(pods.Items) != len(values) {
		t.Errorf("%d ConfigMaps and %d pods are left, want %d", len(configMaps.Items), len(pods.Items), len(values))
	}
}
