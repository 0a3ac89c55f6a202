// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestLogText(t *testing.T) {
	pod := newPod(corev1.RestartPolicyAlways, AnnotationLog, "a\nb", AnnotationLog+".two", "c\n")
	for container, want := range map[string]string{"one": "a\nb\n", "two": "c\n"} {
		if got := logText(pod, container); got != want {
			t.Errorf("log of %s is %q, want %q", container, got, want)
		}
	}
	if got, want := logText(newPod(corev1.RestartPolicyAlways), "one"), "container one of pod ns/pod\n"; got != want {
		t.Errorf("log by default is %q, want %q", got, want)
	}
}

func TestLogQueries(t *testing.T) {
	written := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for query, want := range map[string]string{
		"":                               "a\nb\nc\n",
		"tailLines=2":                    "b\nc\n",
		"tailLines=0":                    "",
		"tailLines=9":                    "a\nb\nc\n",
		"limitBytes=3":                   "a\nb",
		"tailLines=1&timestamps=true":    "2030-01-02T03:04:05Z c\n",
		"sinceSeconds=10":                "a\nb\nc\n",
		"sinceSeconds=1":                 "",
		"sinceTime=2030-01-02T03:04:05Z": "a\nb\nc\n",
		"sinceTime=2030-01-02T03:04:06Z": "",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		q, err := parseLogQuery(values, written.Add(5*time.Second))
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got := q.cut("a\nb\nc\n", written); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"tailLines=x", "limitBytes=-1", "follow=perhaps", "sinceTime=today"} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseLogQuery(values, written); err == nil {
			t.Errorf("%s is taken", query)
		}
	}
}
