// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// historyRow is what "helm history -o json" prints of a revision.
type historyRow struct {
	Revision       int
	Status         string
	Ordered        bool
	ReleaseVersion string
}

// historyOf returns what "helm history" prints of a release.
func historyOf(t *testing.T, h *harness.Helm, name string, args ...string) []historyRow {
	t.Helper()
	var rows []historyRow
	text := h.MustRun(append([]string{"history", name, "-o", "json"}, args...)...).Stdout
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatalf("%v in: %s", err, text)
	}
	return rows
}

const orderedChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-first, annotations: {helm.sh/layer: first}}
data: {text: {{ quote .Values.text }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-second, annotations: {helm.sh/layer: second, helm.sh/depends-on/layers: first}}
`

// TestRevisionNames selects revisions by the names of their ReleaseVersions, in every command that takes a revision.
func TestRevisionNames(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	dir := charts.WriteTemplate(t, orderedChart)
	h.MustRun("install", "rel", dir, "--set", "text=one", "--wait=ordered")
	h.MustRun("upgrade", "rel", dir, "--set", "text=two")
	h.MustRun("install", "other", dir, "--set", "text=three")
	rows := historyOf(t, h, "rel")
	if len(rows) != 2 || !rows[0].Ordered || rows[1].Ordered || rows[0].ReleaseVersion >= rows[1].ReleaseVersion {
		t.Fatalf("the history is %+v", rows)
	}
	first, second := rows[0].ReleaseVersion, rows[1].ReleaseVersion
	for _, tt := range []struct{ line, want string }{
		{"get values rel --revision", "text: one"},
		{"get manifest rel --revision", "text: \"one\""},
		{"get all rel --revision", "RELEASE VERSION: " + first},
		{"get metadata rel --revision", "ORDERED: true\nRELEASE_VERSION: " + first},
		{"get metadata rel -o json --revision", `"releaseVersion":"` + first + `"`},
		{"get notes rel --revision", ""},
		{"get hooks rel --revision", ""},
		{"get scripts rel --revision", ""},
		{"status rel --revision", "REVISION: 1\nRELEASE VERSION: " + first + "\nORDER: ordered, 2 nodes"},
		{"status rel -o json --revision", `"releaseVersion":"` + first + `"`},
		{"dag rel --revision", "second"},
		{"rollback rel --dry-run", "Rollback was a success"},
	} {
		for _, name := range []string{first, strings.ToUpper(first)} {
			harness.ExpectContains(t, h.MustRun(append(strings.Fields(tt.line), name)...).Stdout, tt.want)
		}
	}
	harness.ExpectContains(t, h.MustRun("dag", dir, "--diff", "rel", "--revision", first).Stdout, "second")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "RELEASE VERSION: "+second)
	suggested := complete(t, h, "rollback", "rel", first[:2])
	harness.ExpectContains(t, suggested, "1\tApp", "2\tApp", first+"\tApp", second+"\tApp")
	if all := complete(t, h, "status", "rel", "--revision", ""); strings.Contains(all, first) {
		t.Errorf("without a word, the names are suggested:\n%s", all)
	}

	stranger := historyOf(t, h, "other")[0].ReleaseVersion
	unknown := "7zzzzzzzzz0000000000000000"
	for _, args := range [][]string{{"rollback", "rel"}, {"get", "values", "rel", "--revision"}, {"status", "rel", "--revision"}, {"dag", "rel", "--revision"}} {
		h.ExpectFailure(t, append(args, stranger), `release "rel" has no revision `+stranger+`: it is a revision of release "other"; "helm history rel -o json" prints`)
		h.ExpectFailure(t, append(args, unknown), `release "rel" has no revision `+unknown+`: there is no such ReleaseVersion; "helm history rel -o json" prints`)
	}
	secrets := *h
	secrets.Env = append(slices.Clone(h.Env), "HELM_DRIVER=secret")
	secrets.ExpectFailure(t, []string{"rollback", "rel", first}, first+" is the name of a ReleaseVersion, but HELM_DRIVER is secret: set HELM_DRIVER=crd")

	h.MustRun("rollback", "rel", strings.ToUpper(first))
	if rows = historyOf(t, h, "rel"); len(rows) != 3 || !rows[2].Ordered {
		t.Errorf("after the rollback, the history is %+v", rows)
	}
	harness.ExpectContains(t, h.MustRun("get", "values", "rel").Stdout, "text: one")
}

// complete returns what shell completion suggests for the last argument.
func complete(t *testing.T, h *harness.Helm, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), binaries.Get(t).Helm, append([]string{"__complete", "--namespace", h.Namespace}, args...)...)
	command.Env = h.Env
	out, err := command.Output()
	harness.NoError(t, err)
	return string(out)
}

// TestReadsWithoutPayload reads a release with 200 revisions, with an account that must not read Secrets and with one
// that can, and checks that no command reads more Secrets than it needs.
func TestReadsWithoutPayload(t *testing.T) {
	t.Parallel()
	h := withObjects(t)
	const revisions = 200
	d := newDriver(h)
	for i := 1; i <= revisions; i++ {
		rel := newRelease(h, i)
		rel.Info.Status, rel.Config = release.StatusSuperseded, map[string]any{"text": fmt.Sprintf("value %d", i)}
		if i == revisions {
			rel.Info.Status, rel.Info.Notes = release.StatusDeployed, "the notes"
		}
		harness.NoError(t, d.Create(key(i), rel))
	}
	viewer := h.CreateServiceAccount(t, "viewer", []rbacv1.PolicyRule{{APIGroups: []string{"helm.sh"}, Resources: []string{"releases", "releaseversions"}, Verbs: []string{"get", "list"}}})
	for _, tt := range []struct {
		line, want string
		secrets    int
	}{
		{line: "list", want: "rel"},
		{line: "list -o json", want: `"revision":"200"`},
		{line: "history rel", want: "200"},
		{line: "history rel --max 3 -o json", want: `"revision":198`},
		{line: "status rel", want: "the notes", secrets: 1},
		{line: "get values rel", want: "value 200", secrets: 1},
		{line: "get metadata rel", want: "REVISION: 200", secrets: 1},
		{line: "get notes rel --revision 7", secrets: 1},
	} {
		args := strings.Fields(tt.line)
		read := secretsRead(t, h, func() { harness.ExpectContains(t, h.MustRun(args...).Stdout, tt.want) })
		if len(read) != tt.secrets {
			t.Errorf("helm %s has sent the requests %q for Secrets, want %d", tt.line, read, tt.secrets)
		}
		if asViewer := h.Run(append(viewer, args...)...); tt.secrets == 0 && asViewer.ExitCode != 0 {
			t.Errorf("helm %s fails without the permission to read Secrets: %s", tt.line, asViewer.Stderr)
		}
	}
	for _, args := range [][]string{{"rollback", "rel", ""}, {"status", "rel", "--revision", ""}} {
		if read := secretsRead(t, h, func() { harness.ExpectContains(t, complete(t, h, args...), "200\tApp: , Chart: app-0.1.0") }); len(read) > 0 {
			t.Errorf("the completion of helm %q has sent the requests %q", args, read)
		}
	}
	seen := h.MustRun(append(viewer, "status", "rel")...)
	harness.ExpectContains(t, seen.Stdout, "STATUS: deployed\nREVISION: 200\n")
	harness.ExpectContains(t, seen.Stderr, "WARNING: the notes, the tests and the order of the release are not printed: cannot read Secret")
	h.ExpectFailure(t, append(viewer, "get", "values", "rel"), "cannot read Secret")
	if rows := historyOf(t, h, "rel"); len(rows) != revisions || rows[0].Revision != 1 || rows[revisions-1].Status != "deployed" {
		t.Errorf("the history has %d revisions: %+v", len(rows), rows)
	}
}

// secretsRead returns the requests for Secrets that helm sends while run is called.
func secretsRead(t *testing.T, h *harness.Helm, run func()) []string {
	t.Helper()
	mark := h.Cluster.AuditMark(t)
	run()
	var requests []string
	h.Cluster.AuditAfter(t, mark, func(e cluster.Event) {
		if e.Resource == "secrets" && e.Namespace == h.Namespace && e.Stage == cluster.StageComplete && strings.HasPrefix(e.UserAgent, "Helm/") {
			requests = append(requests, e.Verb+" "+e.Name)
		}
	})
	return requests
}
