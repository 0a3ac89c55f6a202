// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Problem is what is wrong with the definitions of releases in a cluster.
type Problem int

const (
	// ProblemMissing says that the cluster has no definitions of releases.
	ProblemMissing Problem = iota + 1
	// ProblemOlder says that the definitions are older than this program, so that the cluster
	// would not store all fields.
	ProblemOlder
	// ProblemNewer says that an object has fields that this program does not know, which a
	// newer version has written.
	ProblemNewer
	// ProblemDeleting says that the definitions are being deleted.
	ProblemDeleting
)

// DefinitionsError reports that an object cannot be read or written because of the definitions
// of releases in the cluster.
type DefinitionsError struct {
	Problem Problem
	// Resource is the resource that is defined, as in "releases.helm.sh".
	Resource string
	// Object is the object that was to be written; empty if there is none.
	Object string
	// Fields are the fields of a ProblemNewer.
	Fields []string
	// Err is the response of the API server; nil if there is none.
	Err error
}

func (e *DefinitionsError) Error() string {
	object := ""
	if e.Object != "" {
		object = e.Object + ": "
	}
	switch e.Problem {
	case ProblemOlder:
		return fmt.Sprintf("%sthe definition of %s in the cluster is older than this version of helm: run \"helm state init\" to update it: %v", object, e.Resource, e.Err)
	case ProblemNewer:
		return fmt.Sprintf("%sit was written by a newer version of helm, and has fields that this version does not know (%s): upgrade helm", object, strings.Join(e.Fields, ", "))
	case ProblemDeleting:
		return fmt.Sprintf("%sthe definition of %s is being deleted: when it is gone, run \"helm state init\" to install it: %v", object, e.Resource, e.Err)
	default:
		return fmt.Sprintf("%sthe cluster has no definition of %s: run \"helm state init\" to install it", object, e.Resource)
	}
}

func (e *DefinitionsError) Unwrap() error { return e.Err }

// definitionsError returns a *DefinitionsError if err, the response to a request, is because
// of the definition of a resource, or else err itself.
func definitionsError(err error, resource, object string) error {
	problem := Problem(0)
	switch {
	case IsPathNotFound(err):
		problem = ProblemMissing
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error: unknown field"):
		problem = ProblemOlder
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "custom resource definition is terminating"):
		problem = ProblemDeleting
	default:
		return err
	}
	return &DefinitionsError{Problem: problem, Resource: resource + "." + Group, Object: object, Err: err}
}

// IsPathNotFound reports whether the API server does not serve the path of a request, for example because a kind is not defined. Unlike
// for a missing object, its response is then plain text and not a Status, which client-go
// records as a cause.
func IsPathNotFound(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
