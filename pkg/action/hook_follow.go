// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

const (
	// followEvery is how often the log of a hook that runs is read.
	followEvery = time.Second
	// mostFollowed is how many hooks' logs are read at a time.
	mostFollowed = 10
	// longestFollowed is how much of a line is told, in bytes.
	longestFollowed = 1000
)

// followLog begins to tell the last line of a hook's log, if that is asked for, and
// returns how to end it.
func (r *hookRun) followLog(ctx context.Context, h *release.Hook) (end func()) {
	pods, ofPods := podsOf(h)
	if !r.follow || !ofPods || r.events.notify == nil || !r.cluster.Direct() {
		return func() {}
	}
	client, err := r.cluster.Clientset()
	if err != nil {
		return func() {} // waiting says what is wrong
	}
	namespace, err := namespaceOf(h, r.ledger.rel.Namespace)
	if err != nil {
		return func() {}
	}
	select {
	case r.following <- struct{}{}:
	default:
		return func() {}
	}
	// A read that is cut short when the hook has ended is no error to be logged.
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, klog.New(nil)))
	var done sync.WaitGroup
	done.Go(func() {
		last := ""
		follow(ctx, client.CoreV1().Pods(namespace), pods, func(line string) {
			if line != last && line != "" {
				last = line
				e := r.eventOf(EventHookLog, h)
				e.Message = line
				r.events.emit(e)
			}
		})
	})
	return func() {
		cancel()
		done.Wait()
		<-r.following
	}
}

// follow reads the last line of the newest pod's log until the context ends, or
// that may not be done.
func follow(ctx context.Context, client typedcorev1.PodInterface, pods metav1.ListOptions, tell func(string)) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		log, err := newestLog(ctx, client, pods)
		if err == nil && log != nil {
			var line string
			if line, err = log.lastLine(ctx, client); err == nil {
				tell(line)
			}
		}
		if apierrors.IsForbidden(err) {
			return // a line that could not be read is nothing worse than missing
		}
	}
}

// newestLog is the log of a container that runs, in the newest pod that has one; nil
// if none does.
func newestLog(ctx context.Context, client typedcorev1.PodInterface, pods metav1.ListOptions) (*podLog, error) {
	list, err := client.List(ctx, pods)
	if err != nil {
		return nil, err
	}
	var newest *corev1.Pod
	var log *podLog
	for i := range list.Items {
		pod := &list.Items[i]
		if newest != nil && pod.CreationTimestamp.Before(&newest.CreationTimestamp) {
			continue
		}
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Running != nil {
				newest, log = pod, &podLog{pod.Name, c.Name}
				break
			}
		}
	}
	return log, nil
}

// lastLine reads the last line of a log, or the first part of it.
func (l podLog) lastLine(ctx context.Context, client typedcorev1.PodInterface) (string, error) {
	one, most := int64(1), int64(longestFollowed)
	stream, err := client.GetLogs(l.pod, &corev1.PodLogOptions{Container: l.container, TailLines: &one, LimitBytes: &most}).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	line, err := io.ReadAll(io.LimitReader(stream, most))
	return strings.TrimSpace(strings.ToValidUTF8(string(line), "")), err
}
