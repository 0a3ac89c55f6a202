// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"slices"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// nextVersion describes how a chart of TestLifecycleOrder changes for its upgrade.
type nextVersion struct {
	// edit changes the files of the chart. args are the arguments for other values.
	edit func(tb testing.TB, dir string)
	args []string
	// gone contains the objects that the upgrade deletes, added those that it creates. changed
	// contains some of the objects that it changes, which must not be recreated.
	gone, added, changed []string
	// pairs is the minimum number of pairs of objects with an order whose later object the
	// upgrade writes; the same number applies to the rollback. removed is the minimum number
	// of pairs with an order of which the upgrade deletes both objects.
	pairs, removed int
}

func nextVersions() map[string]nextVersion {
	return map[string]nextVersion{
		"shop": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.RemoveFile(tb, dir, "templates/cache.yaml")
				charts.Edit(tb, dir, "templates/api.yaml", "migrations, cache, queue", "migrations, mail")
				charts.Edit(tb, dir, "templates/queue.yaml", "helm.sh/layer: queue", "helm.sh/layer: database")
				charts.Edit(tb, dir, "templates/web.yaml", "helm.sh/layer: web", "helm.sh/layer: settings", "layers: api", `layers: "api, settings"`)
				charts.AddFile(tb, dir, "templates/mail.yaml", charts.Object{Name: "mail", Layer: "mail", DependsOn: "queue"}.Manifest()+
					charts.Object{Kind: "Deployment", Name: "mailer", Layer: "mail", Annotations: charts.LongTimeout}.Manifest())
			},
			args:  []string{"--set", "images.database=postgres:18,images.queue=nats:3,images.api=python:4,images.web=nginx:2,database.password=other"},
			gone:  []string{"ConfigMap/rel-cache", "Service/rel-cache", "Deployment/rel-cache"},
			added: []string{"ConfigMap/mail", "Deployment/mailer"},
			changed: []string{
				"Secret/rel-database", "StatefulSet/rel-database", "Service/rel-queue", "StatefulSet/rel-queue",
				"Deployment/rel-api", "ConfigMap/rel-web", "Deployment/rel-web",
			},
			pairs: 25,
		},
		"guestbook": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.Edit(tb, dir, "templates/web.yaml", "layers: fill", `layers: "fill, counter"`)
				charts.AddFile(tb, dir, "templates/counter.yaml", charts.Object{Kind: "Deployment", Name: "counter", Layer: "counter", DependsOn: "fill", Annotations: charts.LongTimeout}.Manifest())
			},
			args:    []string{"--no-hooks", "--set", "images.web=nginx:2,title=Guests"},
			added:   []string{"Deployment/counter"},
			changed: []string{"ConfigMap/rel-web", "Deployment/rel-web"},
			pairs:   5,
		},
		"umbrella": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.RemoveFile(tb, dir, "charts/platform/templates/queue.yaml")
				charts.RemoveFile(tb, dir, "charts/backend/templates/worker.yaml")
				charts.Edit(tb, dir, "charts/frontend/templates/settings.yaml", "kind: ServiceAccount", "kind: ServiceAccount\n# moved",
					"helm.sh/layer: settings\nautomountServiceAccountToken: false", "helm.sh/layer: accounts\nautomountServiceAccountToken: false")
				charts.Edit(tb, dir, "charts/frontend/templates/web.yaml", "layers: settings", `layers: "settings, accounts"`)
				charts.AddFile(tb, dir, "charts/backend/templates/audit.yaml",
					charts.Object{Kind: "Deployment", Name: "audit", Layer: "audit", DependsOn: "api", Annotations: charts.LongTimeout}.Manifest())
			},
			args:  []string{"--set", "platform.images.database=postgres:18,backend.images.api=python:4,frontend.images.web=nginx:2,host=other.example.com"},
			gone:  []string{"Service/rel-queue", "Deployment/rel-queue", "Deployment/rel-worker", "Job/rel-check-1"},
			added: []string{"Deployment/audit", "Job/rel-check-2"},
			changed: []string{
				"StatefulSet/rel-database", "Deployment/rel-api", "ServiceAccount/rel-web", "Deployment/rel-web",
				"Ingress/rel-entry", "ConfigMap/rel-about",
			},
			pairs: 40, removed: 2,
		},
		"proposal-layers": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.Edit(tb, dir, "templates/resources.yaml", "layer: database", "layer: storage", "valkey:8.1", "valkey:9", "database, queue", "storage, cache",
					"nginx:1.29", "nginx:2", "name: queue-processor", "name: cache", "layer: queue", "layer: cache",
					"app: queue-processor", "app: cache", "app: queue-processor", "app: cache")
			},
			gone:    []string{"Deployment/queue-processor"},
			added:   []string{"Deployment/cache"},
			changed: []string{"Deployment/db-service", "Deployment/my-app"},
			pairs:   2,
		},
		"proposal-subcharts": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.Edit(tb, dir, "charts/nginx/templates/nginx.yaml", "nginx:1.29", "nginx:2")
				charts.Edit(tb, dir, "charts/rabbitmq/templates/rabbitmq.yaml", "rabbitmq:4.1", "rabbitmq:5", "port: 5672", "port: 5673")
				charts.Edit(tb, dir, "templates/foo.yaml", "nginx:1.29", "nginx:2")
			},
			args:    []string{"--set", "bar.enabled=false"},
			gone:    []string{"Deployment/rel-bar"},
			changed: []string{"Deployment/rel-nginx", "Service/rel-rabbitmq", "StatefulSet/rel-rabbitmq", "Deployment/rel-foo"},
			pairs:   2,
		},
		"keycloak": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.Edit(tb, dir, "templates/own.yaml", "layer: app", "layer: front", "layers: [settings]", "layers: [settings, cache]", "image: app", "image: app:2")
				charts.AddFile(tb, dir, "templates/cache.yaml", charts.Object{Kind: "Deployment", Name: "cache", Layer: "cache", Annotations: charts.LongTimeout}.Manifest())
			},
			args: []string{"--set", "keycloak.podAnnotations.rev=b,keycloak.postgresql.primary.podAnnotations.rev=b," +
				"keycloak.pdb.create=false,keycloak.networkPolicy.enabled=false"},
			gone:    []string{"NetworkPolicy/rel-keycloak", "PodDisruptionBudget/rel-keycloak"},
			added:   []string{"Deployment/cache"},
			changed: []string{"StatefulSet/rel-keycloak", "StatefulSet/rel-postgresql", "Deployment/app"},
			pairs:   15,
		},
		"nginx and rabbitmq": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.Edit(tb, dir, "templates/own.yaml", "  name: site", "  name: site\ndata: {a: b}")
			},
			args: []string{"--set", "nginx.podAnnotations.rev=b,rabbitmq.podAnnotations.rev=b,nginx.pdb.create=false,rabbitmq.pdb.create=false"},
			gone: []string{"PodDisruptionBudget/rel-nginx", "PodDisruptionBudget/rel-rabbitmq"},
			changed: []string{
				"Deployment/rel-nginx", "StatefulSet/rel-rabbitmq", "ConfigMap/site",
			},
			pairs: 10, removed: 1,
		},
		"postgresql and redis": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.Edit(tb, dir, "templates/own.yaml", `value: "1"`, `value: "2"`)
			},
			args:    []string{"--set", "postgresql.primary.podAnnotations.rev=b,redis.master.podAnnotations.rev=b,postgresql.primary.pdb.create=false,redis.networkPolicy.enabled=false"},
			gone:    []string{"PodDisruptionBudget/rel-postgresql", "NetworkPolicy/rel-redis"},
			changed: []string{"StatefulSet/rel-postgresql", "StatefulSet/rel-redis-master", "Deployment/app"},
			pairs:   10,
		},
		"kube-prometheus-stack": {
			edit: func(tb testing.TB, dir string) {
				tb.Helper()
				charts.Edit(tb, dir, "templates/own.yaml", `value: "1"`, `value: "2"`)
			},
			args: []string{"--set", "kube-prometheus-stack.kube-state-metrics.podAnnotations.rev=b,kube-prometheus-stack.nodeExporter.enabled=false,kube-prometheus-stack.alertmanager.enabled=false"},
			gone: []string{
				"DaemonSet/rel-prometheus-node-exporter", "Secret/alertmanager-rel-kube-prometheus-stack-alertmanager",
				"Service/rel-kube-prometheus-stack-alertmanager", "Service/rel-prometheus-node-exporter",
				"ServiceAccount/rel-kube-prometheus-stack-alertmanager", "ServiceAccount/rel-prometheus-node-exporter",
			},
			changed: []string{"Deployment/rel-kube-state-metrics", "Deployment/app"},
			pairs:   8,
		},
	}
}

// TestLifecycleOrder installs, upgrades, rolls back and uninstalls charts, and checks the
// order of each operation with the audit log: nothing is created or changed before all its
// dependencies are ready in their new version, and resources that are no longer in the
// chart are deleted at the end, in the reverse of the old order.
func TestLifecycleOrder(t *testing.T) {
	t.Parallel()
	versions := nextVersions()
	for _, tt := range orderCases() {
		next, known := versions[tt.name]
		if !known {
			t.Errorf("no next version of %s", tt.name)
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			l := &orderRun{Helm: h, orderCase: tt, nextVersion: next}
			chart := tt.chart(t)
			changed := charts.Copy(t, chart)
			next.edit(t, changed)
			ordered := []string{"--wait=ordered", "--wait-for-jobs", "--readiness-timeout", "2m", "--timeout", "4m"}

			first := l.runOperation(t, nil, append([]string{"install", "rel", chart}, ordered...)...)
			second := l.runOperation(t, first, append(append([]string{"upgrade", "rel", changed}, ordered...), next.args...)...)
			l.checkOrder(t, next.gone, next.added)
			third := l.runOperation(t, second, "rollback", "rel", "1", "--wait-for-jobs", "--readiness-timeout", "2m", "--timeout", "4m")
			l.checkOrder(t, next.added, next.gone)

			from := harness.Now()
			h.MustRun("uninstall", "rel", "--timeout", "2m")
			third.CheckDeletions(t, h.ReadTrace(t).Since(from), func(harness.OrderedObject) bool { return true })
			h.ExpectObjects(t, "rel")
			if list := h.MustRun("list", "--all", "--short").Stdout; list != "" {
				t.Errorf("after the uninstall there is still %s", list)
			}
		})
	}
}

// orderRun is the state of a release in TestLifecycleOrder.
type orderRun struct {
	*harness.Helm
	orderCase
	nextVersion
	from     time.Time
	recorded harness.Trace
}

// runOperation runs an operation that creates a revision, and checks that its writes follow
// the order of the new revision and its deletions the order of the previous one, which is
// before. It returns the order of the new revision.
func (l *orderRun) runOperation(tb testing.TB, before *harness.Order, args ...string) *harness.Order {
	tb.Helper()
	l.from = harness.Now()
	l.MustRun(args...)
	l.recorded = l.ReadTrace(tb)
	after := &harness.Order{SubtreeAfter: l.subtreeAfter, OwnAfter: l.ownAfter, IgnoredKinds: l.ignoredKinds}
	after.AddManifest(tb, l.LastRevision(tb, "rel").Manifest)
	least := l.pairs
	if before == nil {
		least = l.edges
	}
	if pairs := after.CheckChanges(tb, l.recorded, l.from); pairs < least {
		tb.Errorf("%s: only %d pairs of objects had an order, want at least %d: the proof is empty", args[0], pairs, least)
	}
	if before != nil {
		l.checkUninstall(tb, before, after, args[0] == "upgrade")
	}
	l.ExpectObjects(tb, "rel", harness.ObjectIDs(after.Objects)...)
	return after
}

// checkUninstall checks that objects that only the previous revision contains were deleted in
// reverse order, after all objects of the new revision were ready.
func (l *orderRun) checkUninstall(tb testing.TB, before, after *harness.Order, first bool) {
	tb.Helper()
	remaining := harness.ObjectIDs(after.Objects)
	isGone := func(o harness.OrderedObject) bool { return !slices.Contains(remaining, o.String()) }
	late := l.recorded.Since(l.from)
	if pairs := before.CheckDeletions(tb, late, isGone); first && pairs < l.removed {
		tb.Errorf("only %d pairs of deleted objects had an order, want at least %d: the proof is empty", pairs, l.removed)
	}
	for _, o := range before.Objects {
		if !isGone(o) {
			continue
		}
		deleted, _ := late.Deleted(o.String())
		for _, n := range after.Objects {
			if why := l.recorded.NotReadyReason(n, deleted); why != "" {
				tb.Errorf("%s was deleted at %s, though %s %s", o, deleted, n, why)
			}
		}
	}
}

// checkOrder checks that the operation deleted the objects in gone, created those in added,
// and did not recreate others.
func (l *orderRun) checkOrder(tb testing.TB, gone, added []string) {
	tb.Helper()
	late := l.recorded.Since(l.from)
	for _, want := range []struct {
		what string
		list []string
		got  []string
	}{{"deleted", gone, late.WrittenByHelm("delete")}, {"created", added, late.WrittenByHelm("create")}} {
		slices.Sort(want.list)
		if !slices.Equal(want.got, want.list) {
			tb.Errorf("%s were %q, want %q", want.what, want.got, want.list)
		}
	}
	got := late.WrittenByHelm("patch", "update")
	for _, id := range l.changed {
		if !slices.Contains(got, id) {
			tb.Errorf("%s was not changed, only %q", id, got)
		}
	}
}
