// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"io"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/hookorder"
)

// LogOutputFunc returns the writer for the log of a container.
type LogOutputFunc func(namespace, pod, container string) io.Writer

// LogReader reads the logs of the pods of hooks. NewLogReader and NewCustomLogReader return
// the implementations.
type LogReader interface {
	// print writes the complete logs of the pods to output.
	print(ctx context.Context, p hookPods, output LogOutputFunc) error
	// follow calls emit about once a second with the last line of the log of the newest pod,
	// until ctx ends or it finds that it cannot read the log.
	follow(ctx context.Context, p hookPods, emit func(line string))
}

// hookPods identifies the pods of a hook.
type hookPods struct {
	namespace string
	selector  metav1.ListOptions
	// title is the name of the hook if the hook can run in parallel with others, otherwise
	// "".
	title string
}

// podsOf identifies the pods of a hook. ok is false if the hook has no pods.
func (r *eventRun) podsOf(h *release.Hook) (pods hookPods, ok bool, err error) {
	if pods.selector, ok = PodsOf(h); !ok {
		return pods, false, nil
	}
	if r.isParallel(h) {
		pods.title = hookorder.Title(h)
	}
	pods.namespace, err = namespaceOf(h, r.writer.Release().Namespace)
	return pods, err == nil, err
}

// Logs implements hookorder.HookActions. If a hook has the given policy, it prints the
// complete logs of the pods of the hook, without mixing them with the logs of other hooks.
func (r *eventRun) Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error {
	if !slices.Contains(h.OutputLogPolicies, policy) || r.Output == nil {
		return nil
	}
	pods, ok, err := r.podsOf(h)
	if err != nil || !ok {
		return err
	}
	r.printing.Lock()
	defer r.printing.Unlock()
	return r.LogReader.print(ctx, pods, r.Output)
}

// PodsOf returns the list options that select the pods of a hook. It returns false if the
// hook is neither a Job nor a Pod.
func PodsOf(h *release.Hook) (metav1.ListOptions, bool) {
	switch h.Kind {
	case "Job":
		return metav1.ListOptions{LabelSelector: "job-name=" + h.Name}, true
	case "Pod":
		return metav1.ListOptions{FieldSelector: "metadata.name=" + h.Name}, true
	}
	return metav1.ListOptions{}, false
}

// clusterLogReader reads logs with its own requests.
type clusterLogReader struct{ cluster *cluster.Connection }

// NewLogReader returns a LogReader that sends requests over c.
func NewLogReader(c *cluster.Connection) LogReader { return clusterLogReader{c} }

// print implements LogReader. If the hook can run in parallel with others, it prefixes each
// line with the names of the hook, the pod and the container.
func (l clusterLogReader) print(ctx context.Context, p hookPods, output LogOutputFunc) error {
	client, err := l.cluster.Clientset()
	if err != nil {
		return err
	}
	pods := client.CoreV1().Pods(p.namespace)
	logs, err := ListLogs(ctx, pods, p.selector)
	if err != nil {
		return err
	}
	for _, log := range logs {
		stream, err := log.Open(ctx, pods)
		if err != nil {
			return fmt.Errorf("read the log of container %s in pod %s: %w", log.Container, log.Pod, err)
		}
		out := output(p.namespace, log.Pod, log.Container)
		if p.title != "" {
			out = newPrefixWriter(out, fmt.Sprintf("[%s %s/%s] ", p.title, log.Pod, log.Container))
		}
		if err := copyLog(out, stream); err != nil {
			return fmt.Errorf("print the log of container %s in pod %s: %w", log.Container, log.Pod, err)
		}
	}
	return nil
}

// follow implements LogReader.
func (l clusterLogReader) follow(ctx context.Context, p hookPods, emit func(string)) {
	client, err := l.cluster.Clientset()
	if err != nil {
		return // the wait for the hook reports the error
	}
	followLastLine(ctx, client.CoreV1().Pods(p.namespace), p.selector, emit)
}

// clientLogReader reads logs by calling the methods of a Kubernetes client.
type clientLogReader struct{ client kube.Interface }

// NewCustomLogReader returns a LogReader that calls the methods of client. It is for custom
// Kubernetes clients and clients without a cluster.
func NewCustomLogReader(client kube.Interface) LogReader { return clientLogReader{client} }

// print implements LogReader. It prints nothing if the client has no method that reads logs.
func (l clientLogReader) print(_ context.Context, p hookPods, output LogOutputFunc) error {
	client, ok := l.client.(kube.InterfaceLogs)
	if !ok {
		return nil
	}
	list, err := client.GetPodList(p.namespace, p.selector)
	if err != nil {
		return err
	}
	return client.OutputContainerLogsForPodList(list, p.namespace, output)
}

// follow implements LogReader. It does nothing, because no method of a client follows logs.
func (clientLogReader) follow(context.Context, hookPods, func(string)) {}

// ContainerLog identifies the log of a container. Container can be empty if the pod has only
// one container.
type ContainerLog struct{ Pod, Container string }

// ListLogs returns the ContainerLog of each container of the selected pods, the oldest pod
// first. It does not read the logs.
func ListLogs(ctx context.Context, client typedcorev1.PodInterface, selector metav1.ListOptions) ([]ContainerLog, error) {
	list, err := client.List(ctx, selector)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	var logs []ContainerLog
	for _, pod := range list.Items {
		for _, c := range pod.Spec.Containers {
			logs = append(logs, ContainerLog{pod.Name, c.Name})
		}
	}
	return logs, nil
}

// Open requests the log. The caller must close the result.
func (l ContainerLog) Open(ctx context.Context, client typedcorev1.PodInterface) (io.ReadCloser, error) {
	return client.GetLogs(l.Pod, &corev1.PodLogOptions{Container: l.Container}).Stream(ctx)
}

func copyLog(out io.Writer, stream io.ReadCloser) error {
	defer stream.Close()
	_, err := io.Copy(out, stream)
	if prefixed, ok := out.(*prefixWriter); ok && err == nil {
		err = prefixed.end()
	}
	return err
}
