// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
	"github.com/ordered-helm/helm/test/postgres"
)

// storedObjects contains the numbers of Secrets and ConfigMaps that a storage driver creates
// for every revision of a release, and of Secrets for the release.
type storedObjects struct{ secrets, configMaps, placeholders int }

// TestStorageDrivers checks all operations, and the continuation by stock Helm, with every
// storage driver.
func TestStorageDrivers(t *testing.T) {
	t.Parallel()
	for _, d := range []struct {
		driver string
		kept   storedObjects
		limit  string // the text of the error if a release is too large, or empty without a limit
	}{
		{"secret", storedObjects{secrets: 1}, "Secret"},
		{"configmap", storedObjects{configMaps: 1}, "ConfigMap"},
		{"sql", storedObjects{}, ""},
	} {
		t.Run(d.driver, func(t *testing.T) {
			t.Parallel()
			url := ""
			if d.driver == "sql" {
				url = postgres.Start(t)
			}
			with := func(t *testing.T) (*harness.Helm, binary) {
				t.Helper()
				h := harness.New(t)
				h.Env = append(h.Env, "HELM_DRIVER="+d.driver, "HELM_DRIVER_SQL_CONNECTION_STRING="+url)
				return h, ourBinary(t, h)
			}
			t.Run("whole way", func(t *testing.T) {
				h, ours := with(t)
				runLifecycle(t, h, ours, d.kept)
			})
			t.Run("stock takes over", func(t *testing.T) {
				h, ours := with(t)
				continueWithStock(t, h, ours, ours.stock(t), d.kept)
			})
			t.Run("Helm 4", func(t *testing.T) {
				h, _ := with(t)
				checkFieldsSurvive(t, h)
			})
			t.Run("labels", func(t *testing.T) {
				_, ours := with(t)
				checkLabels(t, ours, ours.stock(t))
			})
			t.Run("size", func(t *testing.T) {
				_, ours := with(t)
				checkLargeRelease(t, ours, d.limit)
			})
			if url != "" {
				t.Run("two at once", func(t *testing.T) {
					_, ours := with(t)
					checkConcurrentUpgrades(t, ours, url)
				})
			}
		})
	}
	// The memory driver loses its data when the process ends, so the test uses the Go
	// packages.
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		t.Run("whole way", func(t *testing.T) {
			h := harness.New(t)
			runLifecycle(t, h, newLibrary(t, h), storedObjects{})
		})
		t.Run("stock takes over", func(t *testing.T) {
			h := harness.New(t)
			ours := newLibrary(t, h)
			continueWithStock(t, h, ours, stockLibrary{ours}, storedObjects{})
		})
	})
}

// TestOwnStorageDrivers checks all operations with the storage drivers that stock Helm does not have, by helm and in a
// program.
func TestOwnStorageDrivers(t *testing.T) {
	t.Parallel()
	for driver, kept := range map[string]storedObjects{"crd": {placeholders: 1}, "chunked-secret": {secrets: 1}} {
		with := func(t *testing.T) (*harness.Helm, binary) {
			t.Helper()
			h := harness.New(t)
			harness.InstallDefinitions(t, h.Cluster)
			h.Env = append(h.Env, "HELM_DRIVER="+driver)
			return h, ourBinary(t, h)
		}
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			t.Run("whole way", func(t *testing.T) {
				h, ours := with(t)
				runLifecycle(t, h, ours, kept)
			})
			t.Run("in a program", func(t *testing.T) {
				h, _ := with(t)
				runLifecycle(t, h, newLibraryWith(t, h, driver), kept)
			})
			t.Run("labels", func(t *testing.T) {
				_, ours := with(t)
				checkLabels(t, ours, ours)
			})
		})
	}
}

// The values of storedChart in successive revisions.
const (
	plain = "version=1"
	more  = "version=2,more=true"
	hangs = "version=3,more=true,hangs=true"
)

// storedChart writes a chart with an aliased subchart and with layers. The values add and
// remove layers, and make a layer never become ready.
func storedChart(tb testing.TB) string {
	tb.Helper()
	deployment := func(name, annotations string) string {
		return `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ` + name + `
  annotations:
    helm.sh/layer: ` + name + "\n" + annotations + `
spec:
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata:
      labels: {app: ` + name + `}
      annotations: {version: {{ .Values.version | quote }}, devcluster/pod: {{ if .Values.hangs }}{{ .Values.stuck }}{{ else }}ready{{ end }}}
    spec: {containers: [{name: c, image: i}]}
`
	}
	return charts.WriteFiles(tb, map[string]string{
		"Chart.yaml": charts.Metadata + `annotations: {helm.sh/depends-on/subcharts: [bus]}
dependencies: [{name: queue, version: 0.1.0, alias: bus}]
`,
		"values.yaml": "stuck: ready\n",
		"templates/all.yaml": charts.ConfigMap("settings", "helm.sh/layer: settings") +
			deployment("store", "    helm.sh/depends-on/layers: [settings]") +
			"{{ if .Values.more }}\n" +
			deployment("cache", "    helm.sh/depends-on/layers: store") +
			deployment("worker", "    helm.sh/depends-on/layers: cache") +
			"{{ end }}\n" +
			strings.ReplaceAll(deployment("web", `    helm.sh/depends-on/layers: store{{ if .Values.more }}, worker{{ end }}
    helm.sh/readiness-timeout: {{ if .Values.hangs }}3s{{ else }}2m{{ end }}`), "{{ .Values.stuck }}", "never") +
			charts.ConfigMap("about"),
		"charts/queue/Chart.yaml":         "apiVersion: v3\nname: queue\nversion: 0.1.0\n",
		"charts/queue/values.yaml":        "version: 1\nstuck: ready\n",
		"charts/queue/templates/all.yaml": deployment("queue", "") + charts.ConfigMap("queue"),
	})
}

// expectedOrder returns the expected order of the objects in a manifest of storedChart, or
// only of the objects named in only.
func expectedOrder(tb testing.TB, manifest string, only ...string) *harness.Order {
	tb.Helper()
	o := &harness.Order{OwnAfter: [][2]string{{"app", "app/bus"}}}
	o.AddManifest(tb, manifest)
	if len(only) > 0 {
		o.Objects = slices.DeleteFunc(o.Objects, func(x harness.OrderedObject) bool { return !slices.Contains(only, x.Name) })
	}
	return o
}

// runLifecycle runs an install, an upgrade, a failed upgrade, a rollback and an uninstall. It
// checks that each revision has the deployment graph of its chart, and with the audit log that
// the operations followed the graph, and the uninstall its reverse.
func runLifecycle(t *testing.T, h *harness.Helm, p program, kept storedObjects) {
	t.Helper()
	chart := storedChart(t)
	harness.NoError(t, p.deploy(t, chart, plain))
	first := expectedOrder(t, p.manifest(t, 1))
	first.CheckInstall(t, h.ReadTrace(t), 15)
	harness.NoError(t, p.deploy(t, chart, more))
	added := expectedOrder(t, p.manifest(t, 2), "cache", "worker")
	added.CheckInstall(t, h.ReadTrace(t), 1)

	if err := p.deploy(t, chart, hangs); err == nil || !strings.Contains(err.Error(), "Deployment/web was not ready within 3s") {
		t.Errorf("the upgrade that hangs: %v", err)
	}
	expectOrder(t, p, 3, "followed, 8 nodes, interrupted, done: app/bus app/bus:queue app:cache app:settings app:store app:worker")
	p.rollback(t, 1)
	added.CheckUninstall(t, h.ReadTrace(t))

	expectRevisions(t, p, "1 superseded", "2 superseded", "3 failed", "4 deployed")
	for revision, values := range []string{plain, more, hangs, plain} {
		revision++
		if revision != 3 {
			expectOrder(t, p, revision, fmt.Sprintf("followed, %d nodes", []int{6, 8, 0, 6}[revision-1]))
		}
		if got, want := p.plan(t, revision), graphOfChart(t, h, chart, values); got != want {
			t.Errorf("the graph of revision %d is\n%s\nthat of the chart\n%s", revision, got, want)
		}
	}
	expectStored(t, h, kept, 4)

	p.uninstall(t)
	first.CheckUninstall(t, h.ReadTrace(t))
	expectRevisions(t, p)
	expectStored(t, h, kept, 0)
}

// continueWithStock checks that stock Helm can read, roll back and uninstall a release that
// was deployed in order. A rollback by stock Helm copies the progress that a failed upgrade
// recorded; Ordered Helm must not take it for the progress of the new revision.
func continueWithStock(t *testing.T, h *harness.Helm, p program, stock client, kept storedObjects) {
	t.Helper()
	chart := storedChart(t)
	harness.NoError(t, p.deploy(t, chart, plain))
	if err := p.deploy(t, chart, hangs); err == nil {
		t.Error("the upgrade that hangs succeeded")
	}
	expectOrder(t, p, 2, "followed, 8 nodes, interrupted, done: app/bus app/bus:queue app:cache app:settings app:store app:worker")
	expectRevisions(t, stock, "1 deployed", "2 failed")
	for revision := 1; revision <= 2; revision++ {
		if ours, theirs := p.manifest(t, revision), stock.manifest(t, revision); ours != theirs {
			t.Errorf("of revision %d we read\n%s\nstock Helm\n%s", revision, ours, theirs)
		}
	}
	stock.rollback(t, 2)
	expectOrder(t, p, 3, "not followed, 8 nodes")
	stock.rollback(t, 1)
	expectOrder(t, p, 4, "not followed, 6 nodes")
	expectRevisions(t, p, "1 superseded", "2 failed", "3 superseded", "4 deployed")
	if got, want := p.plan(t, 4), graphOfChart(t, h, chart, plain); got != want {
		t.Errorf("the graph of what stock Helm rolled back to is\n%s\nthat of the chart\n%s", got, want)
	}
	expectStored(t, h, kept, 4)
	stock.uninstall(t)
	expectRevisions(t, p)
	expectStored(t, h, kept, 0)
	h.ExpectEmptyNamespace(t)
}

// checkLabels checks that both programs find a release by labels that Ordered Helm has set on
// its revisions.
func checkLabels(t *testing.T, ours, stock binary) {
	t.Helper()
	chart := charts.WriteTemplate(t, charts.ConfigMap("one", "helm.sh/layer: one")+charts.ConfigMap("two", "helm.sh/depends-on/layers: one"))
	expect := func(selector, found string) {
		t.Helper()
		for _, b := range []binary{ours, stock} {
			if got := b.must(t, "list", "--all", "--short", "--selector", selector); strings.TrimSpace(got) != found {
				t.Errorf("%s finds %q by %s, want %q", b, got, selector, found)
			}
		}
	}
	ours.must(t, "install", "rel", chart, "--wait=ordered", "--labels", "team=a,tier=web")
	expect("team=a,tier=web", "rel")
	ours.must(t, "upgrade", "rel", chart, "--wait=ordered", "--labels", "team=b,tier=null")
	expect("team=b", "rel")
	expect("tier", "")
	ours.rollback(t, 1)
	expect("team=a,tier=web", "rel")
	expect("team=b", "")
	ours.uninstall(t)
}

// checkLargeRelease installs a release that is larger than a mebibyte. If limit, the expected
// text of the error, is not empty, the install must fail before anything is changed.
func checkLargeRelease(t *testing.T, ours binary, limit string) {
	t.Helper()
	random := make([]byte, 1<<20)
	_, _ = rand.Read(random) // never fails
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": charts.Metadata, "files/large": base64.StdEncoding.EncodeToString(random),
		"templates/all.yaml": charts.ConfigMap("one", "helm.sh/layer: one") + charts.ConfigMap("two", "helm.sh/depends-on/layers: one"),
	})
	err := ours.deploy(t, chart, plain)
	if limit == "" {
		harness.NoError(t, err)
		expectOrder(t, ours, 1, "followed, 2 nodes")
		expectRevisions(t, ours.stock(t), "1 deployed")
		ours.uninstall(t)
	} else {
		if err == nil || !strings.Contains(err.Error(), limit) || !strings.Contains(err.Error(), "files/large") {
			t.Errorf("got %v, want an error about the limit of a %s and files/large", err, limit)
		}
		if recorded := ours.ReadTrace(t); len(recorded["ConfigMap/one"]) > 0 {
			t.Error("something was deployed")
		}
	}
	expectRevisions(t, ours)
}

// checkConcurrentUpgrades lets two upgrades store the same revision at the same time. It
// checks that one of them succeeds, and that the other one reports the conflict and changes
// nothing.
func checkConcurrentUpgrades(t *testing.T, ours binary, url string) {
	t.Helper()
	chart := charts.WriteTemplate(t, charts.ConfigMap("one", "helm.sh/layer: one")+"data: {version: \"{{ .Values.version }}\"}\n"+
		charts.ConfigMap("two", "helm.sh/depends-on/layers: one"))
	harness.NoError(t, ours.deploy(t, chart, plain))
	db, err := sql.Open("postgres", url)
	harness.NoError(t, err)
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lock, err := db.BeginTx(ctx, nil)
	harness.NoError(t, err)
	if _, err := lock.ExecContext(ctx, "LOCK TABLE releases_v1 IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	outcomes := make(chan error, 2)
	for _, version := range []string{"2", "3"} {
		go func() { outcomes <- ours.deploy(t, chart, "version="+version) }()
	}
	for waiting := 0; waiting < 2; {
		const query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'releases_v1'::regclass"
		harness.NoError(t, lock.QueryRowContext(ctx, query).Scan(&waiting))
		time.Sleep(10 * time.Millisecond)
	}
	harness.NoError(t, lock.Commit())
	won, lost := <-outcomes, <-outcomes
	if won != nil {
		won, lost = lost, won
	}
	if won != nil || lost == nil || !strings.Contains(lost.Error(), "another operation created revision 2 of release rel in the meantime") {
		t.Errorf("one ended with %v, the other with %v", won, lost)
	}
	expectRevisions(t, ours, "1 superseded", "2 deployed")
	live, err := ours.Cluster.Client().CoreV1().ConfigMaps(ours.Namespace).Get(t.Context(), "one", metav1.GetOptions{})
	harness.NoError(t, err)
	if want := fmt.Sprintf("data: {version: %q}", live.Data["version"]); !strings.Contains(ours.manifest(t, 2), want) {
		t.Errorf("the cluster has %s, the release has not:\n%s", want, ours.manifest(t, 2))
	}
}

// graphOfChart returns the deployment graph of a chart, as `helm dag` prints it.
func graphOfChart(tb testing.TB, h *harness.Helm, chart, values string) string {
	tb.Helper()
	return h.MustRun("dag", chart, "--set", values).Stdout
}

// expectStored checks the number of Secrets and ConfigMaps that store revisions.
func expectStored(tb testing.TB, h *harness.Helm, kept storedObjects, revisions int) {
	tb.Helper()
	core, ours := h.Cluster.Client().CoreV1(), metav1.ListOptions{LabelSelector: "owner=helm"}
	secrets, err := core.Secrets(h.Namespace).List(tb.Context(), ours)
	harness.NoError(tb, err)
	configMaps, err := core.ConfigMaps(h.Namespace).List(tb.Context(), ours)
	harness.NoError(tb, err)
	wantSecrets, wantConfigMaps := kept.secrets*revisions, kept.configMaps*revisions
	if revisions > 0 {
		wantSecrets += kept.placeholders
	}
	if len(secrets.Items) != wantSecrets || len(configMaps.Items) != wantConfigMaps {
		tb.Errorf("kept are %d Secrets and %d ConfigMaps, want %d and %d", len(secrets.Items), len(configMaps.Items), wantSecrets, wantConfigMaps)
	}
}

func expectRevisions(tb testing.TB, c client, want ...string) {
	tb.Helper()
	if got := c.revisions(tb); !slices.Equal(got, want) {
		tb.Errorf("%s lists %q, want %q", c, got, want)
	}
}

func expectOrder(tb testing.TB, p program, revision int, want string) {
	tb.Helper()
	if got := p.order(tb, revision); got != want {
		tb.Errorf("the order of revision %d: got %q, want %q", revision, got, want)
	}
}
