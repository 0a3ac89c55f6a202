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
	"github.com/ordered-helm/helm/internal/hookrunner"
)

// OutputFunc returns the writer for the log of a container.
type OutputFunc func(namespace, pod, container string) io.Writer

// LogReader reads the logs of the pods of hooks.
type LogReader interface {
	// print writes the complete logs of the pods to output.
	print(ctx context.Context, p hookPods, output OutputFunc) error
	// follow calls emit with the last line of the log of the newest of the pods, at intervals
	// until ctx ends. It stops early if it cannot read the log.
	follow(ctx context.Context, p hookPods, emit func(line string))
}

// hookPods identifies the pods of a hook.
type hookPods struct {
	namespace string
	selector  metav1.ListOptions
	// title is the name of the hook if it can run in parallel with others, otherwise empty.
	title string
}

// podsOf returns the pods of a hook. ok is false if the hook has no pods.
func (r *run) podsOf(h *release.Hook) (pods hookPods, ok bool, err error) {
	if pods.selector, ok = PodsOf(h); !ok {
		return pods, false, nil
	}
	if r.isParallel(h) {
		pods.title = hookrunner.Title(h)
	}
	pods.namespace, err = namespaceOf(h, r.writer.Release().Namespace)
	return pods, err == nil, err
}

// Logs implements hookrunner.Runner. It prints the complete logs of the pods of a hook that
// has the policy. It prints the logs of one hook at a time, so that they do not mix.
func (r *run) Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error {
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

// PodsOf returns options with which a list request returns the pods of a hook. The result
// is false if the hook has no pods because it is neither a Job nor a Pod.
func PodsOf(h *release.Hook) (metav1.ListOptions, bool) {
	switch h.Kind {
	case "Job":
		return metav1.ListOptions{LabelSelector: "job-name=" + h.Name}, true
	case "Pod":
		return metav1.ListOptions{FieldSelector: "metadata.name=" + h.Name}, true
	}
	return metav1.ListOptions{}, false
}

// clusterLogs is the LogReader that sends requests to the cluster.
type clusterLogs struct{ cluster *cluster.Connection }

// NewLogReader returns a LogReader that sends requests over c.
func NewLogReader(c *cluster.Connection) LogReader { return clusterLogs{c} }

// print implements LogReader. If the hook can run in parallel with others, each line begins
// with the name of the hook, pod and container.
func (l clusterLogs) print(ctx context.Context, p hookPods, output OutputFunc) error {
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
func (l clusterLogs) follow(ctx context.Context, p hookPods, emit func(string)) {
	client, err := l.cluster.Clientset()
	if err != nil {
		return // the wait for the hook reports the error
	}
	followLastLine(ctx, client.CoreV1().Pods(p.namespace), p.selector, emit)
}

// clientLogs is the LogReader that calls a custom Kubernetes client, or a client without a
// cluster.
type clientLogs struct{ client kube.Interface }

// NewCustomLogReader returns a LogReader that calls the methods of a Kubernetes client.
func NewCustomLogReader(client kube.Interface) LogReader { return clientLogs{client} }

// print implements LogReader. It prints nothing if the client has no method for it.
func (l clientLogs) print(_ context.Context, p hookPods, output OutputFunc) error {
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

// follow implements LogReader. It does nothing, because clients have no method for it.
func (clientLogs) follow(context.Context, hookPods, func(string)) {}

// ContainerLog identifies the log of one container of a pod. Container can be empty if the
// pod has only one.
type ContainerLog struct{ Pod, Container string }

// ListLogs returns one ContainerLog for each container of the selected pods, the oldest pod
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

// Open sends the request for the log. The caller must close the result.
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
