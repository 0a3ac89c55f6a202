// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/test/harness"
)

// kubectl runs kubectl with a manifest on its stdin.
func kubectl(h *harness.Helm, stdin string, args ...string) string {
	h.TB.Helper()
	cmd := exec.CommandContext(h.TB.Context(), h.Cluster.Kubectl(), append(args, "--namespace", h.Namespace)...)
	cmd.Env = h.Env
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.TB.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// TestTemplateAppliedWithKubectl applies the output of `helm template`, with --wait=ordered
// and with --sequence-as=argocd, with kubectl. It checks that every object exists with the
// declared content.
func TestTemplateAppliedWithKubectl(t *testing.T) {
	t.Parallel()
	for _, chart := range []string{"umbrella", "hooks"} {
		for _, flag := range []string{"--wait=ordered", "--sequence-as=argocd"} {
			t.Run(chart+flag, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				manifest := h.MustRun("template", "demo", harness.ExampleChart(t, chart), flag).Stdout
				kubectl(h, manifest, "apply", "-f", "-")
				documents := 0
				for _, doc := range render.Split(manifest) {
					object := parseManifest(t, doc)
					if object.Kind == "" {
						continue
					}
					documents++
					there := parseManifest(t, kubectl(h, "", "get", object.Kind, object.Metadata.Name, "-o", "yaml"))
					for key, value := range object.Metadata.Annotations {
						if there.Metadata.Annotations[key] != value {
							t.Errorf("%s/%s has %q under %s, want %q", object.Kind, object.Metadata.Name, there.Metadata.Annotations[key], key, value)
						}
					}
					if _, err := strconv.Atoi(there.Metadata.Annotations["argocd.argoproj.io/sync-wave"]); (err == nil) != (flag == "--sequence-as=argocd") {
						t.Errorf("%s/%s: its wave is %q", object.Kind, object.Metadata.Name, there.Metadata.Annotations["argocd.argoproj.io/sync-wave"])
					}
				}
				if documents < 9 {
					t.Errorf("only %d objects", documents)
				}
				kubectl(h, manifest, "delete", "-f", "-", "--wait=false")
			})
		}
	}
}

type kubeObject struct {
	Kind     string
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
}

func parseManifest(t *testing.T, doc string) kubeObject {
	t.Helper()
	var object kubeObject
	if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
		t.Fatal(fmt.Errorf("%w in:\n%s", err, doc))
	}
	return object
}
