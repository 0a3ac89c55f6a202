// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newPod(annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Annotations: annotations}, Spec: podSpec()}
}

func (c *testCluster) create(t *testing.T, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	created, err := c.client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// awaitPod waits until holds returns true for the pod.
func (c *testCluster) awaitPod(t *testing.T, namespace, name string, holds func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, "pod "+name, func() error {
		var err error
		if pod, err = c.client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		if !holds(pod) {
			return fmt.Errorf("its status is %+v", pod.Status)
		}
		return nil
	})
	return pod
}

// awaitWarning waits for a warning about the pod.
func (c *testCluster) awaitWarning(t *testing.T, namespace, pod, reason, message string) {
	t.Helper()
	eventually(t, "event "+reason, func() error {
		events, err := c.client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Type == corev1.EventTypeWarning && e.Reason == reason && e.Message == message {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(events.Items))
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func waitsFor(pod *corev1.Pod, reason string) bool {
	statuses := pod.Status.ContainerStatuses
	return len(statuses) > 0 && statuses[0].State.Waiting != nil && statuses[0].State.Waiting.Reason == reason
}

func TestPodIsReadyImmediately(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	c.create(t, namespace, newPod(nil))
	pod := c.awaitPod(t, namespace, "pod", isReady)
	status := pod.Status
	if status.Phase != corev1.PodRunning || status.PodIP == "" || status.HostIP == "" || status.StartTime == nil {
		t.Errorf("its status is %+v", status)
	}
	if len(status.ContainerStatuses) != 1 || !status.ContainerStatuses[0].Ready || status.ContainerStatuses[0].State.Running == nil {
		t.Errorf("its containers are %+v", status.ContainerStatuses)
	}
}

func TestPodIsReadyLater(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	c.create(t, namespace, newPod(map[string]string{"devcluster/after": "700ms"}))
	running := c.awaitPod(t, namespace, "pod", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	if isReady(running) {
		t.Error("it is ready as soon as it runs")
	}
	ready := c.awaitPod(t, namespace, "pod", isReady)
	if started := ready.Status.ContainerStatuses[0].State.Running.StartedAt; started.IsZero() {
		t.Errorf("its containers are %+v", ready.Status.ContainerStatuses)
	}
}

func TestPodIsReadyAfterAnnotationChange(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	c.create(t, namespace, newPod(map[string]string{"devcluster/pod": "never"}))
	c.awaitWarning(t, namespace, "pod", "Unhealthy", `Readiness probe failed: annotation devcluster/pod is "never"`)
	if pod := c.awaitPod(t, namespace, "pod", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }); isReady(pod) {
		t.Error("it is ready")
	}
	if output, err := c.kubectl(t, "annotate", "-n", namespace, "pod", "pod", "devcluster/pod-"); err != nil {
		t.Fatal(err, output)
	}
	c.awaitPod(t, namespace, "pod", isReady)
}

func TestPodCrashLoops(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	c.create(t, namespace, newPod(map[string]string{"devcluster/pod": "crash-loop"}))
	pod := c.awaitPod(t, namespace, "pod", func(p *corev1.Pod) bool {
		return waitsFor(p, "CrashLoopBackOff") && p.Status.ContainerStatuses[0].RestartCount >= 2
	})
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 1 || last.Reason != "Error" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("its status is %+v", pod.Status)
	}
	c.awaitWarning(t, namespace, "pod", "BackOff",
		fmt.Sprintf("Back-off restarting failed container main in pod pod_%s(%s)", namespace, pod.UID))
}

func TestImagePullBackOff(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	c.create(t, namespace, newPod(map[string]string{"devcluster/pod": "image-pull-back-off", "devcluster/times": "1"}))
	c.awaitWarning(t, namespace, "pod", "Failed", "Error: ErrImagePull")
	c.awaitPod(t, namespace, "pod", isReady)

	never := newPod(map[string]string{"devcluster/pod": "image-pull-back-off"})
	never.Name = "never"
	c.create(t, namespace, never)
	c.awaitPod(t, namespace, "never", func(p *corev1.Pod) bool {
		return waitsFor(p, "ImagePullBackOff") && p.Status.Phase == corev1.PodPending
	})
}

func TestJobs(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	for _, test := range []struct {
		name        string
		annotations map[string]string
		policy      corev1.RestartPolicy
		want        batchv1.JobConditionType
		failed      int32
	}{
		{"complete", nil, corev1.RestartPolicyNever, batchv1.JobComplete, 0},
		{"complete-on-failure", nil, corev1.RestartPolicyOnFailure, batchv1.JobComplete, 0},
		{"complete-later", map[string]string{"devcluster/after": "300ms"}, corev1.RestartPolicyNever, batchv1.JobComplete, 0},
		{"fail", map[string]string{"devcluster/pod": "fail"}, corev1.RestartPolicyNever, batchv1.JobFailed, 1},
		{"fail-later", map[string]string{"devcluster/pod": "fail", "devcluster/after": "300ms"}, corev1.RestartPolicyNever, batchv1.JobFailed, 1},
		{"crash-once", map[string]string{"devcluster/pod": "fail", "devcluster/times": "1"}, corev1.RestartPolicyOnFailure, batchv1.JobComplete, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Each Job takes a second, during which the test only waits.
			t.Parallel()
			limit := int32(0)
			if test.policy == corev1.RestartPolicyOnFailure {
				limit = 3
			}
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: test.name}}
			job.Spec.BackoffLimit = &limit
			job.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}, Spec: podSpec()}
			job.Spec.Template.Spec.RestartPolicy = test.policy
			jobs := env.shared.client.BatchV1().Jobs(namespace)
			if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "job", func() error {
				now, err := jobs.Get(t.Context(), test.name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				for _, condition := range now.Status.Conditions {
					if condition.Type == test.want && condition.Status == corev1.ConditionTrue && now.Status.Failed == test.failed {
						return nil
					}
				}
				return fmt.Errorf("its status is %+v", now.Status)
			})
		})
	}
}

func TestDeletedPods(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	pods := c.client.CoreV1().Pods(namespace)
	gone := func(name string) error {
		_, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	}
	for name, annotations := range map[string]map[string]string{
		"at-once": nil,
		"crashes": {"devcluster/pod": "crash-loop"},
		"pulls":   {"devcluster/pod": "image-pull-back-off"},
		"slow":    {"devcluster/stop-after": "1s"},
	} {
		pod := newPod(annotations)
		pod.Name = name
		c.create(t, namespace, pod)
		c.awaitPod(t, namespace, name, func(p *corev1.Pod) bool { return p.Status.StartTime != nil })
		deleted := time.Now()
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "deleted pod "+name, func() error { return gone(name) })
		// This is a lower limit, so a slow machine cannot break it.
		if took := time.Since(deleted); name == "slow" && took < time.Second {
			t.Errorf("%s was gone after %s", name, took)
		}
	}
}
