// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NoticeKind is the kind of a Notice: what it tells the user.
type NoticeKind string

const (
	// NoticePolling is sent once for each API resource and namespace whose objects the
	// account is not allowed to watch, and which are therefore read at intervals.
	NoticePolling NoticeKind = "Polling"
	// NoticeUnreachable is sent when the API server does not respond to watch and read
	// requests, or responds only with server errors.
	NoticeUnreachable NoticeKind = "Unreachable"
	// NoticeReachable is sent after NoticeUnreachable, when the API server responds again
	// to the requests for all objects.
	NoticeReachable NoticeKind = "Reachable"
)

// Notice tells the user about a problem with watching objects, or that it is resolved.
type Notice struct {
	Kind      NoticeKind
	Resource  schema.GroupVersionResource
	Namespace string
	// Interval is the time between two reads. It is set only for NoticePolling.
	Interval time.Duration
	// Err is the error of the failed request; nil for NoticeReachable.
	Err error
}

// String returns the text of the notice for users, in one line.
func (n Notice) String() string {
	switch n.Kind {
	case NoticePolling:
		return fmt.Sprintf("cannot watch %s %s, reading every %s instead: %v",
			n.Resource.GroupResource(), inNamespace(n.Namespace), n.Interval, n.Err)
	case NoticeUnreachable:
		return fmt.Sprintf("requests to the Kubernetes API server for %s %s fail; retrying: %v",
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
