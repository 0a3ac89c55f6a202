// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// fakeSource is a source that contains objects named "there", with the key "key". Claims named
// "there" are bound, claims named "pending" are not.
type fakeSource struct{}

func (fakeSource) configMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	if name != "there" {
		return nil, nil
	}
	return &corev1.ConfigMap{Data: map[string]string{"key": ""}, BinaryData: map[string][]byte{"binary": nil}}, nil
}

func (fakeSource) secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if name != "there" {
		return nil, nil
	}
	return &corev1.Secret{Data: map[string][]byte{"key": nil}}, nil
}

func (fakeSource) claim(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	switch name {
	case "there", "pod-v":
		claim.Status.Phase = corev1.ClaimBound
	case "pending":
		claim.Status.Phase = corev1.ClaimPending
	default:
		return nil, nil
	}
	return claim, nil
}

func TestMissingVolumeReferences(t *testing.T) {
	optional := true
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	items := func(key string) []corev1.KeyToPath { return []corev1.KeyToPath{{Key: key, Path: "p"}} }
	projected := func(p corev1.VolumeProjection) corev1.VolumeSource {
		there := corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: ref("there")}}
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{there, p}}}
	}
	claim := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	for _, test := range []struct {
		name   string
		source corev1.VolumeSource
		want   string
	}{
		{"config map", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("there"), Items: items("binary")}}, ""},
		{"no config map", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("x")}}, `configmap "x" not found`},
		{"optional config map", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("x"), Optional: &optional}}, ""},
		{"no key of config map", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref("there"), Items: items("x")}}, "configmap references non-existent config key: x"},
		{"secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "there", Items: items("key")}}, ""},
		{"no secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x"}}, `secret "x" not found`},
		{"optional secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x", Optional: &optional}}, ""},
		{"no key of secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "there", Items: items("x")}}, "references non-existent secret key: x"},
		{"projected config map", projected(corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref("there")}}), ""},
		{"no projected config map", projected(corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref("x")}}), `configmap "x" not found`},
		{"no projected secret", projected(corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: ref("x")}}), `secret "x" not found`},
		{"claim", claim("there"), ""},
		{"pending claim", claim("pending"), `persistentvolumeclaim "pending" is not bound`},
		{"no claim", claim("x"), `persistentvolumeclaim "x" not found`},
		{"ephemeral claim", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}, ""},
		{"empty folder", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := newPod(corev1.RestartPolicyAlways)
			pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{ref("x")}
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: test.source}}
			want := ""
			if test.want != "" {
				want = `MountVolume.SetUp failed for volume "v" : ` + test.want
			}
			got, err := checker{source: fakeSource{}, pod: pod}.check(t.Context())
			if err != nil || got.mount != want || len(got.environment) != 0 {
				t.Errorf("missing is %+v, %v; want %q", got, err, want)
			}
		})
	}
}

func TestMissingEnvironmentReferences(t *testing.T) {
	optional := true
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	from := func(source corev1.EnvVarSource) corev1.Container {
		return corev1.Container{Env: []corev1.EnvVar{{Name: "PLAIN", Value: "x"}, {Name: "FROM", ValueFrom: &source}}}
	}
	all := func(source corev1.EnvFromSource) corev1.Container {
		return corev1.Container{EnvFrom: []corev1.EnvFromSource{source}}
	}
	for _, test := range []struct {
		name      string
		container corev1.Container
		want      string
	}{
		{"key of config map", from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("there"), Key: "key"}}), ""},
		{"no config map", from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("x"), Key: "key"}}), `configmap "x" not found`},
		{"no key of config map", from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("there"), Key: "x"}}), "couldn't find key x in ConfigMap ns/there"},
		{"optional config map", from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("x"), Key: "key", Optional: &optional}}), ""},
		{"key of secret", from(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("there"), Key: "key"}}), ""},
		{"no secret", from(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("x"), Key: "key"}}), `secret "x" not found`},
		{"optional secret", from(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("x"), Key: "key", Optional: &optional}}), ""},
		{"field", from(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}), ""},
		{"all of config map", all(corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("there")}}), ""},
		{"all of no config map", all(corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("x")}}), `configmap "x" not found`},
		{"all of no secret", all(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("x")}}), `secret "x" not found`},
		{"all of optional secret", all(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("x"), Optional: &optional}}), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, role := range []string{"init", "main"} {
				pod := newPod(corev1.RestartPolicyAlways)
				test.container.Name = role
				if role == "init" {
					pod.Spec.InitContainers = append(pod.Spec.InitContainers, test.container)
				} else {
					pod.Spec.Containers = append(pod.Spec.Containers, test.container)
				}
				got, err := checker{source: fakeSource{}, pod: pod}.check(t.Context())
				if err != nil || got.mount != "" || got.environment[role] != test.want {
					t.Errorf("missing of %s container is %+v, %v; want %q", role, got, err, test.want)
				}
			}
		})
	}
}
