// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	maxLogLines   = 10  // of one cause
	maxLineLength = 300 // runes
	// lostLogPrefix begins the text that the kubelet returns instead of a log that it no
	// longer has. The response has the status 200.
	lostLogPrefix = "unable to retrieve container logs"
)

// logSource identifies the log of a container.
type logSource struct {
	namespace, pod, container string
	previous                  bool // whether to read the log of the instance before the last restart
}

// addLog reads the log that f.log identifies, and stores its last lines in f.Log. If there is
// no log of the previous instance, it reads the log of the current instance.
func (d *Diagnoser) addLog(ctx context.Context, cache *clusterreader.RequestCache, f *finding) {
	if f.log == nil {
		return
	}
	if f.log.previous {
		f.Log = d.readLog(ctx, cache, *f.log)
	}
	if f.Log == nil {
		current := *f.log
		current.previous = false
		f.Log = d.readLog(ctx, cache, current)
	}
}

func (d *Diagnoser) readLog(ctx context.Context, cache *clusterreader.RequestCache, source logSource) []string {
	tail := int64(maxLogLines)
	options := &corev1.PodLogOptions{Container: source.container, Previous: source.previous, TailLines: &tail}
	text, err := cache.Log(ctx, source.namespace, source.pod, options)
	if err != nil || strings.HasPrefix(text, lostLogPrefix) {
		return nil
	}
	return d.redactLines(text, maxLogLines)
}

// redactLines redacts the contents of Secrets in a text, and returns at most limit lines from
// its end. It redacts the text before it splits and truncates it, because a secret value that
// was cut into parts might not be recognized.
func (d *Diagnoser) redactLines(text string, limit int) []string {
	var lines []string
	for line := range strings.SplitSeq(d.config.Redactor.Text(redact.Normalize(text)), "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, truncate(line, maxLineLength))
		}
	}
	return lines[max(0, len(lines)-limit):]
}
