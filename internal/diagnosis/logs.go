// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ordered-helm/helm/internal/diagnosis/requests"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	maxLineLength = 300 // runes
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
func (d *Diagnoser) addLog(ctx context.Context, session *requests.Session, f *finding) {
	if f.log == nil {
		return
	}
	if f.log.previous {
		f.Log = d.readLog(ctx, session, *f.log)
	}
	if f.Log == nil {
		current := *f.log
		current.previous = false
		f.Log = d.readLog(ctx, session, current)
	}
}

func (d *Diagnoser) readLog(ctx context.Context, session *requests.Session, source logSource) []string {
	tail := int64(d.MaxLogLines)
	options := &corev1.PodLogOptions{Container: source.container, Previous: source.previous, TailLines: &tail}
	text, err := session.Log(ctx, source.namespace, source.pod, options)
	if err != nil || strings.HasPrefix(text, lostLogPrefix) {
		return nil
	}
	return d.redactLines(text, d.MaxLogLines)
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
