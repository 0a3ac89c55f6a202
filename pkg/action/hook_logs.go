// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// Logs writes the logs of a hook's pods if its policy says so: whole, and not
// between those of others.
func (r *hookRun) Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error {
	if !slices.Contains(h.OutputLogPolicies, policy) || r.cfg.HookOutputFunc == nil {
		return nil
	}
	pods, ofPods := podsOf(h)
	if !ofPods {
		return nil
	}
	namespace, err := namespaceOf(h, r.ledger.rel.Namespace)
	if err != nil {
		return err
	}
	r.printing.Lock()
	defer r.printing.Unlock()
	if r.cluster.Direct() {
		return r.printLogs(ctx, h, namespace, pods)
	}
	client, ok := r.cfg.KubeClient.(kube.InterfaceLogs)
	if !ok {
		return nil
	}
	list, err := client.GetPodList(namespace, pods)
	if err != nil {
		return err
	}
	return client.OutputContainerLogsForPodList(list, namespace, r.cfg.HookOutputFunc)
}

// podsOf says which pods are a hook's.
func podsOf(h *release.Hook) (metav1.ListOptions, bool) {
	switch h.Kind {
	case "Job":
		return metav1.ListOptions{LabelSelector: "job-name=" + h.Name}, true
	case "Pod":
		return metav1.ListOptions{FieldSelector: "metadata.name=" + h.Name}, true
	}
	return metav1.ListOptions{}, false
}

// printLogs prints the logs of all containers. In the parallel parts, each line
// says whose it is.
func (r *hookRun) printLogs(ctx context.Context, h *release.Hook, namespace string, pods metav1.ListOptions) error {
	client, err := r.cluster.Clientset()
	if err != nil {
		return err
	}
	logs, err := logsOf(ctx, client.CoreV1().Pods(namespace), pods)
	if err != nil {
		return err
	}
	for _, log := range logs {
		stream, err := log.open(ctx, client.CoreV1().Pods(namespace))
		if err != nil {
			return fmt.Errorf("read the log of container %s in pod %s: %w", log.container, log.pod, err)
		}
		out := r.cfg.HookOutputFunc(namespace, log.pod, log.container)
		if r.isParallel(h) {
			out = newPrefixWriter(out, fmt.Sprintf("[%s %s/%s] ", hookrunner.Title(h), log.pod, log.container))
		}
		if err := copyLog(out, stream); err != nil {
			return fmt.Errorf("print the log of container %s in pod %s: %w", log.container, log.pod, err)
		}
	}
	return nil
}

// podLog is the log of one container; without one, of the only one of a pod.
type podLog struct{ pod, container string }

// logsOf finds the logs of all containers of pods: the oldest pod first.
func logsOf(ctx context.Context, client typedcorev1.PodInterface, pods metav1.ListOptions) ([]podLog, error) {
	list, err := client.List(ctx, pods)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	var logs []podLog
	for _, pod := range list.Items {
		for _, c := range pod.Spec.Containers {
			logs = append(logs, podLog{pod.Name, c.Name})
		}
	}
	return logs, nil
}

func (l podLog) open(ctx context.Context, client typedcorev1.PodInterface) (io.ReadCloser, error) {
	return client.GetLogs(l.pod, &corev1.PodLogOptions{Container: l.container}).Stream(ctx)
}

func copyLog(out io.Writer, stream io.ReadCloser) error {
	defer stream.Close()
	_, err := io.Copy(out, stream)
	if prefixed, ok := out.(*prefixWriter); ok && err == nil {
		err = prefixed.end()
	}
	return err
}

// prefixWriter writes whole lines, each behind a prefix.
type prefixWriter struct {
	out    io.Writer
	prefix string
	line   []byte
}

// longestLine is from when on a line is written in pieces, in bytes.
const longestLine = 1 << 20

func newPrefixWriter(out io.Writer, prefix string) *prefixWriter {
	return &prefixWriter{out: out, prefix: prefix}
}

func (w *prefixWriter) Write(data []byte) (int, error) {
	written := 0
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n') + 1
		whole := end > 0
		if !whole {
			end = len(data)
		}
		w.line = append(w.line, data[:end]...)
		written, data = written+end, data[end:]
		if whole || len(w.line) > longestLine {
			if err := w.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (w *prefixWriter) flush() error {
	if !bytes.HasSuffix(w.line, []byte("\n")) {
		w.line = append(w.line, '\n')
	}
	_, err := w.out.Write(append([]byte(w.prefix), w.line...))
	w.line = w.line[:0]
	return err
}

// end writes what is left, as a line.
func (w *prefixWriter) end() error {
	if len(w.line) == 0 {
		return nil
	}
	return w.flush()
}
