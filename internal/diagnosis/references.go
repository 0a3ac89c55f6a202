// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/diagnosis/references"
)

const (
	// reasonMissing is the Reason of a Cause that says that a referenced object does not
	// exist.
	reasonMissing = "MissingObject"
	// maxLookups is the maximum number of referenced objects that are read for one subject.
	maxLookups = 20
)

// referenceChecker finds out for one subject which referenced objects do not exist, and adds
// findings about them.
type referenceChecker struct {
	cluster       *clusterreader.Reader
	findings      *findings
	deployedLater func(kind schema.GroupKind, namespace, name string) string // see Config
	lookupsLeft   int                                                        // how many objects may still be read
}

// addMissing adds a finding for each of the needed objects that does not exist, and returns
// true if there are any. If it cannot check whether an object exists, the object counts as
// missing if one of texts, which are messages of the server, says that it was not found.
func (c *referenceChecker) addMissing(ctx context.Context, at clusterreader.Ref, needs []references.Reference, texts ...string) bool {
	found := false
	for _, r := range needs {
		exists, err := c.exists(ctx, r)
		if exists || err != nil && !r.ReportedMissing(texts...) {
			continue
		}
		found = true
		c.addFinding(at, r)
	}
	return found
}

// addFinding adds the finding that an object which at refers to does not exist.
func (c *referenceChecker) addFinding(at clusterreader.Ref, r references.Reference) {
	name := r.Name
	if r.Namespace != "" && r.Namespace != at.Namespace {
		name = r.Namespace + "/" + name
	}
	message := fmt.Sprintf("%s %q not found (referenced by %s)", r.Kind.Kind, name, r.Field)
	if c.deployedLater != nil {
		if where := c.deployedLater(r.Kind, r.Namespace, r.Name); where != "" {
			message += "; this release deploys it later: " + where
		}
	}
	c.findings.add(at, finding{rank: rankCause, key: message, Cause: Cause{Reason: reasonMissing, Message: message}})
}

// exists reports whether an object exists. It returns an error if it must not or cannot
// check.
func (c *referenceChecker) exists(ctx context.Context, r references.Reference) (bool, error) {
	if c.lookupsLeft--; c.lookupsLeft < 0 {
		return false, clusterreader.ErrLimitReached
	}
	return c.cluster.Exists(ctx, r.Resource, r.Namespace, r.Name)
}

// get reads an object. Like exists, it counts as a lookup.
func (c *referenceChecker) get(ctx context.Context, r references.Reference) (*unstructured.Unstructured, error) {
	if c.lookupsLeft--; c.lookupsLeft < 0 {
		return nil, clusterreader.ErrLimitReached
	}
	return c.cluster.Get(ctx, r.Resource, r.Namespace, r.Name)
}
