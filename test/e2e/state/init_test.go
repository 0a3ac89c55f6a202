// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/harness"
)

const bothCreated = "releases.helm.sh created\nreleaseversions.helm.sh created\n"

func expectOutput(t *testing.T, r harness.Result, want string) {
	t.Helper()
	if r.ExitCode != 0 || r.Stdout != want {
		t.Errorf("exit code %d, got\n%s%s\nwant\n%s", r.ExitCode, r.Stdout, r.Stderr, want)
	}
}

func TestInit(t *testing.T) {
	h := withoutDefinitions(t)
	expectOutput(t, h.Run("state", "init"), bothCreated)
	before := definition(t, h, releasesDefinition).GetResourceVersion()
	expectOutput(t, h.Run("state", "init"), "releases.helm.sh unchanged\nreleaseversions.helm.sh unchanged\n")
	if after := definition(t, h, releasesDefinition).GetResourceVersion(); after != before {
		t.Error("a definition was written although it is unchanged")
	}
}

func TestInitConcurrently(t *testing.T) {
	h := withoutDefinitions(t)
	var runs []*harness.Process
	for range 5 {
		runs = append(runs, h.Start(t, "state", "init"))
	}
	created := 0
	for _, p := range runs {
		created += strings.Count(p.ExpectExit(t, 0).Stdout, " created\n")
	}
	if created != 2 {
		t.Errorf("%d definitions were created, want 2", created)
	}
}

// TestInitOverOlder checks that an older definition is updated, without the loss of what others have
// added to its metadata or of Releases.
func TestInitOverOlder(t *testing.T) {
	h := withDefinitions(t)
	_, err := client(h).Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
	harness.NoError(t, err)
	changeSchema(t, h, func(fields map[string]any) { delete(fields, "counts") }, func() bool { return true })
	annotate(t, h, releasesDefinition, `"0"`)
	harness.NoError(t, harness.MergePatch(t.Context(), definitions(h), releasesDefinition, `{"metadata":{"labels":{"team":"a"},"annotations":{"team":"b"}}}`))
	expectOutput(t, h.Run("state", "init"), "releases.helm.sh updated from version 0 to 1\nreleaseversions.helm.sh unchanged\n")
	live := definition(t, h, releasesDefinition)
	versions, _, err := unstructured.NestedSlice(live.Object, "spec", "versions")
	harness.NoError(t, err)
	version, _ := versions[0].(map[string]any)
	if _, found, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status", "properties", "counts"); !found {
		t.Error("the schema is not updated")
	}
	if live.GetLabels()["team"] != "a" || live.GetAnnotations()["team"] != "b" || live.GetAnnotations()["helm.sh/definitions-version"] != "1" {
		t.Errorf("got labels %v and annotations %v", live.GetLabels(), live.GetAnnotations())
	}
	if _, err := client(h).Releases.Get(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
}

func TestInitOverNewer(t *testing.T) {
	h := withDefinitions(t)
	annotate(t, h, releasesDefinition, `"2"`)
	before := definition(t, h, releasesDefinition).GetResourceVersion()
	expectOutput(t, h.Run("state", "init"), "releases.helm.sh left alone: its version 2 is newer than version 1 of this helm\nreleaseversions.helm.sh unchanged\n")
	if after := definition(t, h, releasesDefinition).GetResourceVersion(); after != before {
		t.Error("a newer definition was written")
	}
}

// TestInitOverForeign checks that a definition of the same name that Helm has not written is kept.
func TestInitOverForeign(t *testing.T) {
	h := withDefinitions(t)
	annotate(t, h, versionsDefinition, "null")
	before := definition(t, h, versionsDefinition).GetResourceVersion()
	r := h.ExpectFailure(t, []string{"state", "init"}, "releaseversions.helm.sh", "another definition of this name", "kubectl delete customresourcedefinition", "helm.sh/definitions-version=0")
	if r.Stdout != "releases.helm.sh unchanged\n" {
		t.Errorf("got %s", r.Stdout)
	}
	if after := definition(t, h, versionsDefinition).GetResourceVersion(); after != before {
		t.Error("a definition that is not Helm's was written")
	}
	annotate(t, h, versionsDefinition, `"0"`)
	h.MustRun("state", "init")
}

// TestInitWithConflictingNames checks the error if another definition has taken a name.
func TestInitWithConflictingNames(t *testing.T) {
	h := withoutDefinitions(t)
	other := harness.ParseManifest(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: others.helm.sh}
spec:
  group: helm.sh
  scope: Namespaced
  names: {kind: Release, listKind: OtherList, plural: others, singular: other}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	_, err := definitions(h).Create(t.Context(), other, metav1.CreateOptions{})
	harness.NoError(t, err)
	h.DeleteAfter(t, other)
	harness.Eventually(t, "the name is taken", func() bool {
		return harness.HasCondition("NamesAccepted", "True", "")(definition(t, h, "others.helm.sh"))
	})
	h.ExpectFailure(t, []string{"state", "init", "--timeout", "2s"}, "releases.helm.sh", "timed out after 2s", "its names are not accepted", "Release")
}

// TestInitWithoutPermission checks that the error says who can help.
func TestInitWithoutPermission(t *testing.T) {
	h := withoutDefinitions(t)
	as := h.GrantRules(t, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}) // in the namespace
	h.ExpectFailure(t, append(as, "state", "init"), "releases.helm.sh", "is forbidden", `ask an administrator of the cluster to run "helm state init"`, "--chart")
	if _, err := definitions(h).Get(t.Context(), releasesDefinition, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// TestInitDryRun checks that --dry-run prints exactly what the command installs, and needs no
// cluster.
func TestInitDryRun(t *testing.T) {
	h := withoutDefinitions(t)
	h.Env = append(h.Env, "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
	printed := h.MustRun("state", "init", "--dry-run").Stdout
	if _, err := definitions(h).Get(t.Context(), releasesDefinition, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	for document := range strings.SplitSeq(strings.TrimPrefix(printed, "---\n"), "---\n") {
		_, err := definitions(h).Create(t.Context(), harness.ParseManifest(t, document), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		harness.NoError(t, err)
	}
	h.Env = append(h.Env, "KUBECONFIG="+h.Cluster.Kubeconfig())
	expectOutput(t, h.Run("state", "init"), "releases.helm.sh unchanged\nreleaseversions.helm.sh unchanged\n")
}

// TestInitWithoutCluster checks the error if the cluster cannot be reached.
func TestInitWithoutCluster(t *testing.T) {
	h := harness.New(t)
	h.ExpectFailure(t, []string{"state", "init", "--kube-apiserver", "https://127.0.0.1:1", "--timeout", "10s"}, "127.0.0.1:1")
}
