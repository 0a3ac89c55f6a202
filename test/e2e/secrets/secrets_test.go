// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// The values of the Secrets in these tests: a text with characters that are escaped when it is
// quoted, a number, and a value that another client adds to the Secret.
const (
	awkward   = `kx7"quux&zyzzy<1>`
	numeric   = "734512986"
	strangers = "by-xerxes-77"
)

// secretsIn returns those of the values above that a text contains.
func secretsIn(text string) []string {
	pieces := []string{"kx7", "quux", "zyzzy", numeric, strangers, "xerxes", `stringData"`, `stringData\"`, `short"`, `short\"`}
	for _, secret := range []string{awkward, numeric, strangers, "true", "58697"} {
		pieces = append(pieces, base64.StdEncoding.EncodeToString([]byte(secret))[:6])
	}
	return slices.DeleteFunc(pieces, func(piece string) bool { return !strings.Contains(text, piece) })
}

// secretManifest returns the manifest of a Secret with additional entries in stringData.
func secretManifest(more string) string {
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {helm.sh/layer: s}}\n" +
		"stringData: {awkward: '" + awkward + "'" + more + "}\n"
}

// refusedManifest returns the manifest of a ConfigMap with an invalid label, which the server
// rejects with a message that quotes the label.
func refusedManifest(annotations string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {l: '" + awkward + "'}, annotations: {" + annotations + "}}\n"
}

// deploymentManifest returns the manifest of a Deployment. If the server rejects a change of
// it, its message quotes the whole object.
func deploymentManifest(replicas string) string {
	return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, annotations: {helm.sh/layer: s}}\nspec:\n  replicas: " + replicas +
		"\n  selector: {matchLabels: {app: d}}\n  template:\n    metadata: {labels: {app: d}}\n" +
		"    spec: {containers: [{name: c, image: i, env: [{name: V, value: '" + awkward + "'}]}]}\n"
}

// expectSecretHidden runs an operation, and checks that it fails with an error that contains
// all of want, and that neither its output nor the stored description contains a secret.
func expectSecretHidden(tb testing.TB, h *harness.Helm, name string, args []string, want ...string) {
	tb.Helper()
	r := h.ExpectFailure(tb, args, want...)
	said := r.Stderr + r.Stdout
	if slices.Contains(args, "json") { // the output then contains the manifest, as in Helm
		var printed struct {
			Info    json.RawMessage `json:"info"`
			Failure json.RawMessage `json:"failure"`
		}
		if err := json.Unmarshal([]byte(r.Stdout), &printed); err != nil || len(printed.Failure) == 0 {
			tb.Fatalf("%v in %s", err, r.Stdout)
		}
		said = r.Stderr + string(printed.Info) + string(printed.Failure)
	}
	for _, rel := range h.History(tb, name) {
		said += "\n" + storedText(rel)
	}
	if shown := secretsIn(said); len(shown) > 0 {
		tb.Errorf("helm %s tells %q:\n%s", strings.Join(args, " "), shown, said)
	}
}

// storedText returns the texts in a stored revision that may contain error messages.
func storedText(rel *release.Release) string {
	text := rel.Info.Description + "\n" + rel.Info.Notes
	for _, f := range rel.Chart.Files { // the record is one of them
		text += "\n" + string(f.Data)
	}
	return text
}

// TestSecretsAreRedacted checks operations that fail with messages of the server in which the
// contents of Secrets are quoted.
func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	good := charts.WriteTemplate(t, secretManifest("")+deploymentManifest("1"))
	numbers := charts.WriteTemplate(t, secretManifest(", number: "+numeric+", short: 58697, on: true")+deploymentManifest("1"))
	quoted := charts.WriteTemplate(t, secretManifest("")+deploymentManifest(`"many"`))
	refused := charts.WriteTemplate(t, secretManifest("")+refusedManifest("helm.sh/layer: s"))
	hook := charts.WriteTemplate(t, secretManifest("")+refusedManifest(`helm.sh/hook: "pre-install,pre-upgrade"`))
	last := charts.WriteTemplate(t, secretManifest("")+refusedManifest("helm.sh/hook: pre-delete"))
	const invalid = `metadata.labels: Invalid value: "******": a valid label must be`
	for name, wait := range map[string]string{"in order": "--wait=ordered", "at once": "--wait=false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			expectSecretHidden(t, h, "refused", []string{"install", "refused", refused, wait}, invalid)
			h.MustRun("uninstall", "refused", "--wait")
			expectSecretHidden(t, h, "hook", []string{"install", "hook", hook, wait}, invalid)
			h.MustRun("uninstall", "hook", "--wait")

			h.MustRun("install", "shop", good, wait)
			h.Patch(t, "Secret/s", `{"stringData":{"injected":"`+strangers+`"}}`)
			unread := []string{`cannot patch "s" with kind Secret`, "Invalid value: ******: json: cannot unmarshal"}
			expectSecretHidden(t, h, "shop", []string{"upgrade", "shop", numbers, wait}, unread...)
			expectSecretHidden(t, h, "shop", []string{"upgrade", "shop", quoted, wait, "--disable-openapi-validation"}, `cannot patch "d" with kind Deployment`, `\"name\":\"V\",\"value\":\"******\"`)
			expectSecretHidden(t, h, "shop", []string{"upgrade", "shop", hook, wait, "--debug"}, invalid)
			expectSecretHidden(t, h, "shop", []string{"rollback", "shop", "2"}, unread...)
			expectSecretHidden(t, h, "shop", []string{"upgrade", "shop", numbers, wait, "--cleanup-on-fail", "--force"}, "cannot unmarshal")
			expectSecretHidden(t, h, "shop", []string{"upgrade", "shop", numbers, wait, "--atomic"}, unread...)
			if wait == "--wait=ordered" {
				expectSecretHidden(t, h, "shop", []string{"upgrade", "shop", numbers, wait, "-o", "json"}, unread...)
			}
			h.MustRun("upgrade", "shop", last, wait)
			expectSecretHidden(t, h, "shop", []string{"uninstall", "shop"}, invalid)
		})
	}
}

// TestSecretsInLogsAreRedacted checks that the contents of Secrets are redacted in the logs of
// pods that an error quotes.
func TestSecretsInLogsAreRedacted(t *testing.T) {
	t.Parallel()
	once, err := json.Marshal(awkward)
	harness.NoError(t, err)
	twice, err := json.Marshal("as " + string(once))
	harness.NoError(t, err)
	log := `{"said":` + string(once) + `,"again":` + string(twice) + `} ` + base64.RawURLEncoding.EncodeToString([]byte(awkward)) + " logged"
	h := harness.New(t)
	chart := charts.WriteTemplate(t, secretManifest("")+charts.Manifests(
		charts.Object{Kind: "Pod", Name: "web", Layer: "web", DependsOn: "s", Annotations: []string{"helm.sh/readiness-timeout: 3s", "devcluster/pod: crash-loop", "devcluster/log: '" + log + "'"}},
		charts.Object{Kind: "Pod", Name: "late", Layer: "late", DependsOn: "web"}))
	expectSecretHidden(t, h, "shop", []string{"install", "shop", chart, "--wait=ordered"}, `"said":"******"`, "logged")
}
