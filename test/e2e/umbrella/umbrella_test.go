// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package umbrella

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/harness"
)

const (
	// defaultKills is the number of operations that TestKilledUmbrella kills, unless harness.KillsEnv is set.
	defaultKills = 4
	// killWindow is about the time that an operation takes on an idle machine.
	killWindow = 3 * time.Second
)

// order puts the charts in order and the hooks of Keycloak and of its database in their places.
const order = `apiVersion: helm.sh/v1alpha1
kind: Order
charts:
- path: keycloak/postgresql
  hookScope: chart
- path: keycloak
  ownDependsOn: [postgresql]
  hookScope: chart
- path: nginx
  dependsOn: [keycloak, rabbitmq]
resources:
- match: {chart: rabbitmq}
  layer: config
- match: {chart: rabbitmq, kind: StatefulSet}
  layer: broker
  dependsOn: [config]
`

// writeUmbrella writes a chart with the public charts of Keycloak (with PostgreSQL), RabbitMQ and nginx as
// dependencies, none of which declares an order. It skips the test if they are not there.
func writeUmbrella(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	harness.NoError(t, os.Mkdir(filepath.Join(dir, "charts"), 0o700))
	var dependencies strings.Builder
	for _, name := range []string{"keycloak", "rabbitmq", "nginx"} {
		archive := harness.PublicChart(t, name+"-*.tgz")
		content, err := os.ReadFile(archive)
		harness.NoError(t, err)
		harness.NoError(t, os.WriteFile(filepath.Join(dir, "charts", filepath.Base(archive)), content, 0o600))
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), name+"-"), ".tgz")
		fmt.Fprintf(&dependencies, "- name: %s\n  version: %s\n", name, version)
	}
	harness.NoError(t, os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies:\n"+dependencies.String()), 0o600))
	harness.NoError(t, os.WriteFile(filepath.Join(dir, "order.yaml"), []byte(order), 0o600))
	return dir
}

// flags returns the flags for a revision, whose number changes all workloads.
func flags(dir string, revision int) []string {
	value := fmt.Sprint("v", revision)
	return []string{
		"rel", dir, "--wait=ordered", "--timeout", "2m", "--set", strings.Join([]string{
			"global.security.allowInsecureImages=true",
			"keycloak.keycloakConfigCli.enabled=true,keycloak.auth.adminPassword=a,keycloak.podLabels.revision=" + value,
			"keycloak.postgresql.auth.password=p,keycloak.postgresql.auth.postgresPassword=p,keycloak.postgresql.primary.persistence.enabled=false",
			"keycloak.postgresql.primary.podLabels.revision=" + value,
			"keycloak.postgresql.passwordUpdateJob.enabled=true",
			"rabbitmq.auth.password=p,rabbitmq.auth.erlangCookie=c,rabbitmq.persistence.enabled=false,rabbitmq.podLabels.revision=" + value,
			"nginx.podLabels.revision=" + value,
		}, ","),
	}
}

const (
	database    = "StatefulSet/rel-postgresql"
	keycloak    = "StatefulSet/rel-keycloak"
	configure   = "Job/rel-keycloak-keycloak-config-cli"
	setPassword = "Job/rel-postgresql-password-update" //nolint:gosec // the name of a Job
	broker      = "StatefulSet/rel-rabbitmq"
	web         = "Deployment/rel-nginx"
)

// chains returns the objects that an operation must write one after the other, each after the one before it was ready.
func chains(operation string) [][]string {
	all := [][]string{{database, keycloak, configure, web}, {"Secret/rel-rabbitmq", broker, web}}
	if operation == "upgrade" {
		all = append(all, []string{setPassword, database})
	}
	return all
}

// expectOrder checks the order of the writes since h.Started.
func expectOrder(t *testing.T, h *harness.Helm, operation string) {
	t.Helper()
	recorded := h.ReadTrace(t).Since(h.Started)
	for _, chain := range chains(operation) {
		for i, id := range chain {
			writes := recorded.HelmWrites(id, harness.ChangeVerbs...)
			switch {
			case len(writes) == 0 && strings.HasPrefix(id, "Secret/"): // it did not change
			case len(writes) == 0:
				t.Errorf("%s: %s was not written", operation, id)
			case i > 0 && !strings.HasPrefix(chain[i-1], "Secret/"):
				if ready := recorded.Ready(chain[i-1]); ready.IsZero() || writes[0].Received.Before(ready) {
					t.Errorf("%s: %s was written at %s, but %s was ready at %s", operation, id, writes[0].Received, chain[i-1], ready)
				}
			}
		}
	}
}

// TestUmbrella installs, upgrades, rolls back and uninstalls an umbrella chart of public charts.
//   - "An order file declares the order of charts that you do not want to edit"
//   - "ownDependsOn | subcharts of the chart that must be ready before its own resources"
func TestUmbrella(t *testing.T) {
	t.Parallel()
	dir := writeUmbrella(t)
	h := harness.New(t)
	for _, operation := range []struct {
		name string
		args []string
	}{
		{"install", append([]string{"install"}, flags(dir, 1)...)},
		{"upgrade", append([]string{"upgrade"}, flags(dir, 2)...)},
		{"rollback", []string{"rollback", "rel", "1"}},
	} {
		h.Started = harness.Now()
		h.MustRun(operation.args...)
		expectOrder(t, h, operation.name)
	}
	h.Started = harness.Now()
	h.MustRun("uninstall", "rel")
	recorded := h.ReadTrace(t).Since(h.Started)
	for _, pair := range [][2]string{{web, keycloak}, {web, broker}, {keycloak, database}} {
		_, gone := recorded.Deleted(pair[0])
		if deleted, _ := recorded.Deleted(pair[1]); gone.IsZero() || deleted.Before(gone) {
			t.Errorf("%s was deleted at %s, but %s was gone at %s", pair[1], deleted, pair[0], gone)
		}
	}
	expectNothingLeft(t, h)
}

// expectNothingLeft checks that no object of the release is left.
func expectNothingLeft(t *testing.T, h *harness.Helm) {
	t.Helper()
	for _, kind := range []string{"v1/Secret", "v1/ConfigMap", "v1/Service", "v1/ServiceAccount", "apps/v1/StatefulSet", "apps/v1/Deployment", "batch/v1/Job", "networking.k8s.io/v1/NetworkPolicy", "policy/v1/PodDisruptionBudget"} {
		at := strings.LastIndexByte(kind, '/')
		list, err := h.Resource(kind[:at], kind[at+1:]).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=rel"})
		harness.NoError(t, err)
		for _, o := range list.Items {
			if o.GetDeletionTimestamp() == nil {
				t.Errorf("%s/%s is left", o.GetKind(), o.GetName())
			}
		}
	}
}

// TestKilledUmbrella kills operations at random moments. It checks that an upgrade repairs the release, in order, and that an
// uninstall then leaves nothing.
func TestKilledUmbrella(t *testing.T) {
	t.Parallel()
	dir := writeUmbrella(t)
	seed := harness.NewSeed(t)
	for i := range harness.CountFromEnv(t, harness.KillsEnv, defaultKills) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random, h := rand.New(rand.NewPCG(seed, i)), harness.New(t) //nolint:gosec // the test must be repeatable
			operations := [][]string{
				append([]string{"install"}, flags(dir, 1)...), append([]string{"upgrade"}, flags(dir, 2)...), {"rollback", "rel", "1"}, {"uninstall", "rel"},
			}
			for n, args := range operations[:i%4] {
				if n < 2 || i%4 != 3 { // an uninstall needs no rollback before
					h.MustRun(args...)
				}
			}
			after := time.Duration(random.Int64N(int64(killWindow)))
			p := h.Start(t, operations[i%4]...)
			timer := time.AfterFunc(after, p.Kill)
			r := p.Wait(t)
			timer.Stop()
			t.Logf("%s, killed after %s, exit code %d", operations[i%4][0], after, r.ExitCode)
			h.Started = harness.Now()
			h.MustRun(append([]string{"upgrade", "--install"}, flags(dir, 3)...)...)
			recorded := h.ReadTrace(t).Since(h.Started)
			for _, id := range []string{database, keycloak, broker, web} {
				if h.Get(t, id) == nil || recorded.Ready(id).IsZero() {
					t.Errorf("%s is not ready", id)
				}
			}
			for _, pair := range [][2]string{{database, keycloak}, {keycloak, web}, {broker, web}} {
				writes := recorded.HelmWrites(pair[1], harness.ChangeVerbs...)
				if len(writes) == 0 || writes[0].Received.Before(recorded.Ready(pair[0])) {
					t.Errorf("%s was written before %s was ready, or not at all", pair[1], pair[0])
				}
			}
			h.MustRun("uninstall", "rel")
			expectNothingLeft(t, h)
		})
	}
}
