// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NoticeKind says what a Notice tells the user.
type NoticeKind string

const (
	// NoticePolling is sent once for each resource and namespace that cannot be watched,
	// and is read at intervals instead.
	NoticePolling NoticeKind = "Polling"
	// NoticeUnreachable is sent when the API server does not respond, or responds only
	// with server errors, to both watching and reading.
	NoticeUnreachable NoticeKind = "Unreachable"
	// NoticeReachable is sent after NoticeUnreachable, when all objects can be observed
	// again.
	NoticeReachable NoticeKind = "Reachable"
)

// Notice tells the user about a problem with watching objects, or about its end.
type Notice struct {
	Kind      NoticeKind
	Resource  schema.GroupVersionResource
	Namespace string
	// Interval is the time between two reads. It is set only for NoticePolling.
	Interval time.Duration
	// Err is the error of the failed request; nil for NoticeReachable.
	Err error
}

// String returns the notice in one line.
func (n Notice) String() string {
	switch n.Kind {
	case NoticePolling:
		return fmt.Sprintf("cannot watch %s %s, reading every %s instead: %v",
			n.Resource.GroupResource(), inNamespace(n.Namespace), n.Interval, n.Err)
	case NoticeUnreachable:
		return fmt.Sprintf("the Kubernetes API server does not respond for %s %s, retrying: %v",
			n.Resource.GroupResource(), inNamespace(n.Namespace), n.Err)
	default:
		return "the Kubernetes API server responds again"
	}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return "in the cluster"
	}
	return fmt.Sprintf("in namespace %q", namespace)
}
