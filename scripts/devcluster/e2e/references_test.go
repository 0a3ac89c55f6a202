// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodWaitsForReferences(t *testing.T) {
	c := cluster(t)
	ref := corev1.LocalObjectReference{Name: "object"}
	volume := func(source corev1.VolumeSource) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) { s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}} }
	}
	configMap := func(t *testing.T, namespace string) error {
		_, err := c.client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "object"}, Data: map[string]string{"key": "value"},
		}, metav1.CreateOptions{})
		return err
	}
	secret := func(t *testing.T, namespace string) error {
		_, err := c.client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "object"}, StringData: map[string]string{"key": "value"},
		}, metav1.CreateOptions{})
		return err
	}
	for _, test := range []struct {
		name    string
		change  func(*corev1.PodSpec)
		waiting string
		reason  string
		message string
		create  func(*testing.T, string) error
	}{
		{
			"config map as volume", volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref}}),
			"ContainerCreating", "FailedMount", `MountVolume.SetUp failed for volume "v" : configmap "object" not found`, configMap,
		},
		{
			"secret as volume", volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "object"}}),
			"ContainerCreating", "FailedMount", `MountVolume.SetUp failed for volume "v" : secret "object" not found`, secret,
		},
		{
			"projected secret", volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: ref}}},
			}}),
			"ContainerCreating", "FailedMount", `MountVolume.SetUp failed for volume "v" : secret "object" not found`, secret,
		},
		{
			"config map as environment", func(s *corev1.PodSpec) {
				s.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref}}}
			},
			"CreateContainerConfigError", "Failed", `Error: configmap "object" not found`, configMap,
		},
		{
			"secret as variable", func(s *corev1.PodSpec) {
				s.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{
					SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref, Key: "key"},
				}}}
			},
			"CreateContainerConfigError", "Failed", `Error: secret "object" not found`, secret,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			namespace := c.namespace(t)
			pod := newPod(nil)
			test.change(&pod.Spec)
			c.create(t, namespace, pod)
			held := c.awaitPod(t, namespace, "pod", func(p *corev1.Pod) bool { return waitsFor(p, test.waiting) })
			if held.Status.Phase != corev1.PodPending {
				t.Errorf("its status is %+v", held.Status)
			}
			c.awaitWarning(t, namespace, "pod", test.reason, test.message)
			if err := test.create(t, namespace); err != nil {
				t.Fatal(err)
			}
			c.awaitPod(t, namespace, "pod", isReady)
		})
	}
}

func TestClaims(t *testing.T) {
	c := cluster(t)
	wait := "wait"
	for _, test := range []struct {
		name  string
		class *string
		// alone is the expected phase of the claim before a pod uses it.
		alone corev1.PersistentVolumeClaimPhase
	}{
		{"default class", nil, corev1.ClaimBound},
		{"class that waits", &wait, corev1.ClaimPending},
	} {
		t.Run(test.name, func(t *testing.T) {
			namespace := c.namespace(t)
			claims := c.client.CoreV1().PersistentVolumeClaims(namespace)
			output, err := c.kubectl(t, "create", "configmap", "-n", namespace, "unrelated")
			if err != nil {
				t.Fatal(output)
			}
			pod := newPod(nil)
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"},
			}}}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
			claim.Spec.StorageClassName = test.class
			claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity("1Gi")}
			if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.awaitClaim(t, namespace, func(now *corev1.PersistentVolumeClaim) bool {
				// The controller has observed the claim.
				return now.Status.Phase == test.alone && (test.class == nil || c.hasEvent(t, namespace, "WaitForFirstConsumer"))
			})
			c.create(t, namespace, pod)
			c.awaitPod(t, namespace, "pod", isReady)
			bound := c.awaitClaim(t, namespace, func(now *corev1.PersistentVolumeClaim) bool { return now.Status.Phase == corev1.ClaimBound })

			if err := c.client.CoreV1().Pods(namespace).Delete(t.Context(), "pod", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := claims.Delete(t.Context(), "claim", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			c.awaitNoVolume(t, bound.Spec.VolumeName)
		})
	}
}

func TestPodWaitsForClaim(t *testing.T) {
	c := cluster(t)
	namespace := c.namespace(t)
	pod := newPod(nil)
	// The node is set here because the scheduler would not schedule a pod whose claim does not
	// exist.
	pod.Spec.NodeName = "node-1"
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"},
	}}}
	c.create(t, namespace, pod)
	c.awaitWarning(t, namespace, "pod", "FailedMount", `MountVolume.SetUp failed for volume "v" : persistentvolumeclaim "claim" not found`)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity("1Gi")}
	if _, err := c.client.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitPod(t, namespace, "pod", isReady)
}
