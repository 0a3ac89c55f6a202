// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/diagnosis/podreferences"
)

const (
	// reasonMissing is the Reason of causes that report that a referenced object does not
	// exist, if the reference has no Reason.
	reasonMissing = "MissingObject"
	// maxLookups is how many referenced objects can be looked up for one subject.
	maxLookups = 20
)

// referenceChecker finds out which referenced objects do not exist, and adds findings about
// them. There is one for each subject.
type referenceChecker struct {
	cluster       *clusterreader.Reader
	findings      *findings
	deployedLater func(kind schema.GroupKind, namespace, name string) string // see DiagnoserConfig
	lookupsLeft   int                                                        // how many objects can still be looked up
}

// addMissing adds a finding for each object in needs that does not exist, and reports whether
// there are any. at identifies the object that refers to them. If an object cannot be looked
// up, it counts as missing if one of texts, which are messages of the server, says that it
// was not found.
func (c *referenceChecker) addMissing(ctx context.Context, at clusterreader.ObjectRef, needs []podreferences.Reference, texts ...string) bool {
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

// addFinding adds a finding that says that the object of r does not exist. at identifies
// the object that contains the reference.
func (c *referenceChecker) addFinding(at clusterreader.ObjectRef, r podreferences.Reference) {
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
	c.findings.add(at, finding{rank: rankCause, key: message, Cause: Cause{Reason: cmp.Or(r.Reason, reasonMissing), Message: message}})
}

// exists looks up an object, and reports whether it exists. It returns an error if the limit
// of lookups is reached or the request fails.
func (c *referenceChecker) exists(ctx context.Context, r podreferences.Reference) (bool, error) {
	if c.lookupsLeft--; c.lookupsLeft < 0 {
		return false, clusterreader.ErrLimitReached
	}
	return c.cluster.Exists(ctx, r.Resource, r.Namespace, r.Name)
}

// get reads an object. This counts as a lookup, too.
func (c *referenceChecker) get(ctx context.Context, r podreferences.Reference) (*unstructured.Unstructured, error) {
	if c.lookupsLeft--; c.lookupsLeft < 0 {
		return nil, clusterreader.ErrLimitReached
	}
	return c.cluster.Get(ctx, r.Resource, r.Namespace, r.Name)
}
