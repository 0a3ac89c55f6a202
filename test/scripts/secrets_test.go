// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"strings"
	"testing"
)

// TestSecretsAreMasked checks that commands that only render mask the contents of Secrets in what scripts
// print and log, and in their errors.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-is-secret"
	show := `println("printed: " .. values.password) log("logged: " .. values.password)`
	chart := writeChart(t, on("pre-render", show)+"\n"+on("post-render", show+` if values.fails then error("failed: " .. values.password) end`), map[string]string{
		"values.yaml":           "password: " + secret + "\nfails: false\n",
		"templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: {{ quote .Values.password }}}\n",
	})
	for _, command := range []string{"template", "dag"} {
		for _, fails := range []bool{false, true} {
			t.Run(command, func(t *testing.T) {
				t.Parallel()
				args := []string{command, chart, "--debug"}
				if fails {
					args = append(args, "--set", "fails=true")
				}
				r := runHelm(t, args...)
				wanted := []string{"printed: ******", "logged: ******"}
				if fails {
					wanted = append(wanted, "failed: ******")
				}
				for _, want := range wanted {
					if !strings.Contains(r.stderr, want) {
						t.Errorf("%q is missing in\n%s", want, r.stderr)
					}
				}
				if failed := r.exitCode != 0; failed != fails || strings.Contains(r.stderr, secret) {
					t.Errorf("exit code %d\n%s", r.exitCode, r.stderr)
				}
			})
		}
	}
}
