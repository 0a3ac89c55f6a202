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

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// LogPrinter configures how the logs of completed or failed hooks are printed.
type LogPrinter struct {
	// Output returns the writer for the log of a container. If Output is nil, no logs are
	// printed.
	Output func(namespace, pod, container string) io.Writer
	// Client reads the logs if the Kubernetes client is a custom one and not Helm's own.
	Client kube.Interface
}

// Logs implements hookrunner.Runner. It prints the complete logs of the pods of a hook that
// has the policy. It prints the logs of one hook at a time, so that they do not mix.
func (r *run) Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error {
	output := r.LogPrinter.Output
	if !slices.Contains(h.OutputLogPolicies, policy) || output == nil {
		return nil
	}
	pods, hasPods := PodsOf(h)
	if !hasPods {
		return nil
	}
	namespace, err := namespaceOf(h, r.writer.Release().Namespace)
	if err != nil {
		return err
	}
	r.printing.Lock()
	defer r.printing.Unlock()
	if r.Cluster.IsNative() {
		return r.printLogs(ctx, h, namespace, pods)
	}
	client, ok := r.LogPrinter.Client.(kube.InterfaceLogs)
	if !ok {
		return nil
	}
	list, err := client.GetPodList(namespace, pods)
	if err != nil {
		return err
	}
	return client.OutputContainerLogsForPodList(list, namespace, output)
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

// printLogs prints the logs of all containers of the selected pods. If the hook can run in
// parallel with others, each line begins with the name of the hook, pod and container.
func (r *run) printLogs(ctx context.Context, h *release.Hook, namespace string, selector metav1.ListOptions) error {
	client, err := r.Cluster.Clientset()
	if err != nil {
		return err
	}
	pods := client.CoreV1().Pods(namespace)
	logs, err := ListLogs(ctx, pods, selector)
	if err != nil {
		return err
	}
	for _, log := range logs {
		stream, err := log.Open(ctx, pods)
		if err != nil {
			return fmt.Errorf("read the log of container %s in pod %s: %w", log.Container, log.Pod, err)
		}
		out := r.LogPrinter.Output(namespace, log.Pod, log.Container)
		if r.isParallel(h) {
			out = newPrefixWriter(out, fmt.Sprintf("[%s %s/%s] ", hookrunner.Title(h), log.Pod, log.Container))
		}
		if err := copyLog(out, stream); err != nil {
			return fmt.Errorf("print the log of container %s in pod %s: %w", log.Container, log.Pod, err)
		}
	}
	return nil
}

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
