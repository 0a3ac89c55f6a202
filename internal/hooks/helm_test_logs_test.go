// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// errorWriter is a writer that always fails.
type errorWriter struct{ err error }

func (w errorWriter) Write([]byte) (int, error) { return 0, w.err }

// TestWriteTestLogs writes the logs of the pods of a test, oldest first.
func TestWriteTestLogs(t *testing.T) {
	pod := func(name string, second int64, containers ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)}}
		for _, c := range containers {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c})
		}
		return p
	}
	pods := fake.NewClientset(pod("a", 2, "a", "b"), pod("b", 1, "a")).CoreV1().Pods("")
	logs, err := ListLogs(t.Context(), pods, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fetch := func(log ContainerLog) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(log.Pod + " " + log.Container)), nil
	}
	smoke := &release.Hook{Name: "smoke", Kind: "Job"}
	if err := writeTestLogs(&out, smoke, logs, fetch); err != nil {
		t.Error(err)
	}
	if want := "POD LOGS: smoke\nb a\na a\na b\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	gone := errors.New("pod not found")
	err = writeTestLogs(&out, smoke, logs, func(ContainerLog) (io.ReadCloser, error) { return nil, gone })
	if !errors.Is(err, gone) || err.Error() != "unable to get pod logs for smoke: pod not found" || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
	full := errors.New("no space left")
	if err := writeTestLogs(errorWriter{full}, smoke, logs, fetch); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
