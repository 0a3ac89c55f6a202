// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func (c *testCluster) awaitClaim(t *testing.T, namespace string, holds func(*corev1.PersistentVolumeClaim) bool) *corev1.PersistentVolumeClaim {
	t.Helper()
	var claim *corev1.PersistentVolumeClaim
	eventually(t, "claim", func() error {
		var err error
		if claim, err = c.client.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), "claim", metav1.GetOptions{}); err != nil {
			return err
		}
		if !holds(claim) {
			return fmt.Errorf("its status is %+v", claim.Status)
		}
		return nil
	})
	return claim
}

func (c *testCluster) awaitNoVolume(t *testing.T, name string) {
	t.Helper()
	eventually(t, "volume of a deleted claim", func() error {
		_, err := c.client.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
}

func (c *testCluster) hasEvent(t *testing.T, namespace, reason string) bool {
	t.Helper()
	events, err := c.client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.Reason == reason {
			return true
		}
	}
	return false
}

func TestLogs(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	pod := newPod(map[string]string{"devcluster/log": "first\nsecond", "devcluster/log.side": "beside"})
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side", Image: "side"})
	c.create(t, namespace, pod)
	plain := newPod(map[string]string{"devcluster/pod": "crash-loop"})
	plain.Name = "plain"
	c.create(t, namespace, plain)
	held := newPod(map[string]string{"devcluster/pod": "image-pull-back-off"})
	held.Name = "held"
	c.create(t, namespace, held)
	c.awaitPod(t, namespace, "pod", isReady)
	c.awaitPod(t, namespace, "plain", func(p *corev1.Pod) bool { return waitsFor(p, "CrashLoopBackOff") })
	c.awaitPod(t, namespace, "held", func(p *corev1.Pod) bool { return waitsFor(p, "ImagePullBackOff") })

	for _, test := range []struct {
		args []string
		want string
		fail bool
	}{
		{args: []string{"pod", "-c", "main"}, want: "first\nsecond\n"},
		{args: []string{"pod", "-c", "main", "--tail=1"}, want: "second\n"},
		{args: []string{"pod", "-c", "side"}, want: "beside\n"},
		{args: []string{"plain"}, want: "container main of pod " + namespace + "/plain\n"},
		{args: []string{"plain", "--previous"}, want: "container main of pod " + namespace + "/plain\n"},
		{args: []string{"pod", "-c", "main", "--previous"}, want: "previous terminated container", fail: true},
		{args: []string{"held"}, want: "is waiting to start", fail: true},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			output, err := c.kubectl(t, append([]string{"logs", "-n", namespace}, test.args...)...)
			if test.fail != (err != nil) || (test.fail && !strings.Contains(output, test.want)) || (!test.fail && output != test.want) {
				t.Errorf("kubectl says %q, %v; want %q", output, err, test.want)
			}
		})
	}
}

func TestFollowedLogEndsWithContainer(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	pod := newPod(map[string]string{"devcluster/after": "1s"})
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	c.create(t, namespace, pod)
	c.awaitPod(t, namespace, "pod", func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodPending })
	output, err := c.kubectl(t, "logs", "-f", "-n", namespace, "pod")
	if err != nil || !strings.Contains(output, "container main") {
		t.Errorf("kubectl says %q, %v", output, err)
	}
	c.awaitPod(t, namespace, "pod", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
}

func TestLoadBalancers(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	services := c.client.CoreV1().Services(namespace)
	for name, annotations := range map[string]map[string]string{
		"pending": {"devcluster/load-balancer": "pending"},
		"served":  nil,
	} {
		_, err := services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	addresses := func(name string) int {
		service, err := services.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(service.Status.LoadBalancer.Ingress)
	}
	eventually(t, "address of a load balancer", func() error {
		if n := addresses("served"); n != 1 {
			return fmt.Errorf("%d addresses", n)
		}
		return nil
	})
	if n := addresses("pending"); n != 0 {
		t.Errorf("a load balancer that is pending has %d addresses", n)
	}
	if output, err := c.kubectl(t, "annotate", "-n", namespace, "service", "pending", "devcluster/load-balancer-"); err != nil {
		t.Fatal(output)
	}
	eventually(t, "address of a load balancer that was pending", func() error {
		if n := addresses("pending"); n != 1 {
			return fmt.Errorf("%d addresses", n)
		}
		return nil
	})
}

func TestServerVersion(t *testing.T) {
	version, err := cluster(t).client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.36.3" || version.Major != "1" || version.Minor != "36" {
		t.Errorf("the server says %+v", version)
	}
	output, err := cluster(t).kubectl(t, "version")
	if err != nil || strings.Count(output, "v1.36.3") != 2 {
		t.Errorf("kubectl says %s, %v", output, err)
	}
}

func TestAuditLog(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	if output, err := c.kubectl(t, "create", "secret", "generic", "secret", "-n", namespace, "--from-literal=a=hidden"); err != nil {
		t.Fatal(output)
	}
	c.create(t, namespace, newPod(nil))
	c.awaitPod(t, namespace, "pod", isReady)

	type entry struct {
		Verb                                     string
		ObjectRef                                struct{ Resource, Namespace, Name, Subresource string }
		ResponseStatus                           struct{ Code int }
		ResponseObject                           json.RawMessage
		RequestReceivedTimestamp, StageTimestamp string
	}
	file, err := os.Open(filepath.Join(c.dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if e.ObjectRef.Namespace != namespace {
			continue
		}
		if e.RequestReceivedTimestamp == "" || e.StageTimestamp == "" || e.ResponseStatus.Code == 0 {
			t.Errorf("an entry is not complete: %s", lines.Text())
		}
		if e.ObjectRef.Resource == "secrets" && len(e.ResponseObject) > 0 {
			t.Errorf("a secret is in the log: %s", lines.Text())
		}
		what := strings.Trim(e.Verb+" "+e.ObjectRef.Resource+" "+e.ObjectRef.Subresource, " ")
		var pod corev1.Pod
		if what == "update pods status" && json.Unmarshal(e.ResponseObject, &pod) == nil && isReady(&pod) {
			what += " ready"
		}
		seen[what] = true
	}
	for _, want := range []string{"create secrets", "create pods", "create pods binding", "update pods status ready", "get pods"} {
		if !seen[want] {
			t.Errorf("the log does not show %q: %v", want, seen)
		}
	}
}
