// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recordingWriter records each write separately. It can fail from a given write on.
type recordingWriter struct {
	writes   []string
	failFrom int // the number of the first write that fails, counted from 1; 0 if none fails
}

var errFull = errors.New("no space left")

func (w *recordingWriter) Write(data []byte) (int, error) {
	if w.failFrom > 0 && len(w.writes)+1 >= w.failFrom {
		return 0, errFull
	}
	w.writes = append(w.writes, string(data))
	return len(data), nil
}

func TestPrefixWriter(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, c := range []struct {
		name string
		in   []string
		want []string
	}{
		{name: "nothing"},
		{"empty writes", []string{"", ""}, nil},
		{"a line", []string{"a\n"}, []string{"> a\n"}},
		{"a line in pieces", []string{"a", "b", "", "c\n"}, []string{"> abc\n"}},
		{"several lines in one write", []string{"a\nb\n\nc\n"}, []string{"> a\n", "> b\n", "> \n", "> c\n"}},
		{"lines across writes", []string{"a\nb", "b\nc"}, []string{"> a\n", "> bb\n", "> c\n"}},
		{"no newline at the end", []string{"a\nb"}, []string{"> a\n", "> b\n"}},
		{"newlines only", []string{"\n\n"}, []string{"> \n", "> \n"}},
		{"a carriage return is part of the line", []string{"10%\r20%\r\n"}, []string{"> 10%\r20%\r\n"}},
		{"a long line is written at once", []string{long[:maxLine/2], long[:maxLine/2], "\n"}, []string{"> " + long + "\n"}},
		{"a longer line is written in pieces", []string{long, "yy", "z\n"}, []string{"> " + long + "yy\n", "> z\n"}},
		{"a longer line without a newline", []string{long + "y", "z"}, []string{"> " + long + "y\n", "> z\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := &recordingWriter{}
			w := newPrefixWriter(out, "> ")
			for _, data := range c.in {
				buffer := []byte(data)
				if n, err := w.Write(buffer); n != len(data) || err != nil {
					t.Errorf("wrote %d of %d, %v", n, len(data), err)
				}
				for i := range buffer { // the caller is allowed to reuse the buffer
					buffer[i] = '!'
				}
			}
			if err := w.end(); err != nil {
				t.Error(err)
			}
			if !slices.Equal(out.writes, c.want) {
				t.Errorf("got %.200q, want %.200q", out.writes, c.want)
			}
		})
	}
}

func TestPrefixWriterError(t *testing.T) {
	out := &recordingWriter{failFrom: 2}
	w := newPrefixWriter(out, "> ")
	if n, err := w.Write([]byte("a\nb\nc\n")); n != 4 || !errors.Is(err, errFull) {
		t.Errorf("wrote %d, %v", n, err)
	}
	w = newPrefixWriter(&recordingWriter{failFrom: 1}, "> ")
	if n, err := w.Write([]byte("a")); n != 1 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if err := w.end(); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

// closeRecorder is a reader that records whether it was closed.
type closeRecorder struct {
	io.Reader
	closed bool
}

func (c *closeRecorder) Close() error {
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
		{"without a prefix", strings.NewReader("a\nb"), func(w io.Writer) io.Writer { return w }, "a\nb", nil},
		{"with a prefix", iotest.OneByteReader(strings.NewReader("a\nb")), func(w io.Writer) io.Writer { return newPrefixWriter(w, "> ") }, "> a\n> b\n", nil},
		{"read error", io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), func(w io.Writer) io.Writer { return newPrefixWriter(w, "> ") }, "> a\n", broken},
		{"write error", strings.NewReader("a"), func(io.Writer) io.Writer { return newPrefixWriter(&recordingWriter{failFrom: 1}, "> ") }, "", errFull},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			in := &closeRecorder{Reader: c.in}
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
		got, has := PodsOf(&release.Hook{Kind: kind, Name: "a"})
		if got.LabelSelector != want.LabelSelector || got.FieldSelector != want.FieldSelector || has != (kind == "Job" || kind == "Pod") {
			t.Errorf("%s: %+v, %v", kind, got, has)
		}
	}
}
