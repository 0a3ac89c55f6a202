// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package clusterreader

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// MaxLogBytes is the maximum number of bytes that Log reads.
const MaxLogBytes = 64 << 10

// Log reads the log of a container of a pod. options selects the container. The log is not
// cached.
func (s *RequestCache) Log(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (string, error) {
	if s.clients.Clientset == nil {
		return "", errNoClient
	}
	return limited(ctx, s.limit, func(ctx context.Context) (string, error) {
		stream, err := s.clients.Clientset.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
		if err != nil {
			return "", err
		}
		defer stream.Close()
		text, err := io.ReadAll(io.LimitReader(stream, MaxLogBytes))
		return string(text), err
	})
}
