// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"

	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/text"
)

// recreated returns the Object for an object whose change the server rejects. If a field is immutable, the object says
// so in one line: its action is Recreate if the object would be recreated, and otherwise remains Fail. failed is the
// Object for all other rejections.
func (b *Builder) recreated(ctx context.Context, run *deploy.Run, t objectwriter.DryRunResult, failed Object) Object {
	d := run.Recreation(ctx, t.Info, t.Before, t.Err)
	switch {
	case d.Reason == "":
	case !d.Allowed:
		id := object.IDOf(t.Info)
		failed.Error = d.Reason + ": " + failure.RemedyImmutable(id.Group, id.Kind, id.Name)
	case d.Err != nil:
		failed.Error = d.Reason + ", but it cannot be recreated: " + text.OneLine(b.op.Events.RedactError(d.Err).Error())
	default:
		o := newObject(t.Info, Recreate)
		o.Note = d.Reason
		return o
	}
	return failed
}
