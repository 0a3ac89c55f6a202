// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ordered-helm/helm/internal/redact"
)

const (
	maxLogBytes   = 64 << 10 // bytes
	maxLineLength = 300      // runes
	// lostLogPrefix begins the response of a kubelet that has discarded a log. Its status
	// is success.
	lostLogPrefix = "unable to retrieve container logs"
)

// logSource identifies the log that belongs to a finding.
type logSource struct {
	namespace, pod, container string
	previous                  bool // of the previous instance, if the server has it
}

// addLog reads the log that belongs to a finding, if possible.
func (s *session) addLog(ctx context.Context, f *finding) {
	if f.log == nil || s.Clientset == nil {
		return
	}
	if f.log.previous {
		f.Log = s.readLog(ctx, *f.log)
	}
	if f.Log == nil {
		current := *f.log
		current.previous = false
		f.Log = s.readLog(ctx, current)
	}
}

func (s *session) readLog(ctx context.Context, source logSource) []string {
	tail := int64(s.MaxLogLines)
	options := &corev1.PodLogOptions{Container: source.container, Previous: source.previous, TailLines: &tail}
	text, err := limitedRequest(ctx, s, func(ctx context.Context) (string, error) {
		stream, err := s.Clientset.CoreV1().Pods(source.namespace).GetLogs(source.pod, options).Stream(ctx)
		if err != nil {
			return "", err
		}
		defer stream.Close()
		text, err := io.ReadAll(io.LimitReader(stream, maxLogBytes))
		return string(text), err
	})
	if err != nil || strings.HasPrefix(text, lostLogPrefix) {
		return nil
	}
	return s.redactLines(text, s.MaxLogLines)
}

// redactLines returns the last lines of a text, without the contents of Secrets. It
// redacts the text before it splits and truncates it, because a part of a value might not
// be recognized.
func (d *Diagnoser) redactLines(text string, limit int) []string {
	var lines []string
	for line := range strings.SplitSeq(d.Redactor.Text(redact.Normalize(text)), "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, truncate(line, maxLineLength))
		}
	}
	return lines[max(0, len(lines)-limit):]
}
