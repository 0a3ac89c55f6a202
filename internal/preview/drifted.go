// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/ignorefile"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/patch"
	"github.com/ordered-helm/helm/internal/redact"
)

// overwrittenDrift finds the drift of an object that an operation would overwrite.
type overwrittenDrift struct {
	// earlier is the object as the deployed revision declares it; nil if it does not.
	earlier *object.Info
	// live is the object in the cluster, and planned as it would be after the operation; nil if it is
	// deleted first.
	live, planned *unstructured.Unstructured
	// ownManager is the field manager of Helm if later revisions have failed, which may have set fields; otherwise empty.
	ownManager string
	redactor   *redact.Redactor
}

// addDrift adds to o, the Object for the result t of a dry run, what others have changed since the deployed revision, as
// far as the operation would change it.
func (b *Builder) addDrift(run *deploy.Run, t objectwriter.DryRunResult, o *Object) {
	inv := run.Inventory()
	if inv == nil || !inv.IsOfBase(object.IDOf(t.Info)) || !inv.WasDeployed(t.Info) {
		return
	}
	found := overwrittenDrift{earlier: inv.FindInBase(t.Info), live: t.Before, redactor: b.op.Events.Redactor()}
	if inv.HasLaterRevisions() {
		found.ownManager = objectwriter.FieldManager()
	}
	switch {
	case o.Action == Create && o.Note == "" && !drift.HasTTLAfterFinished(found.earlier):
		o.Note = fmt.Sprintf(noteMissing, inv.Base().Version)
	case o.Action == Change && o.change != nil:
		found.planned = o.change.after
		o.overwritten = found
	case o.Action == Recreate:
		o.overwritten = found
	}
	o.Drift = o.overwritten.fields(nil)
}

// fields returns the fields that differ in the cluster from what the deployed revision declares, and that the
// operation would change. It omits those that match a rule of ignore, which can be nil.
func (o overwrittenDrift) fields(ignore *ignorefile.File) []drift.Field {
	if o.earlier == nil {
		return nil
	}
	found := drift.Comparison{Ignore: ignore}.Compare(o.earlier, o.live)
	if found.State != drift.Changed {
		return nil
	}
	found.Fields = slices.DeleteFunc(found.Fields, func(f drift.Field) bool { return o.ownManager != "" && f.Manager == o.ownManager })
	if o.planned != nil {
		changes := fielddiff.Compare(contentWithoutServerFields(o.live), contentWithoutServerFields(o.planned), patch.SchemaOf(o.earlier))
		found.Fields = slices.DeleteFunc(found.Fields, func(f drift.Field) bool {
			return !slices.ContainsFunc(changes, func(c fielddiff.Difference) bool { return pathsOverlap(c.Path.String(), f.Path) })
		})
	}
	return found.Masked(o.redactor).Fields
}

// pathsOverlap reports whether two paths are equal, or one leads to a field below the other.
func pathsOverlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || b[len(a)] == '.' || b[len(a)] == '[')
}
