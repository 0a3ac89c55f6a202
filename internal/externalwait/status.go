// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Reasons of a Status.
const (
	reasonForbidden   = "Forbidden"
	reasonUnreadable  = "Unreadable"
	reasonUnknownKind = "UnknownKind"
	reasonInvalid     = "Invalid"
)

// Status says how an external dependency stands.
type Status struct {
	Need externalneed.Need
	// Namespace is the namespace in which the need is looked for; empty if it is cluster-scoped.
	Namespace string
	// State is Ready if an object is ready, or a release deployed. It is Missing if the object or
	// its kind does not exist, and empty if nothing is known yet.
	State readiness.State
	// Reason is one word in CamelCase, for programs. Message is for users.
	Reason, Message string
	// Denied is the missing permission if the need cannot be read because of it, otherwise nil.
	Denied *PermissionError
	// Causes contains the causes that were found in the object and in objects that belong to it. It
	// is set only in an UnmetError.
	Causes []failure.Cause

	// report is the last report of the Watcher; zero for a release.
	report watcher.Report
}

// same reports whether two statuses look the same to a user.
func (s Status) same(other Status) bool {
	return s.State == other.State && s.Reason == other.Reason && s.Message == other.Message
}

// Resource returns what the status is about, as in failure.Resource.
func (s Status) Resource() string {
	if s.Need.Release {
		return "release/" + s.Need.Name
	}
	return s.Need.Kind + "/" + s.Need.Name
}

// PermissionError reports that the account is not allowed to read an external dependency.
type PermissionError struct {
	// Verb is the verb that was denied.
	Verb     string
	Resource schema.GroupResource
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	// Verbs are the verbs that a role must allow.
	Verbs []string
	// Err is the response of the server.
	Err error
}

// Error names the missing permission and the role that grants it.
func (e *PermissionError) Error() string {
	where, role := "in the cluster", "ClusterRole"
	if e.Namespace != "" {
		where, role = fmt.Sprintf("in namespace %q", e.Namespace), "Role"
	}
	return fmt.Sprintf("this account is not allowed to %s %s %s: grant it a %s for apiGroups: [%q], resources: [%q], verbs: [%s]",
		e.Verb, e.Resource, where, role, e.Resource.Group, e.Resource.Resource, strings.Join(e.Verbs, ", "))
}

// Unwrap returns Err.
func (e *PermissionError) Unwrap() error { return e.Err }

// UnmetError is the error of a wait for external dependencies that ended before all of them were
// ready.
type UnmetError struct {
	// Unmet contains the status of each need that is not ready.
	Unmet []Status
	// Waited is how long the wait took.
	Waited time.Duration
	// Cause says why the wait ended: it is a *TimeoutError, a *PermissionError, an
	// *AmbiguousKindError, ErrClosed, watcher.ErrFailed if an object has failed, or context.Cause
	// of the wait's context.
	Cause error

	// namespace is the namespace of the release.
	namespace string
}

// Error summarizes the failures in one line.
func (e *UnmetError) Error() string {
	if len(e.Unmet) == 0 {
		return e.Cause.Error()
	}
	return e.Resources().Error()
}

// Unwrap returns Cause.
func (e *UnmetError) Unwrap() error { return e.Cause }

// Resources returns a failure for each need that is not ready. The caller sets what needs them: the
// fields Node, Title and File.
func (e *UnmetError) Resources() failure.Resources {
	var list failure.Resources
	for _, s := range e.Unmet {
		f := &failure.Resource{
			Resource: s.Resource(), Namespace: s.Namespace, State: string(s.State), Reason: s.Reason, Message: s.Message,
			Waited: e.Waited, Causes: s.Causes, Err: e.Cause,
		}
		if s.Denied != nil {
			f.Err = s.Denied
		}
		e.setOutcome(f, s)
		f.SetReleaseNamespace(e.namespace)
		list = append(list, f)
	}
	return list
}

// setOutcome sets f.Outcome, which says how the wait ended, and f.Remedy, which tells the user how
// to allow more time.
func (e *UnmetError) setOutcome(f *failure.Resource, s Status) {
	ready := "ready"
	if s.Need.Release {
		ready = "deployed"
	}
	end := "when the wait ended"
	timeout, _ := errors.AsType[*TimeoutError](e.Cause)
	operation, _ := errors.AsType[*failure.TimeoutError](e.Cause)
	switch {
	case s.Denied != nil || s.Reason == reasonInvalid || s.Reason == reasonUnreadable && timeout == nil && operation == nil:
		f.Outcome = "is an external dependency that cannot be read"
		return
	case s.State == readiness.Failed:
		f.Outcome = "is an external dependency that failed"
		return
	case timeout != nil:
		end, f.Remedy = fmt.Sprintf("within %s", timeout.Limit), "to allow more time, increase "+annotation.ExternalTimeout
	case operation != nil:
		end, f.Remedy = fmt.Sprintf("when the operation timed out after %s", operation.Limit), "to allow more time, increase --timeout"
	case errors.Is(e.Cause, context.Canceled):
		end = "when the operation was cancelled"
	}
	f.Outcome = fmt.Sprintf("is an external dependency that was not %s %s", ready, end)
}

// isNoResponse reports whether the error of a request can mean that the API server is unavailable,
// so that the request is repeated.
func isNoResponse(err error) bool {
	if err == nil || isAmbiguous(err) || errors.Is(err, errUnknownKind) || errors.Is(err, errNoReleases) {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		const tooManyRequests, serverError = 429, 500
		return code == tooManyRequests || code >= serverError
	}
	return true
}
