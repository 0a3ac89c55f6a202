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

	"github.com/ordered-helm/helm/pkg/hookrunner"
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
	list, err := client.CoreV1().Pods(namespace).List(ctx, pods)
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		for _, container := range pod.Spec.Containers {
			stream, err := client.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container.Name}).Stream(ctx)
			if err != nil {
				return fmt.Errorf("read the log of container %s in pod %s: %w", container.Name, pod.Name, err)
			}
			out := r.cfg.HookOutputFunc(namespace, pod.Name, container.Name)
			if r.isParallel(h) {
				out = newPrefixWriter(out, fmt.Sprintf("[%s %s/%s] ", hookrunner.Title(h), pod.Name, container.Name))
			}
			err = copyLog(out, stream)
			if err != nil {
				return fmt.Errorf("print the log of container %s in pod %s: %w", container.Name, pod.Name, err)
			}
		}
	}
	return nil
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
