// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// These are values of Object.Note.
const (
	noteFailedJob    = "it has failed; it is deleted and created again"
	noteNewKind      = "its kind is defined by this release"
	noteChangedKind  = "the definition of its kind is changed by this release, so the result can differ"
	noteNewNamespace = "its namespace is created by this release"
	noteReplaced     = "unchanged, but replaced (--force)"
	noteMissing      = "revision %d has deployed it, but it no longer exists"
	noteStatusOnly   = "only fields that the diff omits are changed, such as the status"
)

// Builder builds a Preview. AddNamespace, AddCRDs and AddCRDHooks add the objects that are
// created before all others, and Build adds the rest.
type Builder struct {
	op      *operation.Operation
	preview *Preview
	// pending contains the kinds that the cluster does not know yet, because CRDs of the
	// release define them. notBuilt contains the objects of these kinds if the release has
	// no order. The server cannot check objects of these kinds with a dry run.
	pending  map[schema.GroupKind]bool
	notBuilt []Object
	// changedKinds contains the kinds whose CRDs would be changed. A dry run checks their
	// objects against the CRDs as they are.
	changedKinds map[schema.GroupVersionKind]bool
	// namespaces contains the names of the namespaces that the release creates.
	namespaces map[string]bool
	// renames and inventory find the objects whose name contains the revision.
	renames   *renames
	inventory *inventory.Inventory
}

// NewBuilder returns a Builder for the operation op. operationName is "install" or
// "upgrade".
func NewBuilder(op *operation.Operation, operationName string) *Builder {
	return &Builder{
		op: op, preview: &Preview{Operation: operationName, First: []Object{}, Nodes: []Node{}, Removed: []Node{}, Hooks: []hookorder.Plan{}},
		pending: map[schema.GroupKind]bool{}, changedKinds: map[schema.GroupVersionKind]bool{}, namespaces: map[string]bool{},
	}
}

// AddNamespace adds the namespace with the given name to Preview.First, unless it exists.
func (b *Builder) AddNamespace(ctx context.Context, name string) error {
	list, err := b.op.Cluster.Build([]byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n"), false)
	if err != nil {
		return err
	}
	return b.addFirst(ctx, list)
}

// HasChanges reports whether the objects that were added so far would be created or changed, or would fail.
func (b *Builder) HasChanges() bool {
	b.preview.summarize()
	return b.preview.Changes
}

// addFirst adds those objects in list that do not exist in the cluster to Preview.First.
func (b *Builder) addFirst(ctx context.Context, list kube.ResourceList) error {
	live, err := b.op.Cluster.Live(ctx, list)
	if err != nil {
		return err
	}
	for _, info := range list {
		if o := newObject(info, Create); live[info] == nil && !slices.ContainsFunc(b.preview.First, o.isSame) { // two charts can contain a CRD
			b.preview.First = append(b.preview.First, o)
			b.rememberNamespace(info)
		}
	}
	return nil
}

// rememberNamespace records that the release creates the object info, in case it is a
// namespace.
func (b *Builder) rememberNamespace(info *object.Info) {
	if object.IsKind(info, "Namespace") {
		b.namespaces[info.Name] = true
	}
}

// Build finds out with dry-run requests what run would do, and returns the preview. It must
// not be called after run.Perform.
func (b *Builder) Build(ctx context.Context, run *deploy.Run) (*Preview, error) {
	defer run.Close()
	rel, o, p := run.Release(), run.Options(), b.preview
	p.Release, p.Namespace, p.Revision, p.Ordered = rel.Name, rel.Namespace, rel.Version, run.IsOrdered()
	for _, info := range run.Objects() {
		if run.IsAbsent(info) {
			b.rememberNamespace(info)
		}
	}
	dryRuns, err := run.DryRun(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.missingNamespace(rel.Namespace, dryRuns); err != nil {
		return nil, err
	}
	b.redactSecrets(run, dryRuns)
	if err := b.addNodes(ctx, run, dryRuns); err != nil {
		return nil, err
	}
	b.findRenames(run, dryRuns)
	if err := run.FindObsolete(ctx, func(node string, found *prune.FoundObjects) { b.addRemoved(ctx, node, found) }); err != nil {
		return nil, err
	}
	if err := b.addExternal(ctx, rel.Namespace, run.Plan()); err != nil {
		return nil, err
	}
	b.addSkipped(run.Plan())
	if !o.Hooks.Disabled {
		p.Hooks = slices.DeleteFunc(hookorder.Plans(rel.Hooks, o.Hooks.Modes, hookScopes(run.Plan())), func(plan hookorder.Plan) bool {
			return plan.Event != o.Hooks.Before && plan.Event != o.Hooks.After
		})
	}
	if o.RecreatePods {
		b.op.Events.Warn("the pods of the workloads would also be deleted (--recreate-pods)")
	}
	p.summarize()
	return p, nil
}

// hookScopes returns the function that hookorder.Plans needs for the hooks of a plan; nil if plan is nil.
func hookScopes(plan *sequencer.Plan) func(chart string) string {
	if plan == nil {
		return nil
	}
	return plan.HookScope
}

// redactSecrets makes the events and the preview redact the contents of Secrets, both as
// declared and as they are in the cluster.
func (b *Builder) redactSecrets(run *deploy.Run, dryRuns []objectwriter.DryRunResult) {
	contents := run.Contents()
	for _, t := range dryRuns {
		for _, state := range []*unstructured.Unstructured{t.Before, t.After} {
			if state != nil {
				contents = append(contents, state.Object)
			}
		}
	}
	b.op.Events.RedactWith(redact.ForObjects(contents))
}

// addNodes adds the nodes of the deployment graph to Preview.Nodes, with the results of the
// dry runs of their objects.
func (b *Builder) addNodes(ctx context.Context, run *deploy.Run, dryRuns []objectwriter.DryRunResult) error {
	results := make(map[*object.Info]Object, len(dryRuns))
	for _, t := range dryRuns {
		result, err := b.result(t, run.Options().Force)
		if err != nil {
			return err
		}
		if result.Action == Fail {
			result = b.recreated(ctx, run, t, result)
		}
		if b.changedKinds[t.Info.Mapping.GroupVersionKind] {
			result = withChangedKind(result, t)
		}
		if run.MustRecreate(t.Info, t.Before) {
			result = newObject(t.Info, Create)
			result.Note = noteFailedJob
		}
		result.dryRun = &t
		b.addDrift(run, t, &result)
		results[t.Info] = result
	}
	for _, n := range run.Nodes() {
		node := Node{Node: n.Node, Objects: []Object{}}
		for i, info := range n.List {
			if info != nil {
				node.Objects = append(node.Objects, results[info])
				continue
			}
			res := n.Resources[i]
			node.Objects = append(node.Objects, Object{
				Action: Create, APIVersion: res.APIVersion, Kind: res.ID.Kind, Namespace: res.ID.Namespace, Name: res.ID.Name, Note: noteNewKind,
			})
		}
		node.Objects = append(node.Objects, b.notBuilt...) // not empty only without an order: there is one node
		b.preview.Nodes = append(b.preview.Nodes, node)
	}
	return nil
}

// result returns the Object for the result of a dry run. force says whether objects are
// replaced (--force).
func (b *Builder) result(t objectwriter.DryRunResult, force bool) (Object, error) {
	o, err := b.describe(t, force)
	o.dryRun = &t
	return o, err
}

func (b *Builder) describe(t objectwriter.DryRunResult, force bool) (Object, error) {
	switch t.Effect {
	case objectwriter.EffectCreated:
		return newObject(t.Info, Create), nil
	case objectwriter.EffectUnchanged:
		return newObject(t.Info, Unchanged), nil
	case objectwriter.EffectChanged:
		o := newObject(t.Info, Change)
		o.change = &change{after: withoutAssignedPorts(t), redactor: b.op.Events.Redactor()}
		var err error
		if o.live, o.planned, err = textsOf(t.Before, o.change.after, o.change.redactor); err != nil {
			return o, fmt.Errorf("%s: %w", object.Describe(t.Info), err)
		}
		o.Diff = unifiedDiff(o.live, o.planned, defaultContext)
		switch {
		case o.Diff != "":
		case force:
			o.Note = noteReplaced
		default:
			o.Note = noteStatusOnly
		}
		return o, nil
	case objectwriter.EffectRejected:
	}
	return b.failed(t), nil
}

// failed returns the Object for an object that the server rejects in a dry run. Its action
// is Fail, unless the server rejects only the dry run and would accept the actual request.
func (b *Builder) failed(t objectwriter.DryRunResult) Object {
	if t.Before == nil && b.namespaces[object.Namespace(t.Info)] && apierrors.IsNotFound(t.Err) {
		o := newObject(t.Info, Create)
		o.Note = noteNewNamespace
		return o
	}
	if t.IsUnsupported() {
		o := newObject(t.Info, Change)
		if t.Before == nil {
			o.Action = Create
		}
		o.Note = "no dry run is possible: an admission webhook does not support it"
		return o
	}
	o := newObject(t.Info, Fail)
	message, remedy := failure.DescribeRejection(t.Err)
	o.Error = b.op.Events.Redactor().ServerMessage(message)
	if remedy != "" {
		o.Error += "\n" + remedy
	}
	return o
}

// missingNamespace returns an error if the namespace of the release does not exist and would not
// be created, according to the dry runs of its objects.
func (b *Builder) missingNamespace(namespace string, dryRuns []objectwriter.DryRunResult) error {
	var err error
	var list kube.ResourceList
	for _, t := range dryRuns {
		status, isStatus := errors.AsType[*apierrors.StatusError](t.Err)
		if !isStatus || !apierrors.IsNotFound(status) || status.ErrStatus.Details == nil || b.namespaces[namespace] {
			continue
		}
		if details := status.ErrStatus.Details; details.Kind == "namespaces" && details.Name == namespace {
			err, list = t.Err, append(list, t.Info)
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("the namespace %q of the release does not exist, so %s cannot be created: create the namespace, or use --create-namespace: %w",
		namespace, object.Summarize(list), err)
}

// addRemoved adds the objects in found, which would be deleted or kept, to Preview.Removed.
// id is the ID of their node of the deployment graph. If the objects of a node are deleted
// in several steps without another node between them, addRemoved merges the steps.
func (b *Builder) addRemoved(ctx context.Context, id string, found *prune.FoundObjects) {
	node := Node{Node: id}
	live := b.liveStates(ctx, found.List)
	for _, info := range found.List {
		if b.isLate(info) || b.isRenamed(info) {
			continue
		}
		o := newObject(info, Delete)
		if err := b.op.Writer.DryRunDelete(ctx, info, metav1.DeletePropagationBackground); err != nil {
			o.Action, o.Error = Fail, b.op.Events.RedactError(err).Error()
		}
		if declared := b.inventory.Find(info); declared != nil && live[info] != nil {
			o.dryRun = &objectwriter.DryRunResult{Info: declared, Before: live[info]}
		}
		node.Objects = append(node.Objects, o)
	}
	for _, k := range found.Kept {
		o := newObject(k.Info, Keep)
		o.Note = k.Why
		node.Objects = append(node.Objects, o)
	}
	p := b.preview
	last := len(p.Removed) - 1
	switch {
	case len(node.Objects) == 0:
	case last >= 0 && p.Removed[last].Node == node.Node:
		p.Removed[last].Objects = append(p.Removed[last].Objects, node.Objects...)
	default:
		p.Removed = append(p.Removed, node)
	}
}

// liveStates returns the objects in list as they are in the cluster. It reads those whose state is not known; what cannot
// be read is omitted, and is found out when the objects are deleted.
func (b *Builder) liveStates(ctx context.Context, list kube.ResourceList) map[*object.Info]*unstructured.Unstructured {
	if b.inventory == nil { // no earlier revision declares them
		return nil
	}
	states := make(map[*object.Info]*unstructured.Unstructured, len(list))
	var unread kube.ResourceList
	for _, info := range list {
		if state, isState := info.Object.(*unstructured.Unstructured); isState && state.GetUID() != "" {
			states[info] = state
		} else {
			unread = append(unread, info)
		}
	}
	if read, err := b.op.Cluster.Live(ctx, unread); err == nil {
		maps.Copy(states, read)
	}
	return states
}

func newObject(info *object.Info, action Action) Object {
	apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	o := Object{Action: action, APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace(info), Name: info.Name}
	if declared, isUnstructured := info.Object.(*unstructured.Unstructured); isUnstructured {
		o.labels = declared.GetLabels()
	}
	return o
}
