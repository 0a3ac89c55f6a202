// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package largereleases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

const driver = "HELM_DRIVER=chunked-secret"

// largeChart writes a chart with files that cannot be compressed, of the given number of MiB. Its
// value version decides which objects it deploys.
func largeChart(t *testing.T, mebibytes int) string {
	t.Helper()
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": charts.Metadata,
		"templates/all.yaml": charts.ConfigMap("one") + "data: {version: \"{{ .Values.version }}\"}\n" +
			charts.ConfigMap("only-in-{{ .Values.version }}"),
	})
	source := rand.NewChaCha8([32]byte{byte(mebibytes)})
	for i := range mebibytes {
		data := make([]byte, 1<<20)
		_, _ = source.Read(data) // never fails
		charts.AddFile(t, chart, fmt.Sprintf("file-%d", i), string(data))
	}
	return chart
}

// secrets returns the Secrets with releases, and the names of those with parts of releases.
func secrets(t *testing.T, h *harness.Helm) (releases []corev1.Secret, parts []string) {
	t.Helper()
	list, err := h.Cluster.Client().CoreV1().Secrets(h.Namespace).List(t.Context(), metav1.ListOptions{})
	harness.NoError(t, err)
	for _, s := range list.Items {
		switch s.Type {
		case "helm.sh/release.v1":
			releases = append(releases, s)
		case "helm.sh/release-part.v1":
			parts = append(parts, s.Name)
		}
	}
	return releases, parts
}

// objects returns the names and the data of the ConfigMaps that the chart can deploy.
func objects(t *testing.T, h *harness.Helm) string {
	t.Helper()
	list, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
	harness.NoError(t, err)
	var names []string
	for _, c := range list.Items {
		names = append(names, c.Name+c.Data["version"])
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func expectObjects(t *testing.T, h *harness.Helm, want string) {
	t.Helper()
	if got := objects(t, h); got != want {
		t.Errorf("the cluster contains %q, want %q", got, want)
	}
}

// expectHistory checks the statuses that helm history prints.
func expectHistory(t *testing.T, h *harness.Helm, want string) {
	t.Helper()
	var revisions []struct {
		Status string `json:"status"`
		Chart  string `json:"chart"`
	}
	harness.NoError(t, json.Unmarshal([]byte(h.MustRun("history", "rel", "-o", "json").Stdout), &revisions))
	var got []string
	for _, r := range revisions {
		got = append(got, r.Status)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("the revisions are %v, want %s", got, want)
	}
}

// TestLargeRelease runs all operations on a release of 20 MiB.
func TestLargeRelease(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{driver, "HELM_DRIVER=crd"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			harness.InstallDefinitions(t, h.Cluster)
			h.Env = append(h.Env, storage)
			runLargeRelease(t, h)
		})
	}
}

func runLargeRelease(t *testing.T, h *harness.Helm) {
	t.Helper()
	chart := largeChart(t, 20)
	charts.AddFile(t, chart, "templates/layer.yaml", charts.ConfigMap("layer", "helm.sh/layer: one"))
	h.MustRun("install", "rel", chart, "--set", "version=1", "--wait=ordered")
	expectObjects(t, h, "layer one1 only-in-1")
	if _, parts := secrets(t, h); len(parts) < 20 {
		t.Errorf("the release has %d parts", len(parts))
	}
	h.MustRun("upgrade", "rel", chart, "--set", "version=2", "--wait=ordered")
	expectObjects(t, h, "layer one2 only-in-2")
	expectHistory(t, h, "superseded deployed")
	harness.ExpectContains(t, h.MustRun("list").Stdout, "rel", "deployed")
	harness.ExpectContains(t, h.MustRun("status", "rel").Stdout, "STATUS: deployed", "REVISION: 2")
	harness.ExpectContains(t, h.MustRun("get", "values", "rel").Stdout, "version: 2")
	harness.ExpectContains(t, h.MustRun("get", "manifest", "rel", "--revision", "1").Stdout, "only-in-1")
	h.MustRun("rollback", "rel", "1")
	expectObjects(t, h, "layer one1 only-in-1")
	expectHistory(t, h, "superseded superseded deployed")

	h.MustRun("uninstall", "rel")
	expectObjects(t, h, "")
	if releases, parts := secrets(t, h); len(releases)+len(parts) > 0 {
		t.Errorf("after the uninstall, there are %d Secrets and the parts %v", len(releases), parts)
	}
}

// TestListReadsNoParts checks that helm list needs no permission to read parts of releases, and
// sends the same requests as for small releases.
func TestListReadsNoParts(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.Env = append(h.Env, driver)
	h.MustRun("install", "rel", largeChart(t, 2), "--set", "version=1")
	list := append(h.Grant(t, "list"), "list", "--all")
	harness.ExpectContains(t, h.MustRun(list...).Stdout, "rel", "deployed", "app-0.1.0")
}

// TestSmallReleaseIsStoredAsByStock checks that a release that fits into one Secret is byte for
// byte as with HELM_DRIVER=secret, so that stock Helm continues.
func TestSmallReleaseIsStoredAsByStock(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	plain := h.Env
	chart := largeChart(t, 0)
	h.Env = append(slices.Clone(plain), driver)
	h.MustRun("install", "rel", chart, "--set", "version=1")
	releases, parts := secrets(t, h)
	if len(releases) != 1 || len(parts) != 0 || len(releases[0].Data) != 1 || releases[0].Annotations != nil || releases[0].OwnerReferences != nil {
		t.Errorf("%d Secrets, parts %v", len(releases), parts)
	}
	text := h.History(t, "rel")[0].Manifest
	h.Env = plain
	if got := h.MustRun("get", "manifest", "rel").Stdout; strings.TrimSpace(got) != strings.TrimSpace(text) {
		t.Errorf("got manifest %s, want %s", got, text)
	}
	h.MustRunStock(t, "upgrade", "rel", chart, "--set", "version=2")
	h.Env = append(slices.Clone(plain), driver)
	h.MustRun("rollback", "rel", "1")
	h.ExpectStatuses(t, "rel", "superseded superseded deployed")
	expectObjects(t, h, "one1 only-in-1")
}

// TestReleaseChangesSize upgrades a small release to a large one and back.
func TestReleaseChangesSize(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.Env = append(h.Env, driver)
	small, large := largeChart(t, 0), largeChart(t, 2)
	h.MustRun("install", "rel", small, "--set", "version=1")
	h.MustRun("upgrade", "rel", large, "--set", "version=2")
	h.MustRun("upgrade", "rel", small, "--set", "version=3")
	expectHistory(t, h, "superseded superseded deployed")
	expectObjects(t, h, "one3 only-in-3")
	h.MustRun("rollback", "rel", "2")
	expectObjects(t, h, "one2 only-in-2")
	h.MustRun("uninstall", "rel")
	if releases, parts := secrets(t, h); len(releases)+len(parts) > 0 {
		t.Errorf("after the uninstall, there are %d Secrets and the parts %v", len(releases), parts)
	}
}

// TestOtherDriversRefuse checks that stock Helm, and Ordered Helm with HELM_DRIVER=secret, refuse
// every operation on a large release and change nothing, and that the release can be used
// afterwards.
func TestOtherDriversRefuse(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	plain := h.Env
	chart, small := largeChart(t, 2), largeChart(t, 0)
	h.Env = append(slices.Clone(plain), driver)
	h.MustRun("install", "rel", chart, "--set", "version=1")
	h.MustRun("upgrade", "rel", chart, "--set", "version=2")
	_, before := secrets(t, h)
	h.Env = plain
	for _, args := range [][]string{
		{"install", "rel", small, "--set", "version=3"},
		{"install", "rel", small, "--set", "version=3", "--replace"},
		{"upgrade", "rel", small, "--set", "version=3"},
		{"upgrade", "rel", small, "--set", "version=3", "--install", "--force"},
		{"rollback", "rel"},
		{"rollback", "rel", "1"},
		{"uninstall", "rel"},
		{"uninstall", "rel", "--no-hooks"},
		{"uninstall", "rel", "--keep-history"},
	} {
		name := strings.Join(args[:2], " ") + " " + strings.Join(args[2:], " ")
		if r := h.RunStock(t, args...); r.ExitCode == 0 {
			t.Errorf("stock Helm succeeds: helm %s\n%s", name, r.Stdout)
		}
		h.ExpectFailure(t, args, "set HELM_DRIVER=chunked-secret")
		expectObjects(t, h, "one2 only-in-2")
		if _, parts := secrets(t, h); !slices.Equal(parts, before) {
			t.Errorf("helm %s has changed the parts from %v to %v", name, before, parts)
		}
	}
	for _, args := range [][]string{{"history", "rel"}, {"get", "all", "rel"}, {"status", "rel"}} {
		h.ExpectFailure(t, args, "set HELM_DRIVER=chunked-secret")
	}
	harness.ExpectContains(t, h.MustRunStock(t, "list", "--all"), "rel")
	harness.ExpectContains(t, h.MustRunStock(t, "status", "rel", "--show-desc"), "HELM_DRIVER=chunked-secret")

	h.Env = append(slices.Clone(plain), driver)
	harness.ExpectContains(t, h.MustRun("get", "values", "rel", "--revision", "2").Stdout, "version: 2")
	h.MustRun("upgrade", "rel", chart, "--set", "version=4", "--takeover=force")
	expectObjects(t, h, "one4 only-in-4")
	h.MustRun("uninstall", "rel")
	expectObjects(t, h, "")
	if releases, parts := secrets(t, h); len(releases)+len(parts) > 0 {
		t.Errorf("after the uninstall, there are %d Secrets and the parts %v", len(releases), parts)
	}
}

// TestPartsAreDeletedOrAltered checks what remains possible if a part of a revision is missing or
// was altered, and that no objects are forgotten.
func TestPartsAreDeletedOrAltered(t *testing.T) {
	t.Parallel()
	for name, breakPart := range map[string]func(t *testing.T, h *harness.Helm, part *corev1.Secret){
		"deleted": func(t *testing.T, h *harness.Helm, part *corev1.Secret) {
			t.Helper()
			harness.NoError(t, h.Cluster.Client().CoreV1().Secrets(h.Namespace).Delete(t.Context(), part.Name, metav1.DeleteOptions{}))
		},
		"altered": func(t *testing.T, h *harness.Helm, part *corev1.Secret) {
			t.Helper()
			client := h.Cluster.Client().CoreV1().Secrets(h.Namespace)
			altered := part.DeepCopy()
			altered.ResourceVersion, altered.Data = "", map[string][]byte{"part": bytes.Repeat([]byte("x"), 100)}
			if _, err := client.Update(t.Context(), altered, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
				t.Errorf("the Secret is not immutable: %v", err)
			}
			harness.NoError(t, client.Delete(t.Context(), part.Name, metav1.DeleteOptions{}))
			altered.UID = ""
			_, err := client.Create(t.Context(), altered, metav1.CreateOptions{})
			harness.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.Env = append(h.Env, driver)
			chart := largeChart(t, 2)
			for _, version := range []string{"1", "2", "3"} {
				h.MustRun("upgrade", "--install", "rel", chart, "--set", "version="+version)
			}
			client := h.Cluster.Client().CoreV1().Secrets(h.Namespace)
			breakRevision := func(revision string) (part string, restore func()) {
				list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "helm.sh/release=rel,helm.sh/revision=" + revision})
				harness.NoError(t, err)
				original := list.Items[0]
				breakPart(t, h, &original)
				return original.Name, func() {
					_ = client.Delete(t.Context(), original.Name, metav1.DeleteOptions{}) // it may be missing
					original.ResourceVersion, original.UID = "", ""
					_, err := client.Create(t.Context(), &original, metav1.CreateOptions{})
					harness.NoError(t, err)
				}
			}
			part, _ := breakRevision("1")
			expectHistory(t, h, "superseded superseded deployed")
			h.ExpectFailure(t, []string{"get", "values", "rel", "--revision", "1"}, part, "revision 1")
			h.ExpectFailure(t, []string{"rollback", "rel", "1"}, part, "revision 1")
			h.MustRun("rollback", "rel", "2")
			expectObjects(t, h, "one2 only-in-2")

			part, restore := breakRevision("4")
			harness.ExpectContains(t, h.MustRun("list").Stdout, "rel", "deployed")
			expectHistory(t, h, "superseded superseded superseded deployed")
			for _, args := range [][]string{{"upgrade", "rel", chart}, {"rollback", "rel", "3"}, {"uninstall", "rel"}} {
				h.ExpectFailure(t, args, part, "revision 4")
				expectObjects(t, h, "one2 only-in-2")
			}
			restore()
			h.MustRun("uninstall", "rel")
			expectObjects(t, h, "")
			if releases, parts := secrets(t, h); len(releases)+len(parts) > 0 {
				t.Errorf("after the uninstall, there are %d Secrets and the parts %v", len(releases), parts)
			}
		})
	}
}
