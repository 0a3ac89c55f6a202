// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package notice defines what a Watcher tells users about problems with observing objects: notices,
// and missing permissions.
package notice

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of a Notice: what it tells the user.
type Kind string

const (
	// Polling is sent once for each API resource and namespace whose objects the
	// account is not allowed to watch, and which are therefore read at intervals.
	Polling Kind = "Polling"
	// Unreachable is sent when the API server does not respond to watch and read
	// requests, or responds only with server errors.
	Unreachable Kind = "Unreachable"
	// Reachable is sent after Unreachable, when the API server responds again
	// to the requests for all objects.
	Reachable Kind = "Reachable"
)

// Notice tells the user about a problem with watching objects, or that it is resolved.
type Notice struct {
	Kind      Kind
	Resource  schema.GroupVersionResource
	Namespace string
	// Interval is the time between two reads. It is set only for Polling.
	Interval time.Duration
	// Err is the error of the failed request; nil for Reachable.
	Err error
}

// String returns the text of the notice for users, in one line.
func (n Notice) String() string {
	switch n.Kind {
	case Polling:
		return fmt.Sprintf("cannot watch %s %s, reading every %s instead: %v",
			n.Resource.GroupResource(), InNamespace(n.Namespace), n.Interval, n.Err)
	case Unreachable:
		return fmt.Sprintf("requests to the Kubernetes API server for %s %s fail; retrying: %v",
			n.Resource.GroupResource(), InNamespace(n.Namespace), n.Err)
	default:
		return "the Kubernetes API server responds again"
	}
}

// InNamespace returns the place of objects in messages, as in `in namespace "shop"`.
func InNamespace(namespace string) string {
	if namespace == "" {
		return "in the cluster"
	}
	return fmt.Sprintf("in namespace %q", namespace)
}

// ForbiddenError reports that the account is allowed neither to watch nor to read an object.
// Verb is the API verb that was denied.
type ForbiddenError struct {
	Verb      string
	Resource  schema.GroupResource
	Namespace string
	Name      string
	Err       error
}

// Error names the missing permission.
func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("cannot observe %q: no permission to %s %s %s; grant the verbs get, list and watch: %v",
		e.Name, e.Verb, e.Resource, InNamespace(e.Namespace), e.Err)
}

// Unwrap returns Err, the response of the server.
func (e *ForbiddenError) Unwrap() error { return e.Err }
