// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

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

	"github.com/ordered-helm/helm/internal/event"
)

const (
	// followInterval is the interval at which the last line of the log of a running hook is
	// read.
	followInterval = time.Second
	// maxFollowed is the maximum number of logs that are followed at the same time.
	maxFollowed = 10
	// maxFollowedLine is the maximum number of bytes that are read of a line.
	maxFollowedLine = 1000
)

// followLog starts to follow the log of a hook: each time that the last line of the log
// changes, it emits the line as an event. The caller must call stop. followLog does nothing
// if Options.FollowLogs is false or if maxFollowed logs are already followed.
func (r *eventRun) followLog(ctx context.Context, h *release.Hook) (stop func()) {
	if !r.FollowLogs || !r.Events.HasListener() {
		return func() {}
	}
	pods, ok, err := r.podsOf(h)
	if err != nil || !ok {
		return func() {}
	}
	select {
	case r.followSlots <- struct{}{}:
	default:
		return func() {}
	}
	// The Kubernetes client must not log an error when stop interrupts a read.
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, klog.New(nil)))
	var running sync.WaitGroup
	running.Go(func() {
		last := ""
		r.LogReader.follow(ctx, pods, func(line string) {
			if line != last && line != "" {
				last = line
				e := r.hookEvent(event.HookLog, h)
				e.Message = line
				r.Events.Emit(e)
			}
		})
	})
	return func() {
		cancel()
		running.Wait()
		<-r.followSlots
	}
}

// followLastLine calls emit with the last line of the log of the newest selected pod, once
// in followInterval until ctx ends. It stops early if the account is not allowed to read
// logs.
func followLastLine(ctx context.Context, client typedcorev1.PodInterface, selector metav1.ListOptions, emit func(string)) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		log, err := newestLog(ctx, client, selector)
		if err == nil && log != nil {
			var line string
			if line, err = log.lastLine(ctx, client); err == nil {
				emit(line)
			}
		}
		if apierrors.IsForbidden(err) {
			return // following the log is optional
		}
	}
}

// newestLog returns the log of the first running container in the newest selected pod that
// has a running container; nil if no container is running.
func newestLog(ctx context.Context, client typedcorev1.PodInterface, selector metav1.ListOptions) (*ContainerLog, error) {
	list, err := client.List(ctx, selector)
	if err != nil {
		return nil, err
	}
	var newest *corev1.Pod
	var log *ContainerLog
	for i := range list.Items {
		pod := &list.Items[i]
		if newest != nil && pod.CreationTimestamp.Before(&newest.CreationTimestamp) {
			continue
		}
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Running != nil {
				newest, log = pod, &ContainerLog{pod.Name, c.Name}
				break
			}
		}
	}
	return log, nil
}

// lastLine reads the last line of a log. It reads at most maxFollowedLine bytes.
func (l ContainerLog) lastLine(ctx context.Context, client typedcorev1.PodInterface) (string, error) {
	one, limit := int64(1), int64(maxFollowedLine)
	stream, err := client.GetLogs(l.Pod, &corev1.PodLogOptions{Container: l.Container, TailLines: &one, LimitBytes: &limit}).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	line, err := io.ReadAll(io.LimitReader(stream, limit))
	return strings.TrimSpace(strings.ToValidUTF8(string(line), "")), err
}
