// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// applicationModule is the Go module with the published definition of Application, and applicationSum its checksum.
const (
	applicationModule = "sigs.k8s.io/application@v0.8.2"
	applicationSum    = "h1:XB7C33f7eW+1MbCJXoZa0+nP+R+S/VbAvYfCd3ufP1I="
)

func applications() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "app.k8s.io", Version: "v1beta1", Resource: "applications"}
}

// installApplications installs the published definition of Application in the cluster, unless it is installed.
func installApplications(t *testing.T, h *harness.Helm) {
	t.Helper()
	_, err := h.Client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		Create(t.Context(), applicationDefinition(t), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) { // by another test
		harness.NoError(t, err)
	}
	harness.Eventually(t, "Applications are served", func() bool {
		_, err := h.Client.Resource(applications()).Namespace(h.Namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// applicationDefinition returns the published definition as one of apiextensions.k8s.io/v1, with the annotation that the
// API server demands of definitions in groups of k8s.io.
func applicationDefinition(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", applicationModule)
	download.Dir, download.Env = t.TempDir(), append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := download.Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v\n%s", applicationModule, err, out)
	}
	var module struct{ Dir, Sum string }
	harness.NoError(t, json.Unmarshal(out, &module))
	if module.Sum != applicationSum {
		t.Fatalf("%s has the checksum %s, want %s", applicationModule, module.Sum, applicationSum)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "config", "crd", "bases", "app.k8s.io_applications.yaml"))
	harness.NoError(t, err)
	var published struct {
		Metadata struct{ Name string }
		Spec     struct {
			Names      map[string]any
			Validation struct {
				OpenAPIV3Schema map[string]any
			}
		}
	}
	harness.NoError(t, yaml.Unmarshal(text, &published))
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        published.Metadata.Name,
			"annotations": map[string]any{"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/application/pull/2"},
		},
		"spec": map[string]any{
			"group": "app.k8s.io", "names": published.Spec.Names, "scope": "Namespaced",
			"versions": []any{map[string]any{
				"name": "v1beta1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": published.Spec.Validation.OpenAPIV3Schema},
			}},
		},
	}}
}

// withApplications returns a Helm that stores releases as objects, in a cluster with Applications.
func withApplications(t *testing.T) *harness.Helm {
	t.Helper()
	h := withObjects(t)
	installApplications(t, h)
	return h
}

// getApplication returns the Application with the name of the release; nil if there is none.
func getApplication(t *testing.T, h *harness.Helm) *unstructured.Unstructured {
	t.Helper()
	found, err := h.Client.Resource(applications()).Namespace(h.Namespace).Get(t.Context(), "rel", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	harness.NoError(t, err)
	return found
}

func ownersOfRelease(t *testing.T, h *harness.Helm) string {
	t.Helper()
	parents := objectsOf(t, h, releaseapi.ReleaseGVR())
	if len(parents) != 1 {
		t.Fatalf("%d Releases, want 1", len(parents))
	}
	return owners(&parents[0])
}

const (
	plainChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: own}
`
	declaringChart = plainChart + `---
apiVersion: app.k8s.io/v1beta1
kind: Application
metadata: {name: {{ .Release.Name }}}
spec: {descriptor: {type: of-the-chart}}
`
)

// TestNoApplication checks that nothing owns a Release in a cluster without Applications. It is not parallel: it runs
// before the other tests, which install the definition.
func TestNoApplication(t *testing.T) { //nolint:paralleltest // as the comment says
	h := withObjects(t)
	h.MustRun("install", "rel", charts.WriteTemplate(t, plainChart))
	if got := ownersOfRelease(t, h); got != "" {
		t.Errorf("the Release has the owners %q", got)
	}
	h.MustRun("upgrade", "rel", charts.WriteTemplate(t, plainChart))
	h.MustRun("uninstall", "rel")
	expectNothingLeft(t, h)
}

// TestApplication checks that the Application of a release describes it, and that it goes with the release.
func TestApplication(t *testing.T) {
	t.Parallel()
	h := withApplications(t)
	h.MustRun("install", "rel", charts.WriteFiles(t, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\nappVersion: 1.2.3\ndescription: sells things\n", "templates/all.yaml": plainChart,
	}))
	if got := ownersOfRelease(t, h); got != "Application" {
		t.Errorf("the Release has the owners %q", got)
	}
	created := getApplication(t, h)
	if created.GetLabels()[releaseapi.HeritageLabel] != releaseapi.Heritage {
		t.Errorf("the Application has the labels %v", created.GetLabels())
	}
	expectSpec(t, created, `{"componentKinds":[{"group":"","kind":"ConfigMap"}],"descriptor":{"description":"sells things","type":"shop","version":"1.2.3"},"selector":{"matchLabels":{"app.kubernetes.io/instance":"rel"}}}`)

	h.MustRun("upgrade", "rel", charts.WriteFiles(t, map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: shop\nversion: 0.2.0\n",
		"templates/all.yaml": plainChart + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {replicas: 0, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}\n",
	}))
	expectSpec(t, getApplication(t, h), `{"componentKinds":[{"group":"","kind":"ConfigMap"},{"group":"apps","kind":"Deployment"}],"descriptor":{"type":"shop","version":"0.2.0"},"selector":{"matchLabels":{"app.kubernetes.io/instance":"rel"}}}`)

	h.MustRun("uninstall", "rel", "--keep-history")
	if getApplication(t, h) == nil {
		t.Error("the Application is gone, although the history is kept")
	}
	h.MustRun("uninstall", "rel")
	if getApplication(t, h) != nil {
		t.Error("the Application is left")
	}
	expectNothingLeft(t, h)
}

func expectSpec(t *testing.T, o *unstructured.Unstructured, want string) {
	t.Helper()
	got, err := json.Marshal(o.Object["spec"])
	harness.NoError(t, err)
	if string(got) != want {
		t.Errorf("the spec is %s, want %s", got, want)
	}
}

// TestDeletedApplication checks that the garbage collector deletes all that an Application owns.
func TestDeletedApplication(t *testing.T) {
	t.Parallel()
	h := withApplications(t)
	h.MustRun("install", "rel", charts.WriteTemplate(t, plainChart))
	harness.NoError(t, h.Client.Resource(applications()).Namespace(h.Namespace).Delete(t.Context(), "rel", metav1.DeleteOptions{}))
	harness.Eventually(t, "the garbage collector deletes all", func() bool {
		return h.Get(t, "ConfigMap/own") == nil && len(objectsOf(t, h, releaseapi.ReleaseGVR())) == 0 &&
			len(objectsOf(t, h, releaseapi.ReleaseVersionGVR())) == 0 && len(objectsOf(t, h, schema.GroupVersionResource{Version: "v1", Resource: "secrets"})) == 0
	})
}

// createApplication creates an Application with the name of the release by hand.
func createApplication(t *testing.T, h *harness.Helm, annotations map[string]string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "app.k8s.io/v1beta1", "kind": "Application", "spec": map[string]any{"descriptor": map[string]any{"type": "by-hand"}}}}
	o.SetName("rel")
	o.SetAnnotations(annotations)
	_, err := h.Client.Resource(applications()).Namespace(h.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
	harness.NoError(t, err)
}

// typeOf returns the type in the descriptor of an Application.
func typeOf(o *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(o.Object, "spec", "descriptor", "type")
	return text
}

// TestApplicationOfOthers checks that an Application that somebody else has created stays as it is.
func TestApplicationOfOthers(t *testing.T) {
	t.Parallel()
	h := withApplications(t)
	createApplication(t, h, nil)
	before := getApplication(t, h).GetResourceVersion()
	chart := charts.WriteTemplate(t, plainChart)
	h.MustRun("install", "rel", chart)
	if got := ownersOfRelease(t, h); got != "" {
		t.Errorf("the Release has the owners %q", got)
	}
	h.MustRun("upgrade", "rel", chart)
	h.MustRun("uninstall", "rel")
	if after := getApplication(t, h); after == nil || after.GetResourceVersion() != before {
		t.Errorf("the Application was changed to %v", after)
	}
}

// TestApplicationOfDeletedRelease checks that an installation takes over the Application that an interrupted uninstall has
// left.
func TestApplicationOfDeletedRelease(t *testing.T) {
	t.Parallel()
	h := withApplications(t)
	createApplication(t, h, map[string]string{"helm.sh/release-uid": "0d1b7dc4-8a2b-4f1c-9a51-3a0d5f1f9d6e"})
	h.MustRun("install", "rel", charts.WriteTemplate(t, plainChart))
	if got := ownersOfRelease(t, h) + " " + typeOf(getApplication(t, h)); got != "Application app" {
		t.Errorf("owners and type are %q", got)
	}
	h.MustRun("uninstall", "rel")
	if getApplication(t, h) != nil {
		t.Error("the Application is left")
	}
}

// TestApplicationOfChart checks that a Release is not owned by an Application that its chart contains, because it would be
// deleted before the other objects.
func TestApplicationOfChart(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"from the beginning": declaringChart, "after an upgrade": plainChart} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withApplications(t)
			h.MustRun("install", "rel", charts.WriteTemplate(t, first))
			h.MustRun("upgrade", "rel", charts.WriteTemplate(t, declaringChart))
			if got := ownersOfRelease(t, h) + " " + typeOf(getApplication(t, h)); got != " of-the-chart" {
				t.Errorf("owners and type are %q", got)
			}
			expectSpec(t, getApplication(t, h), `{"descriptor":{"type":"of-the-chart"}}`)
			h.MustRun("uninstall", "rel")
			if getApplication(t, h) != nil {
				t.Error("the Application is left")
			}
			expectNothingLeft(t, h)
		})
	}
}

// TestApplicationForbidden checks that a release works without an Application if the account must not create one.
func TestApplicationForbidden(t *testing.T) {
	t.Parallel()
	h := withApplications(t)
	as := h.GrantRules(t, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"", "helm.sh", "coordination.k8s.io"}, Resources: []string{"*"}})
	chart := charts.WriteTemplate(t, plainChart)
	r := h.MustRun(append([]string{"install", "rel", chart, "--debug"}, as...)...)
	harness.ExpectContains(t, r.Stderr, "create Application rel", "forbidden")
	if got := ownersOfRelease(t, h); got != "" {
		t.Errorf("the Release has the owners %q", got)
	}
	h.MustRun(append([]string{"upgrade", "rel", chart}, as...)...)
	h.MustRun(append([]string{"uninstall", "rel"}, as...)...)
	expectNothingLeft(t, h)
}

// TestApplicationOfMovedRelease checks that the Application of a release that was moved to the driver crd describes it, and
// that it goes when the release is moved away.
func TestApplicationOfMovedRelease(t *testing.T) {
	t.Parallel()
	h := withApplications(t)
	secrets := *h
	secrets.Env = append(slices.Clone(h.Env), "HELM_DRIVER=secret")
	secrets.MustRun("install", "rel", charts.WriteTemplate(t, plainChart))
	h.MustRun("state", "migrate", "rel", "--from", "secret", "--to", "crd")
	if got := ownersOfRelease(t, h); got != "Application" {
		t.Errorf("the Release has the owners %q", got)
	}
	expectSpec(t, getApplication(t, h), `{"componentKinds":[{"group":"","kind":"ConfigMap"}],"descriptor":{"type":"app","version":"0.1.0"},"selector":{"matchLabels":{"app.kubernetes.io/instance":"rel"}}}`)
	h.MustRun("state", "migrate", "rel", "--from", "crd", "--to", "secret")
	if getApplication(t, h) != nil || h.Get(t, "ConfigMap/own") == nil {
		t.Error("the Application is left, or the object is gone")
	}
}
