// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// plantedSecrets contains unique values that must not occur in any output, by the place, such
// as a Secret or the kubeconfig, into which the test has put them.
type plantedSecrets map[string]string

// plant returns a new value for a place. The value contains random letters and digits, by
// which check finds it, and characters that are escaped when they are quoted.
func (p plantedSecrets) plant(tb testing.TB, where string) string {
	tb.Helper()
	core := make([]byte, 10)
	if _, err := rand.Read(core); err != nil {
		tb.Fatal(err)
	}
	p[where] = hex.EncodeToString(core)
	return p[where]
}

// check fails the test if a text contains one of the values, as plain text or within text
// encoded in base64.
func (p plantedSecrets) check(tb testing.TB, what, text string) {
	tb.Helper()
	for where, core := range p {
		forms := []string{core}
		for before := range 3 {
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + core))
			forms = append(forms, encoded[4:len(encoded)-4]) // the part that does not depend on the surrounding text
		}
		for _, form := range forms {
			if at := strings.Index(text, form); at >= 0 {
				tb.Errorf("%s tells what is planted in %s:\n…%s…", what, where, text[max(0, at-600):min(len(text), at+len(form)+200)])
				break
			}
		}
	}
}

// plantedChart is a template of Secrets of every type, and of objects that fail in many ways.
const plantedChart = `---
apiVersion: v1
kind: Secret
metadata: {name: settings, annotations: {helm.sh/layer: settings}}
data:
  given: {{ .Values.given | b64enc }}
stringData:
  file: {{ .Values.file | quote }}
  old: {{ .Values.old | quote }}
  lines: {{ printf "first\n%s\nlast" .Values.lines | quote }}
{{- if .Values.number }}
  number: [{{ .Values.file | quote }}]
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, annotations: {helm.sh/layer: settings}{{ if .Values.label }}, labels: {l: {{ printf "%s/%s" .Values.given .Values.file | quote }}}{{ end }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {helm.sh/layer: web, helm.sh/depends-on/layers: settings, helm.sh/readiness-timeout: {{ .Values.within }}}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations:
        devcluster/pod: {{ .Values.pod }}
        devcluster/log: {{ printf "connecting with %s and %s (%s) to %s %q" .Values.given .Values.file .Values.lines (b64enc (printf "user:%s" .Values.given)) .Values.old | quote }}
    spec:
      containers:
      - name: c
        image: "i:{{ .Values.image }}"
        env:
        - {name: FROM_SECRET, valueFrom: {secretKeyRef: {name: settings, key: given}}}
        - {name: COPIED, value: {{ .Values.given | quote }}}
---
apiVersion: v1
kind: Secret
metadata: {name: of-hooks, annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-rollback,pre-delete,test", helm.sh/hook-weight: "-5"}}
stringData: {hook: {{ .Values.hook | quote }}}
{{- range $event := list "pre-upgrade" "pre-rollback" "pre-delete" "test" }}
---
apiVersion: v1
kind: Pod
metadata:
  name: {{ $event }}
  annotations:
    helm.sh/hook: {{ $event }}
    devcluster/pod: {{ if has $event $.Values.failing }}fail{{ else }}complete{{ end }}
    devcluster/log: {{ printf "migrating with %s and %s" $.Values.hook $.Values.given | quote }}
spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
{{- end }}
`

// TestPlantedSecrets puts values into everything that contains secrets (Secrets, hooks,
// values, the kubeconfig), makes operations fail in many ways, and checks that no output
// contains a value.
func TestPlantedSecrets(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]string{"in order": "--wait=ordered", "at once": "--wait=false", "plain wait": "--wait"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, p := harness.New(t), plantedSecrets{}
			useToken(t, h, p)
			chart := charts.WriteFiles(t, map[string]string{
				"Chart.yaml": charts.Metadata, "templates/all.yaml": plantedChart,
				"values.yaml": "replicas: 1\npod: ready\nimage: one\nwithin: 20s\nfailing: []\nnumber: false\nlabel: false\n",
			})
			values := filepath.Join(t.TempDir(), "values.yaml")
			text := "file: 'q\"" + p.plant(t, "a file of values") + "<&>\\'\nlines: " + p.plant(t, "one of several lines") + "\n"
			harness.NoError(t, os.WriteFile(values, []byte(text), 0o600))
			given, old, hook := p.plant(t, "--set"), p.plant(t, "an old revision"), p.plant(t, "the Secret of a hook")
			with := func(old string, more ...string) []string {
				return append([]string{"rel", chart, "-f", values, "--set", "given=" + given, "--set", "hook=" + hook, "--set", "old=" + old, "--timeout", "20s"}, more...)
			}
			upgrade := func(more ...string) []string {
				return append(append([]string{"upgrade"}, with(p["a new revision"], more...)...), wait)
			}
			p.plant(t, "a new revision")
			unordered := wait != "--wait=ordered" // it then has no graph
			crash := "pod=crash-loop,image=two,within=2s"
			for i, step := range []struct {
				args  []string
				fails bool
			}{
				{append(append([]string{"install"}, with(old, "--set", "label=true")...), wait), true},
				{[]string{"uninstall", "rel", "--no-hooks"}, false},
				{append(append([]string{"install"}, with(old, "--atomic", "--set", "label=true")...), "--wait"), true},
				{append(append([]string{"install"}, with(old)...), wait), false},
				{upgrade("--set", "label=true"), true},
				{upgrade("--set", "number=true"), true},
				{upgrade("--set", "number=true", "--disable-openapi-validation", "--force"), true},
				{upgrade("--set", "replicas=many", "--disable-openapi-validation"), true},
				{upgrade("--set", "failing={pre-upgrade}"), true},
				{upgrade("--set", "label=true", "--atomic"), true},
				{upgrade("--set", crash, "--timeout", "4s"), wait != "--wait=false"},
				{upgrade("--set", crash, "--timeout", "4s", "--cleanup-on-fail"), wait != "--wait=false"},
				{[]string{"status", "rel"}, false},
				{[]string{"history", "rel"}, false},
				{[]string{"history", "rel", "-o", "json"}, false},
				{[]string{"list", "--all"}, false},
				{[]string{"get", "metadata", "rel"}, false},
				{[]string{"dag", "rel"}, unordered},
				{[]string{"dag", "rel", "-o", "json"}, unordered},
				{[]string{"dag", "rel", "-o", "dot"}, unordered},
				{[]string{"dag", "rel", "-o", "mermaid"}, unordered},
				{[]string{"dag", "rel", "-o", "svg"}, unordered},
				{append([]string{"plan"}, with("another-value", "--set", "label=true", wait)...), true},
				{append([]string{"plan"}, with("another-value", "-o", "json", "--set", "number=true", wait)...), true},
				{upgrade("--set", "failing={pre-rollback,pre-delete,test}"), false},
				{upgrade("--set", "failing={pre-rollback,pre-delete,test}", "--set", "image=three"), false},
				{[]string{"test", "rel"}, true},
				{[]string{"rollback", "rel"}, true},
				{[]string{"uninstall", "rel"}, true},
				{[]string{"uninstall", "rel", "--no-hooks"}, false},
			} {
				p.run(t, h, i, step.args, step.fails)
			}
			p.checkEvents(t, h)
		})
	}
}

// verboseFlags contains sets of flags that make an operation print more.
var verboseFlags = [][]string{
	{"--debug", "-v=10", "--progress=json"}, {"-v=8", "--progress=plain"}, {"-v=9", "--progress=tty"}, {"--debug", "-v=9", "--progress=none", "--qps=50"},
}

// run runs helm with one of the sets in verboseFlags, which turn selects, and checks the
// output.
func (p plantedSecrets) run(tb testing.TB, h *harness.Helm, turn int, args []string, fails bool) {
	tb.Helper()
	flags, file := slices.Clone(verboseFlags[turn%len(verboseFlags)]), filepath.Join(tb.TempDir(), []string{"timeline.html", "timeline.json"}[turn/len(verboseFlags)%2])
	changes := []string{"install", "upgrade", "rollback", "uninstall", "test"}
	if slices.Contains(changes, args[0]) {
		flags = append(flags, "--timeline", file)
	} else {
		flags = slices.DeleteFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--progress") })
	}
	what := "helm " + strings.Join(args, " ") + " " + strings.Join(flags, " ")
	var r harness.Result
	if slices.Contains(flags, "--progress=tty") {
		r = runInTerminal(tb, h, append(slices.Clone(args), flags...)...)
	} else {
		r = h.Run(append(slices.Clone(args), flags...)...)
	}
	if (r.ExitCode != 0) != fails {
		tb.Errorf("%s: exit code %d\n%s", what, r.ExitCode, r.Stderr[max(0, len(r.Stderr)-3000):])
	}
	if !slices.Contains(flags, "--debug") || !slices.Contains(changes, args[0]) && args[0] != "status" {
		p.check(tb, what, r.Stdout)
	}
	p.check(tb, what, r.Stderr)
	if text, err := os.ReadFile(file); err == nil {
		p.check(tb, what+": the timeline", string(text))
	}
	stored, err := h.Storage().ListReleases()
	harness.NoError(tb, err)
	for _, rel := range stored {
		p.check(tb, what+": the description", storedText(rel))
	}
}

// runInTerminal runs helm in a terminal, and returns its complete output.
func runInTerminal(tb testing.TB, h *harness.Helm, args ...string) harness.Result {
	tb.Helper()
	if _, err := exec.LookPath("script"); err != nil {
		return h.Run(slices.DeleteFunc(args, func(arg string) bool { return arg == "--progress=tty" })...)
	}
	line := harness.ShellQuote(binaries.Get(tb).Helm)
	for _, arg := range append(args, "--namespace", h.Namespace) {
		line += " " + harness.ShellQuote(arg)
	}
	cmd := exec.CommandContext(tb.Context(), "script", "-q", "-e", "-c", line, os.DevNull)
	cmd.Env = append(slices.Clone(h.Env), "TERM=xterm", "SHELL=/bin/sh")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		tb.Fatal(err)
	}
	return harness.Result{Stderr: out.String(), ExitCode: cmd.ProcessState.ExitCode()}
}

// useToken makes helm act as a service account, and adds the token of the account to p.
func useToken(tb testing.TB, h *harness.Helm, p plantedSecrets) {
	tb.Helper()
	h.CreateServiceAccount(tb, "operator", []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}})
	answer, err := h.Cluster.Client().CoreV1().ServiceAccounts(h.Namespace).
		CreateToken(tb.Context(), "operator", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	harness.NoError(tb, err)
	token := answer.Status.Token
	p["the token of the kubeconfig"] = token[len(token)-40:] // its signature
	config, err := clientcmd.LoadFromFile(h.Cluster.Kubeconfig())
	harness.NoError(tb, err)
	for _, user := range config.AuthInfos {
		*user = clientcmdapi.AuthInfo{Token: token}
	}
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	harness.NoError(tb, clientcmd.WriteToFile(*config, path))
	h.Env = append(h.Env, "KUBECONFIG="+path)
}

// checkEvents checks the Kubernetes events in the namespace.
func (p plantedSecrets) checkEvents(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	events, err := h.Cluster.Client().CoreV1().Events(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	harness.NoError(tb, err)
	for _, e := range events.Items {
		p.check(tb, "an event", e.Message+" "+e.Reason)
	}
}

// TestPlantedPasswords checks that the passwords of repositories and registries are not
// printed if the server rejects them.
func TestPlantedPasswords(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, given := r.BasicAuth(); !given {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
		}
		http.Error(w, "this account may not", http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	host := strings.TrimPrefix(refusing.URL, "http://")
	h, p := harness.New(t), plantedSecrets{}
	password := p.plant(t, "a password")
	login := []string{"--username", "user", "--password", password, "--debug", "-v=9"}
	for _, args := range [][]string{
		{"repo", "add", "charts", refusing.URL},
		{"pull", "app", "--repo", refusing.URL},
		{"install", "rel", "app", "--repo", refusing.URL, "--wait=ordered"},
		{"upgrade", "rel", "app", "--install", "--repo", refusing.URL},
		{"registry", "login", host, "--plain-http"},
		{"pull", "oci://" + host + "/app", "--plain-http"},
		{"install", "rel", "oci://" + host + "/app", "--plain-http"},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			t.Parallel()
			r := h.ExpectFailure(t, append(args, login...))
			p.check(t, "helm "+strings.Join(args, " "), r.Stdout+r.Stderr)
		})
	}
}
