// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The annotations that define the behavior of a pod.
const (
	// AnnotationPod defines what the containers do. Its value is one of the modes.
	AnnotationPod = "devcluster/pod"
	// AnnotationAfter is the duration, as in Go, that a container runs before it is ready or
	// exits. The default is 0.
	AnnotationAfter = "devcluster/after"
	// AnnotationContainer names the containers, separated by commas, to which AnnotationPod,
	// AnnotationAfter and AnnotationPull apply. They can be init containers. The default is
	// all containers except init containers.
	AnnotationContainer = "devcluster/container"
	// AnnotationTimes is the number of times that a container crashes, or that its image
	// cannot be pulled, before the container behaves normally. By default, it never behaves
	// normally.
	AnnotationTimes = "devcluster/times"
	// AnnotationPull is the duration, as in Go, that it takes to pull the images of the
	// containers that AnnotationContainer names. By default, they are already on the node.
	AnnotationPull = "devcluster/pull"
	// AnnotationStopAfter is the duration, as in Go, that a deleted pod takes to stop, but at
	// most its grace period. The default is 0.
	AnnotationStopAfter = "devcluster/stop-after"
	// AnnotationLog is the log that kubectl logs shows for every container.
	// AnnotationLog.NAME is the log for the container NAME.
	AnnotationLog = "devcluster/log"

	annotationPrefix = "devcluster/"
)

var annotations = []string{AnnotationPod, AnnotationAfter, AnnotationContainer, AnnotationTimes, AnnotationPull, AnnotationStopAfter, AnnotationLog}

// mode is a value of AnnotationPod: what a container does.
type mode string

const (
	// modeReady runs forever and becomes ready.
	modeReady mode = "ready"
	// modeNever runs forever and never becomes ready.
	modeNever mode = "never"
	// modeComplete exits with code 0.
	modeComplete mode = "complete"
	// modeFail exits with code 1. The pod's restart policy decides whether it is restarted.
	modeFail mode = "fail"
	// modeCrashLoop is the same as modeFail.
	modeCrashLoop mode = "crash-loop"
	// modeImagePull has an image that cannot be pulled.
	modeImagePull mode = "image-pull-back-off"
)

var modes = []mode{modeReady, modeNever, modeComplete, modeFail, modeCrashLoop, modeImagePull}

// behavior describes what a container does.
type behavior struct {
	mode  mode
	after time.Duration
	// pull is how long it takes to pull the image.
	pull time.Duration
	// times is the number of failures before the container behaves normally. If it is
	// negative, the container always fails.
	times int
	// normal is the mode of the container after these failures.
	normal mode
}

// now returns the mode of the container after the given number of failures.
func (b behavior) now(failures int) mode {
	failing := b.mode == modeCrashLoop || b.mode == modeFail || b.mode == modeImagePull
	if failing && b.times >= 0 && failures >= b.times {
		return b.normal
	}
	if b.mode == modeCrashLoop {
		return modeFail
	}
	return b.mode
}

// behaviorOf returns the behavior of a container according to the annotations of its pod.
func behaviorOf(pod *corev1.Pod, name string, role containerRole) (behavior, error) {
	normal := normalMode(pod, role)
	b := behavior{mode: normal, normal: normal, times: -1}
	if err := checkAnnotations(pod); err != nil {
		return b, err
	}
	chosen, err := isChosen(pod, name, role)
	if err != nil || !chosen {
		return b, err
	}
	if b.after, err = durationAnnotation(pod, AnnotationAfter); err != nil {
		return b, err
	}
	if b.pull, err = durationAnnotation(pod, AnnotationPull); err != nil {
		return b, err
	}
	if text, ok := pod.Annotations[AnnotationTimes]; ok {
		if b.times, err = strconv.Atoi(text); err != nil || b.times < 0 {
			return b, fmt.Errorf("annotation %s: %q is not a number of failures", AnnotationTimes, text)
		}
	}
	text, ok := pod.Annotations[AnnotationPod]
	if !ok {
		return b, nil
	}
	if !slices.Contains(modes, mode(text)) {
		return b, fmt.Errorf("annotation %s: %q must be one of %v", AnnotationPod, text, modes)
	}
	b.mode = mode(text)
	if role == roleInit && b.mode == modeReady {
		// An init container must exit before the next container starts.
		b.mode = modeComplete
	}
	return b, nil
}

// checkAnnotations returns an error if one of the dev cluster's annotations would have no
// effect.
func checkAnnotations(pod *corev1.Pod) error {
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		container, isLog := strings.CutPrefix(key, AnnotationLog+".")
		switch {
		case !strings.HasPrefix(key, annotationPrefix) || slices.Contains(annotations, key):
		case isLog && hasContainer(pod, container):
		case isLog:
			return fmt.Errorf("annotation %s: the pod has no container %q", key, container)
		default:
			return fmt.Errorf("annotation %s: the dev cluster supports only %v", key, annotations)
		}
	}
	_, err := durationAnnotation(pod, AnnotationStopAfter)
	return err
}

// normalMode returns what a container does without annotations: it runs, or it exits if the
// restart policy of the pod is Never or OnFailure.
func normalMode(pod *corev1.Pod, role containerRole) mode {
	switch {
	case role == roleInit:
		return modeComplete
	case role == roleSidecar:
		return modeReady
	case pod.Spec.RestartPolicy == corev1.RestartPolicyNever || pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return modeComplete
	default:
		return modeReady
	}
}

func isChosen(pod *corev1.Pod, name string, role containerRole) (bool, error) {
	text, ok := pod.Annotations[AnnotationContainer]
	if !ok {
		return role == roleMain, nil
	}
	chosen := strings.Split(text, ",")
	for i := range chosen {
		chosen[i] = strings.TrimSpace(chosen[i])
		if !hasContainer(pod, chosen[i]) {
			return false, fmt.Errorf("annotation %s: the pod has no container %q", AnnotationContainer, chosen[i])
		}
	}
	return slices.Contains(chosen, name), nil
}

func hasContainer(pod *corev1.Pod, name string) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Spec.Containers, named) || slices.ContainsFunc(pod.Spec.InitContainers, named)
}

func durationAnnotation(pod *corev1.Pod, key string) (time.Duration, error) {
	text, ok := pod.Annotations[key]
	if !ok {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("annotation %s: %q is not a duration such as 3s", key, text)
	}
	return d, nil
}
