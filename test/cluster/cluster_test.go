// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSharedReturnsOneCluster(t *testing.T) {
	if first, second := Shared(t), Shared(t); first != second {
		t.Error("two calls of Shared return two clusters")
	}
}

func TestKubectlReachesTheCluster(t *testing.T) {
	c := Shared(t)
	cmd := exec.CommandContext(t.Context(), c.Kubectl(), "--kubeconfig", c.Kubeconfig(), "auth", "can-i", "*", "*", "--all-namespaces")
	output, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(output)) != "yes" {
		t.Errorf("the kubeconfig's user may not do everything: %v, %s", err, output)
	}
}

func TestNamespace(t *testing.T) {
	c := Shared(t)
	var inside string
	t.Run("With / Odd_Names", func(t *testing.T) {
		inside = c.Namespace(t)
		if second := c.Namespace(t); inside == second {
			t.Error("one namespace comes twice")
		}
		_, err := c.Client().CoreV1().Pods(inside).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "at-once"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Errorf("a pod cannot be created at once: %v", err)
		}
	})
	expectLeft(t, c, inside)
}

// expectLeft checks that nothing runs in the namespace of a finished test, and that the
// namespace is deleted if the cluster keeps running after the tests.
func expectLeft(t *testing.T, c *Cluster, name string) {
	t.Helper()
	namespace, err := c.Client().CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		t.Fatal(err)
	case c.process == nil && namespace.DeletionTimestamp == nil:
		t.Errorf("namespace %s outlives its test", name)
	}
	pods, err := c.Client().CoreV1().Pods(name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			t.Errorf("pod %s/%s outlives its test", name, pods.Items[i].Name)
		}
	}
}

func TestAudit(t *testing.T) {
	c := Shared(t)
	namespace := c.Namespace(t)
	maps := c.Client().CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "first"},
		Data:       map[string]string{"key": "value"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(t.Context(), "absent", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}

	ours := func() (events []Event) {
		for _, e := range c.Audit(t) {
			if e.Namespace == namespace && e.UserAgent == c.Config().UserAgent && e.Resource == "configmaps" && e.Name != "kube-root-ca.crt" {
				events = append(events, e)
			}
		}
		return events
	}
	events := ours()
	if len(events) != 2 {
		t.Fatalf("%d events, want 2: %+v", len(events), events)
	}
	created, read := events[0], events[1]
	if created.Verb != "create" || created.Name != "first" || created.Code != 201 || created.User != "devcluster-admin" || created.Stage != StageComplete {
		t.Errorf("wrong event of the create: %+v", created)
	}
	var object corev1.ConfigMap
	if err := created.DecodeResponse(&object); err != nil || object.Data["key"] != "value" || object.UID == "" {
		t.Errorf("the create's response is %+v, %v", object, err)
	}
	if read.Verb != "get" || read.Code != 404 || read.Received.Before(created.Completed) || read.Received.IsZero() {
		t.Errorf("wrong event of the get: %+v after %+v", read, created)
	}
	if err := read.DecodeResponse(&object); err == nil {
		t.Error("a read has a response in the log")
	}

	if err := maps.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if events := ours(); len(events) != 3 || events[2].Verb != "delete" {
		t.Errorf("after a delete the log has %+v", events)
	}
}

func TestAuditAfter(t *testing.T) {
	c := Shared(t)
	namespace := c.Namespace(t)
	create := func(name string) {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.Client().CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	after := func(mark AuditMark) (names []string) {
		t.Helper()
		c.AuditAfter(t, mark, func(e Event) {
			if e.Namespace == namespace && e.Resource == "configmaps" && e.UserAgent == c.Config().UserAgent && e.Verb == "create" {
				names = append(names, e.Name)
			}
		})
		return names
	}
	create("before")
	c.Audit(t) // until it is written
	mark := c.AuditMark(t)
	create("after")
	for range 2 { // a mark can be used more than once
		if got := after(mark); !slices.Equal(got, []string{"after"}) {
			t.Errorf("after the mark there were %q", got)
		}
	}
	if got := after(AuditMark{offset: mark.offset - 2}); !slices.Equal(got, []string{"after"}) {
		t.Errorf("after a mark inside a line there were %q", got)
	}
	if got := after(AuditMark{}); !slices.Equal(got, []string{"before", "after"}) {
		t.Errorf("in all there were %q", got)
	}
}

func TestNewStartsSeparateCluster(t *testing.T) {
	var dir string
	t.Run("inside", func(t *testing.T) {
		c := New(t, Options{})
		dir = c.Dir()
		if dir == Shared(t).Dir() {
			t.Error("New returns the shared cluster")
		}
		if _, err := c.Client().Discovery().ServerVersion(); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of a cluster that is over: %v", err)
	}
}

func TestReusedClusterKeepsRunning(t *testing.T) {
	c := Shared(t)
	t.Setenv(ReuseEnv, c.Dir())
	reused, err := openOrStart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if reused.Config().Host != c.Config().Host {
		t.Errorf("the cluster is at %s, not at %s", reused.Config().Host, c.Config().Host)
	}
	if err := reused.stop(); err != nil {
		t.Error(err)
	}
	if _, err := reused.Client().Discovery().ServerVersion(); err != nil {
		t.Errorf("it does not run any more: %v", err)
	}
	t.Setenv(ReuseEnv, t.TempDir())
	if _, err := openOrStart(t.Context()); err == nil || !strings.Contains(err.Error(), ReuseEnv) {
		t.Errorf("where no cluster runs, the error is %v", err)
	}
}

func TestOpenWithoutCluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nothing")
	if _, err := open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("open of a folder without a cluster says %v", err)
	}
}

func TestNamespacePrefixes(t *testing.T) {
	for test, want := range map[string]string{
		"TestOne":                         "testone-",
		"TestOne/with_a space":            "testone-with-a-space-",
		"Test/" + strings.Repeat("x", 60): "test-" + strings.Repeat("x", 35) + "-",
		"Ünö":                             "n-",
	} {
		if got := prefix(test); got != want {
			t.Errorf("prefix(%q) = %q, want %q", test, got, want)
		}
	}
}
