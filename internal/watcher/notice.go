// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NoticeKind is what a Notice is about.
type NoticeKind string

const (
	// NoticePolling comes once for each resource and namespace that cannot be
	// watched, and is read in intervals from then on.
	NoticePolling NoticeKind = "Polling"
	// NoticeUnreachable comes when the API does not answer any more, or only with
	// errors of its own: for the first resource and namespace of which neither a
	// watch nor a reading tells anything.
	NoticeUnreachable NoticeKind = "Unreachable"
	// NoticeReachable comes after a NoticeUnreachable when it answers again for
	// everything that is waited for.
	NoticeReachable NoticeKind = "Reachable"
)

// Notice is something about the observing itself that a user should know.
type Notice struct {
	Kind      NoticeKind
	Resource  schema.GroupVersionResource
	Namespace string
	// Interval is the time between two readings of a NoticePolling.
	Interval time.Duration
	// Err is the answer that led to the notice; nil for NoticeReachable.
	Err error
}

// String is the notice in one line.
func (n Notice) String() string {
	switch n.Kind {
	case NoticePolling:
		return fmt.Sprintf("%s %s cannot be watched and are read every %s instead: %v",
			n.Resource.GroupResource(), inNamespace(n.Namespace), n.Interval, n.Err)
	case NoticeUnreachable:
		return fmt.Sprintf("the Kubernetes API does not answer for %s %s, trying again: %v",
			n.Resource.GroupResource(), inNamespace(n.Namespace), n.Err)
	default:
		return "the Kubernetes API answers again"
	}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return "in the cluster"
	}
	return fmt.Sprintf("in namespace %q", namespace)
}
