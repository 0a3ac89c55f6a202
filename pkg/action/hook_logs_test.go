// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// writes keeps each write by itself, and fails from one on.
type writes struct {
	all  []string
	fail int // the write that fails, from 1; 0 for none
}

var errFull = errors.New("no space left")

func (w *writes) Write(data []byte) (int, error) {
	if w.fail > 0 && len(w.all)+1 >= w.fail {
		return 0, errFull
	}
	w.all = append(w.all, string(data))
	return len(data), nil
}

func TestPrefixWriter(t *testing.T) {
	long := strings.Repeat("x", longestLine)
	for _, c := range []struct {
		name string
		in   []string
		want []string
	}{
		{name: "nothing"},
		{"empty writes", []string{"", ""}, nil},
		{"a line", []string{"a\n"}, []string{"> a\n"}},
		{"a line in pieces", []string{"a", "b", "", "c\n"}, []string{"> abc\n"}},
		{"lines in one", []string{"a\nb\n\nc\n"}, []string{"> a\n", "> b\n", "> \n", "> c\n"}},
		{"lines over writes", []string{"a\nb", "b\nc"}, []string{"> a\n", "> bb\n", "> c\n"}},
		{"no newline at the end", []string{"a\nb"}, []string{"> a\n", "> b\n"}},
		{"only newlines", []string{"\n\n"}, []string{"> \n", "> \n"}},
		{"a return is part of the line", []string{"10%\r20%\r\n"}, []string{"> 10%\r20%\r\n"}},
		{"a long line stays whole", []string{long[:longestLine/2], long[:longestLine/2], "\n"}, []string{"> " + long + "\n"}},
		{"a longer one does not", []string{long, "yy", "z\n"}, []string{"> " + long + "yy\n", "> z\n"}},
		{"nor one without an end", []string{long + "y", "z"}, []string{"> " + long + "y\n", "> z\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := &writes{}
			w := newPrefixWriter(out, "> ")
			for _, data := range c.in {
				buffer := []byte(data)
				if n, err := w.Write(buffer); n != len(data) || err != nil {
					t.Errorf("wrote %d of %d, %v", n, len(data), err)
				}
				for i := range buffer { // it is the caller's again
					buffer[i] = '!'
				}
			}
			if err := w.end(); err != nil {
				t.Error(err)
			}
			if !slices.Equal(out.all, c.want) {
				t.Errorf("got %.200q, want %.200q", out.all, c.want)
			}
		})
	}
}

func TestPrefixWriterThatCannotWrite(t *testing.T) {
	out := &writes{fail: 2}
	w := newPrefixWriter(out, "> ")
	if n, err := w.Write([]byte("a\nb\nc\n")); n != 4 || !errors.Is(err, errFull) {
		t.Errorf("wrote %d, %v", n, err)
	}
	w = newPrefixWriter(&writes{fail: 1}, "> ")
	if n, err := w.Write([]byte("a")); n != 1 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if err := w.end(); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

// closing notes that it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestCopyLog(t *testing.T) {
	broken := errors.New("connection lost")
	for _, c := range []struct {
		name string
		in   io.Reader
		out  func(io.Writer) io.Writer
		want string
		err  error
	}{
		{"as it is", strings.NewReader("a\nb"), func(w io.Writer) io.Writer { return w }, "a\nb", nil},
		{"behind a prefix", iotest.OneByteReader(strings.NewReader("a\nb")), func(w io.Writer) io.Writer { return newPrefixWriter(w, "> ") }, "> a\n> b\n", nil},
		{"that breaks off", io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), func(w io.Writer) io.Writer { return newPrefixWriter(w, "> ") }, "> a\n", broken},
		{"that cannot be written", strings.NewReader("a"), func(io.Writer) io.Writer { return newPrefixWriter(&writes{fail: 1}, "> ") }, "", errFull},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			in := &closing{Reader: c.in}
			if err := copyLog(c.out(&b), in); !errors.Is(err, c.err) || err != nil && c.err == nil {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if b.String() != c.want || !in.closed {
				t.Errorf("got %q, closed %v", b.String(), in.closed)
			}
		})
	}
}

func TestPodsOf(t *testing.T) {
	for kind, want := range map[string]metav1.ListOptions{
		"Job": {LabelSelector: "job-name=a"}, "Pod": {FieldSelector: "metadata.name=a"}, "ConfigMap": {}, "CronJob": {},
	} {
		got, has := podsOf(&release.Hook{Kind: kind, Name: "a"})
		if got.LabelSelector != want.LabelSelector || got.FieldSelector != want.FieldSelector || has != (kind == "Job" || kind == "Pod") {
			t.Errorf("%s: %+v, %v", kind, got, has)
		}
	}
}

// TestWritePodLogs has the logs of a test's pods, the oldest first.
func TestWritePodLogs(t *testing.T) {
	pod := func(name string, second int64, containers ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)}}
		for _, c := range containers {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c})
		}
		return p
	}
	pods := fake.NewClientset(pod("a", 2, "a", "b"), pod("b", 1, "a")).CoreV1().Pods("")
	logs, err := logsOf(t.Context(), pods, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fetch := func(log podLog) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(log.pod + " " + log.container)), nil
	}
	if err := writePodLogs(&out, jobHook("smoke"), logs, fetch); err != nil {
		t.Error(err)
	}
	if want := "POD LOGS: smoke\nb a\na a\na b\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	gone := errors.New("pod not found")
	err = writePodLogs(&out, jobHook("smoke"), logs, func(podLog) (io.ReadCloser, error) { return nil, gone })
	if !errors.Is(err, gone) || err.Error() != "unable to get pod logs for smoke: pod not found" || out.Len() > 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if err := writePodLogs(&writes{fail: 1}, jobHook("smoke"), logs, fetch); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
