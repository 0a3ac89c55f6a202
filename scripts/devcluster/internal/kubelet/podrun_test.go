// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newPod returns a pod with an init container, a sidecar, and two containers.
func newPod(policy corev1.RestartPolicy, annotations ...string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "uid", Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			NodeName:      "node-1",
			RestartPolicy: policy,
			InitContainers: []corev1.Container{
				{Name: "prepare", Image: "prepare"},
				{Name: "side", Image: "side", RestartPolicy: &always},
			},
			Containers: []corev1.Container{{Name: "one", Image: "one"}, {Name: "two", Image: "two"}},
		},
	}
	for i := 0; i < len(annotations); i += 2 {
		pod.Annotations[annotations[i]] = annotations[i+1]
	}
	return pod
}

// describe returns a summary of a pod's status: the phase, the readiness, and the containers.
func describe(s corev1.PodStatus) string {
	text := []string{string(s.Phase)}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			text = append(text, "Ready")
		}
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for _, c := range list {
			text = append(text, c.Name+"="+describeContainer(c))
		}
	}
	return strings.Join(text, " ")
}

func describeContainer(c corev1.ContainerStatus) string {
	state := "waiting"
	switch {
	case c.State.Running != nil && c.Ready:
		state = "ready"
	case c.State.Running != nil:
		state = "running"
	case c.State.Terminated != nil:
		state = fmt.Sprintf("exit%d", c.State.Terminated.ExitCode)
	case c.State.Waiting != nil:
		state = c.State.Waiting.Reason
	}
	if c.LastTerminationState.Terminated != nil {
		state += fmt.Sprintf("(after exit%d, %d restarts)", c.LastTerminationState.Terminated.ExitCode, c.RestartCount)
	}
	return state
}

// moment is a time after the start of a pod, with the status expected then.
type moment struct {
	at   time.Duration
	want string
}

func TestPodAnnotations(t *testing.T) {
	const inits = "prepare=exit0 side=ready "
	tests := []struct {
		name    string
		pod     *corev1.Pod
		moments []moment
	}{
		{
			"ready at once", newPod(corev1.RestartPolicyAlways),
			[]moment{{0, "Running Ready " + inits + "one=ready two=ready"}},
		},
		{
			"ready later", newPod(corev1.RestartPolicyAlways, AnnotationAfter, "3s"),
			[]moment{
				{0, "Running " + inits + "one=running two=running"},
				{2999 * time.Millisecond, "Running " + inits + "one=running two=running"},
				{3 * time.Second, "Running Ready " + inits + "one=ready two=ready"},
			},
		},
		{
			"one container later", newPod(corev1.RestartPolicyAlways, AnnotationAfter, "3s", AnnotationContainer, "two"),
			[]moment{
				{0, "Running " + inits + "one=ready two=running"},
				{3 * time.Second, "Running Ready " + inits + "one=ready two=ready"},
			},
		},
		{
			"never ready", newPod(corev1.RestartPolicyAlways, AnnotationPod, "never", AnnotationContainer, " one , two "),
			[]moment{{0, "Running " + inits + "one=running two=running"}, {time.Hour, "Running " + inits + "one=running two=running"}},
		},
		{
			"crash loop", newPod(corev1.RestartPolicyAlways, AnnotationPod, "crash-loop", AnnotationContainer, "one"),
			[]moment{
				{0, "Running " + inits + "one=CrashLoopBackOff(after exit1, 1 restarts) two=ready"},
				{999 * time.Millisecond, "Running " + inits + "one=CrashLoopBackOff(after exit1, 1 restarts) two=ready"},
				{time.Second, "Running " + inits + "one=CrashLoopBackOff(after exit1, 2 restarts) two=ready"},
				{3 * time.Second, "Running " + inits + "one=CrashLoopBackOff(after exit1, 3 restarts) two=ready"},
			},
		},
		{
			"crash loop after a while", newPod(corev1.RestartPolicyAlways, AnnotationPod, "crash-loop", AnnotationAfter, "2s", AnnotationContainer, "one"),
			[]moment{
				{0, "Running " + inits + "one=running two=ready"},
				{2 * time.Second, "Running " + inits + "one=running(after exit1, 1 restarts) two=ready"},
				{4 * time.Second, "Running " + inits + "one=CrashLoopBackOff(after exit1, 1 restarts) two=ready"},
				{5 * time.Second, "Running " + inits + "one=running(after exit1, 2 restarts) two=ready"},
			},
		},
		{
			"crash loop that heals", newPod(corev1.RestartPolicyAlways, AnnotationPod, "crash-loop", AnnotationTimes, "2", AnnotationContainer, "one"),
			[]moment{
				{0, "Running Ready " + inits + "one=ready(after exit1, 2 restarts) two=ready"},
			},
		},
		{
			"image is pulled", newPod(corev1.RestartPolicyAlways, AnnotationPull, "3s", AnnotationContainer, "one"),
			[]moment{
				{0, "Running " + inits + "one=PodInitializing two=ready"},
				{2999 * time.Millisecond, "Running " + inits + "one=PodInitializing two=ready"},
				{3 * time.Second, "Running Ready " + inits + "one=ready two=ready"},
			},
		},
		{
			"image cannot be pulled", newPod(corev1.RestartPolicyAlways, AnnotationPod, "image-pull-back-off", AnnotationTimes, "2", AnnotationContainer, "one"),
			[]moment{
				{0, "Running " + inits + "one=ErrImagePull two=ready"},
				{300 * time.Millisecond, "Running " + inits + "one=ImagePullBackOff two=ready"},
				{1300 * time.Millisecond, "Running " + inits + "one=ErrImagePull two=ready"},
				{1600 * time.Millisecond, "Running Ready " + inits + "one=ready two=ready"},
			},
		},
		{
			"init container fails", newPod(corev1.RestartPolicyAlways, AnnotationPod, "fail", AnnotationContainer, "prepare"),
			[]moment{{0, "Pending prepare=CrashLoopBackOff(after exit1, 1 restarts) side=PodInitializing one=PodInitializing two=PodInitializing"}},
		},
		{
			"init container fails for good", newPod(corev1.RestartPolicyNever, AnnotationPod, "fail", AnnotationContainer, "prepare"),
			[]moment{{0, "Failed prepare=exit1 side=PodInitializing one=PodInitializing two=PodInitializing"}},
		},
		{
			"init container takes long", newPod(corev1.RestartPolicyAlways, AnnotationAfter, "1s", AnnotationContainer, "prepare"),
			[]moment{
				{0, "Pending prepare=running side=PodInitializing one=PodInitializing two=PodInitializing"},
				{time.Second, "Running Ready " + inits + "one=ready two=ready"},
			},
		},
		{
			"sidecar is never ready", newPod(corev1.RestartPolicyAlways, AnnotationPod, "never", AnnotationContainer, "side"),
			[]moment{{0, "Running prepare=exit0 side=running one=ready two=ready"}},
		},
		{
			"completes", newPod(corev1.RestartPolicyNever),
			[]moment{{0, "Succeeded prepare=exit0 side=exit0 one=exit0 two=exit0"}},
		},
		{
			"completes later", newPod(corev1.RestartPolicyOnFailure, AnnotationAfter, "1s"),
			[]moment{
				{0, "Running Ready " + inits + "one=ready two=ready"},
				{time.Second, "Succeeded prepare=exit0 side=exit0 one=exit0 two=exit0"},
			},
		},
		{
			"fails", newPod(corev1.RestartPolicyNever, AnnotationPod, "fail", AnnotationContainer, "two"),
			[]moment{{0, "Failed prepare=exit0 side=exit0 one=exit0 two=exit1"}},
		},
		{
			"crash loop of what is not restarted", newPod(corev1.RestartPolicyNever, AnnotationPod, "crash-loop"),
			[]moment{{0, "Failed prepare=exit0 side=exit0 one=exit1 two=exit1"}},
		},
		{
			"fails and is restarted", newPod(corev1.RestartPolicyOnFailure, AnnotationPod, "fail", AnnotationContainer, "two"),
			[]moment{{0, "Running " + inits + "one=exit0 two=CrashLoopBackOff(after exit1, 1 restarts)"}},
		},
		{
			"completes what is always restarted", newPod(corev1.RestartPolicyAlways, AnnotationPod, "complete", AnnotationContainer, "two"),
			[]moment{{0, "Running " + inits + "one=ready two=CrashLoopBackOff(after exit0, 1 restarts)"}},
		},
		{
			"serves although it is not restarted", newPod(corev1.RestartPolicyNever, AnnotationPod, "ready"),
			[]moment{{0, "Running Ready " + inits + "one=ready two=ready"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			start := time.Unix(1000, 0)
			run := newPodRun(test.pod, "10.244.0.1", start)
			var wake time.Time
			for _, m := range test.moments {
				now := start.Add(m.at)
				if !wake.IsZero() && wake.Before(now) {
					// As in package reconcile, it is called when it has asked for it.
					run.advance(wake, test.pod, missing{})
				}
				wake, _ = run.advance(now, test.pod, missing{})
				if got := describe(run.status(now, test.pod, false)); got != m.want {
					t.Errorf("after %s:\n got %s\nwant %s", m.at, got, m.want)
				}
				if !wake.IsZero() && !wake.After(now) {
					t.Errorf("after %s: wants to be called at once again", m.at)
				}
			}
		})
	}
}

func TestPodRecoversAfterAnnotationChange(t *testing.T) {
	for _, mode := range []string{"crash-loop", "never", "image-pull-back-off"} {
		t.Run(mode, func(t *testing.T) {
			pod := newPod(corev1.RestartPolicyAlways, AnnotationPod, mode)
			now := time.Unix(1000, 0)
			run := newPodRun(pod, "10.244.0.1", now)
			run.advance(now, pod, missing{})
			if got := describe(run.status(now, pod, false)); strings.Contains(got, " Ready ") {
				t.Fatalf("ready too early: %s", got)
			}
			delete(pod.Annotations, AnnotationPod)
			run.advance(now, pod, missing{})
			if got := describe(run.status(now, pod, false)); !strings.Contains(got, " Ready ") {
				t.Errorf("not ready: %s", got)
			}
		})
	}
}

func TestPodRunWaitsForReferences(t *testing.T) {
	pod := newPod(corev1.RestartPolicyAlways)
	now := time.Unix(1000, 0)
	run := newPodRun(pod, "10.244.0.1", now)

	_, events := run.advance(now, pod, missing{mount: "no volume"})
	status := run.status(now, pod, false)
	if got, want := describe(status), "Pending prepare=PodInitializing side=PodInitializing one=PodInitializing two=PodInitializing"; got != want {
		t.Errorf("without a volume:\n got %s\nwant %s", got, want)
	}
	if status.PodIP != "" {
		t.Errorf("a pod that is not mounted has the address %s", status.PodIP)
	}
	if len(events) != 1 || events[0].reason != "FailedMount" {
		t.Errorf("events: %v", events)
	}
	if _, events = run.advance(now, pod, missing{mount: "no volume"}); len(events) != 0 {
		t.Errorf("the same again: %v", events)
	}

	_, events = run.advance(now, pod, missing{environment: map[string]string{"two": "no secret"}})
	if got, want := describe(run.status(now, pod, false)), "Running prepare=exit0 side=ready one=ready two=CreateContainerConfigError"; got != want {
		t.Errorf("without environment:\n got %s\nwant %s", got, want)
	}
	if len(events) != 1 || events[0].message != "Error: no secret" {
		t.Errorf("events: %v", events)
	}

	run.advance(now, pod, missing{})
	if got, want := describe(run.status(now, pod, false)), "Running Ready prepare=exit0 side=ready one=ready two=ready"; got != want {
		t.Errorf("with all:\n got %s\nwant %s", got, want)
	}
}

func TestInvalidAnnotations(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{AnnotationPod, "redy", "must be one of"},
		{AnnotationAfter, "soon", "is not a duration"},
		{AnnotationAfter, "-1s", "is not a duration"},
		{AnnotationStopAfter, "x", "is not a duration"},
		{AnnotationTimes, "many", "is not a number"},
		{AnnotationContainer, "three", "has no container \"three\""},
		{AnnotationLog + ".three", "text", "has no container \"three\""},
		{"devcluster/delay", "1s", "supports only"},
	} {
		t.Run(test.key+"="+test.value, func(t *testing.T) {
			pod := newPod(corev1.RestartPolicyAlways, test.key, test.value)
			now := time.Unix(1000, 0)
			run := newPodRun(pod, "10.244.0.1", now)
			_, events := run.advance(now, pod, missing{})
			status := run.status(now, pod, false)
			held := false
			for _, c := range append(status.InitContainerStatuses, status.ContainerStatuses...) {
				w := c.State.Waiting
				held = held || w != nil && w.Reason == reasonCreateError && strings.Contains(w.Message, test.want)
			}
			if !held {
				t.Errorf("no container waits with a message %q: %s", test.want, describe(status))
			}
			if len(events) == 0 || !strings.Contains(events[0].message, test.want) {
				t.Errorf("events: %v, want one with %q", events, test.want)
			}
		})
	}
}

func TestReadinessGates(t *testing.T) {
	pod := newPod(corev1.RestartPolicyAlways)
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/open"}}
	now := time.Unix(1000, 0)
	run := newPodRun(pod, "10.244.0.1", now)
	run.advance(now, pod, missing{})
	pod.Status = run.status(now, pod, false)
	if got := describe(pod.Status); strings.Contains(got, " Ready ") {
		t.Errorf("ready although its gate is closed: %s", got)
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "example.com/open", Status: corev1.ConditionTrue})
	later := now.Add(time.Minute)
	status := run.status(later, pod, false)
	if got := describe(status); !strings.Contains(got, " Ready ") {
		t.Errorf("not ready although its gate is open: %s", got)
	}
	for _, c := range status.Conditions {
		changed := c.Type == corev1.PodReady
		if c.Type != "example.com/open" && changed != c.LastTransitionTime.Time.Equal(later) {
			t.Errorf("condition %s has changed at %s", c.Type, c.LastTransitionTime)
		}
	}
}

func TestUnchangedStatusIsNotReported(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{
		"ready":      newPod(corev1.RestartPolicyAlways),
		"crash loop": newPod(corev1.RestartPolicyAlways, AnnotationPod, "crash-loop"),
		"completed":  newPod(corev1.RestartPolicyNever),
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 123456789)
			run := newPodRun(pod, "10.244.0.1", now)
			run.advance(now, pod, missing{})
			raw, err := json.Marshal(run.status(now, pod, false))
			if err != nil {
				t.Fatal(err)
			}
			pod.Status = corev1.PodStatus{}
			if err := json.Unmarshal(raw, &pod.Status); err != nil {
				t.Fatal(err)
			}
			later := now.Add(100 * time.Millisecond)
			run.advance(later, pod, missing{})
			if again := run.status(later, pod, false); !equality.Semantic.DeepEqual(pod.Status, again) {
				t.Errorf("reported %+v\nand then %+v", pod.Status, again)
			}
		})
	}
}

func TestKilledPodsFail(t *testing.T) {
	pod := newPod(corev1.RestartPolicyAlways, AnnotationPod, "crash-loop", AnnotationContainer, "two")
	now := time.Unix(1000, 0)
	run := newPodRun(pod, "10.244.0.1", now)
	run.advance(now, pod, missing{})
	run.kill(now)
	got := describe(run.status(now, pod, true))
	if want := "Failed prepare=exit0 side=exit143 one=exit143 two=exit137(after exit1, 1 restarts)"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestPodsStopWithinGracePeriod(t *testing.T) {
	for _, test := range []struct {
		after string
		grace int64
		want  time.Duration
	}{
		{"0s", 30, 0},
		{"3s", 30, 3 * time.Second},
		{"3s", 1, time.Second},
		{"3s", 0, 0},
		{"1h", 30, 30 * time.Second},
	} {
		pod := newPod(corev1.RestartPolicyAlways, AnnotationStopAfter, test.after)
		pod.DeletionGracePeriodSeconds = &test.grace
		if got := stopAfter(pod); got != test.want {
			t.Errorf("%s with a grace period of %ds: stopped after %s, want %s", test.after, test.grace, got, test.want)
		}
	}
}

func TestAddressesAreUnique(t *testing.T) {
	a := newAddresses()
	seen := map[string]bool{}
	for range addressCount {
		ip := a.take()
		if seen[ip] {
			t.Fatalf("%s comes twice", ip)
		}
		seen[ip] = true
	}
	a.release("10.244.3.4")
	if ip := a.take(); ip != "10.244.3.4" {
		t.Errorf("the only free address is 10.244.3.4, not %s", ip)
	}
}
