// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
)

// Apply creates the CRDs in files that do not exist, and changes those that differ from their
// declarations. Then it waits until the cluster serves their kinds in all versions. It deletes
// nothing. If it must not change one of them, or the server rejects one, it changes none and
// returns a *RefusedError. Objects in files that are no CRDs are treated as by Install. changed
// reports whether it created or changed any object.
func (i *Installer) Apply(ctx context.Context, files []chart.CRD) (changed bool, err error) {
	s, err := i.readSet(ctx, files)
	if err != nil {
		return false, err
	}
	if _, err := s.dryRun(ctx); err != nil && !errors.Is(err, objectwriter.ErrNoCluster) {
		return false, err
	}
	if err := s.refused(); err != nil {
		return false, err
	}
	list, o := s.writable()
	if len(list) == 0 {
		return s.finish(ctx, nil)
	}
	i.events.Emit(event.Event{Type: event.CRDsStarted, Message: "applying " + text.Count(len(list), object.CRDKind), Resources: len(list)})
	applied, err := s.write(ctx, list, o)
	if err == nil {
		changed, err = s.finish(ctx, applied)
	}
	done := event.Event{Type: event.CRDsDone, Resources: len(list), Err: err}
	if err == nil {
		done.Message = text.Count(len(list), object.CRDKind) + " applied, and served by the cluster"
	}
	i.events.Emit(done)
	return changed, err
}

// finish creates the objects that are no CRDs, and waits until the cluster serves all CRDs.
// applied contains those that were created or changed.
func (s *definitionSet) finish(ctx context.Context, applied kube.ResourceList) (changed bool, err error) {
	others, err := s.createOthers(ctx, s.others)
	changed = len(applied)+len(others) > 0
	if err != nil {
		return changed, err
	}
	return changed, s.awaitServed(ctx, slices.Concat(applied, others))
}

// DryRun finds out what Apply would do with the CRDs in files, with dry-run requests. A CRD that
// Apply must not change has the effect objectwriter.EffectRejected. others contains the objects
// that are no CRDs.
func (i *Installer) DryRun(ctx context.Context, files []chart.CRD) (results []objectwriter.DryRunResult, others kube.ResourceList, err error) {
	s, err := i.readSet(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	if results, err = s.dryRun(ctx); err != nil {
		return nil, nil, err
	}
	for _, f := range s.others {
		others = append(others, f.list...)
	}
	return results, others, nil
}

// definitionSet contains the CRDs of an operation, in the order of their files.
type definitionSet struct {
	*Installer
	definitions []*definition
	others      []otherObjects
}

// definition is a CRD of a chart.
type definition struct {
	file string
	// info is the declaration, and base what counts as the previous one (see baseOf).
	info, base *object.Info
	// live is the CRD in the cluster; nil if it does not exist.
	live *unstructured.Unstructured
	// changes says whether the CRD must be created or changed.
	changes bool
	// err says why the CRD cannot be applied; nil if it can be.
	err error
}

// otherObjects contains the objects in a file that are no CRDs.
type otherObjects struct {
	file string
	list kube.ResourceList
}

// readSet parses files, reads the CRDs that they declare from the cluster, with one request, and
// compares them.
func (i *Installer) readSet(ctx context.Context, files []chart.CRD) (*definitionSet, error) {
	s := &definitionSet{Installer: i}
	if err := s.parse(files); err != nil || len(s.definitions) == 0 {
		return s, err
	}
	var list kube.ResourceList
	for _, d := range s.definitions {
		list = append(list, d.info)
	}
	live, err := i.cluster.LiveCRDs(ctx, list)
	if err != nil {
		return nil, err
	}
	for _, d := range s.definitions {
		if err := d.compare(live[d.info], i.release); err != nil {
			return nil, fmt.Errorf("compare CustomResourceDefinition %s (%s) with the one in the cluster: %w", d.info.Name, d.file, err)
		}
	}
	return s, nil
}

// parse adds the objects in files to the set. If several files declare the same CRD, the first
// counts, as in Install. The files of a chart come before those of its subcharts.
func (s *definitionSet) parse(files []chart.CRD) error {
	byName := map[string]*definition{}
	for _, file := range files {
		built, err := s.cluster.Build(file.File.Data, false)
		if err != nil {
			return fmt.Errorf("failed to install CRD %s: %w", file.Name, err)
		}
		others := otherObjects{file: file.Name}
		for _, info := range built {
			if info.Object.GetObjectKind().GroupVersionKind().GroupKind() != crdKind.GroupKind() {
				others.list = append(others.list, info)
				continue
			}
			clean, err := declared(info)
			if err != nil {
				return fmt.Errorf("failed to install CRD %s: %w", file.Name, err)
			}
			d := &definition{file: file.Filename, info: clean, base: clean}
			if first := byName[info.Name]; first != nil {
				s.warnDuplicate(first, d)
				continue
			}
			byName[info.Name] = d
			s.definitions = append(s.definitions, d)
		}
		if len(others.list) > 0 {
			s.others = append(s.others, others)
		}
	}
	return nil
}

// warnDuplicate emits a warning if two declarations of a CRD are not the same.
func (s *definitionSet) warnDuplicate(first, second *definition) {
	differ, err := differs(second.info, second.info, first.info.Object.(*unstructured.Unstructured)) //nolint:forcetypeassert // declared has set it
	if differ || err != nil {
		s.events.Warnf("CustomResourceDefinition %s is declared in %s and, differently, in %s: the first declaration is used", first.info.Name, first.file, second.file)
	}
}

// compare sets whether the CRD must be changed, and whether it can be. live is the CRD in the
// cluster; nil if it does not exist.
func (d *definition) compare(live *unstructured.Unstructured, release object.OwningRelease) (err error) {
	d.live, d.changes = live, true
	if live == nil {
		return nil
	}
	d.base = baseOf(d.info, live)
	if d.changes, err = differs(d.info, d.base, live); err != nil {
		return err
	}
	d.err = refusal(d.info, live, d.changes, release)
	return nil
}

// writable returns the CRDs that must be created or changed, and can be.
func (s *definitionSet) writable() (list kube.ResourceList, o objectwriter.ApplyOptions) {
	live := map[*object.Info]*unstructured.Unstructured{}
	for _, d := range s.definitions {
		if !d.changes || d.err != nil {
			continue
		}
		list, o.Originals = append(list, d.info), append(o.Originals, d.base)
		if d.live != nil {
			live[d.info] = d.live
		}
	}
	o.OptimisticLocking, o.SkipSameState = true, true
	o.Live = func(context.Context, kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error) {
		return maps.Clone(live), nil
	}
	o.MayChange = func(info *object.Info, live *unstructured.Unstructured) error { // it may have changed since it was read
		return refusal(info, live, true, s.release)
	}
	return list, o
}

// dryRun sends dry-run requests for the CRDs that must be created or changed, and records which
// of them the server rejects. It returns the results for all CRDs.
func (s *definitionSet) dryRun(ctx context.Context) ([]objectwriter.DryRunResult, error) {
	byInfo := map[*object.Info]objectwriter.DryRunResult{}
	if list, o := s.writable(); len(list) > 0 {
		results, err := s.writer.DryRunApply(ctx, list, o)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			byInfo[r.Info] = r
		}
	}
	results := make([]objectwriter.DryRunResult, len(s.definitions))
	for n, d := range s.definitions {
		sent, isSent := byInfo[d.info]
		switch {
		case isSent:
			results[n] = sent
			d.changes = sent.Effect != objectwriter.EffectUnchanged // the server may not store a field
			if !sent.IsUnsupported() {
				d.err = sent.Err
			}
		case d.err != nil:
			results[n] = objectwriter.DryRunResult{Info: d.info, Effect: objectwriter.EffectRejected, Before: d.live, Err: d.err}
		default:
			results[n] = objectwriter.DryRunResult{Info: d.info, Effect: objectwriter.EffectUnchanged, Before: d.live, After: d.live}
		}
	}
	return results, nil
}

// refused returns a *RefusedError with the CRDs that cannot be applied; nil if all can be.
func (s *definitionSet) refused() error {
	refused := &RefusedError{}
	for _, d := range s.definitions {
		if d.err != nil {
			refused.Refusals = append(refused.Refusals, Refusal{Name: d.info.Name, File: d.file, Err: d.err})
		}
	}
	if len(refused.Refusals) == 0 {
		return nil
	}
	return refused
}

// write creates and changes the CRDs in list, and returns their new states.
func (s *definitionSet) write(ctx context.Context, list kube.ResourceList, o objectwriter.ApplyOptions) (kube.ResourceList, error) {
	result, err := s.writer.Apply(ctx, list, o)
	if result != nil {
		s.report(result.Created, "created")
		s.report(result.Updated, "changed")
	}
	if err != nil {
		return nil, fmt.Errorf("apply the definitions of the chart: %w", err)
	}
	return result.States.All(slices.Concat(result.Created, result.Updated)), nil
}

// report emits an event for each CRD that was created or changed.
func (s *definitionSet) report(list kube.ResourceList, what string) {
	for _, info := range list {
		s.events.Emit(event.Event{Type: event.CRDApplied, Resource: object.CRDKind + "/" + info.Name, Message: what})
	}
}

// createOthers creates objects that are no CRDs, one file after the other, as Install does. It
// returns the objects that it created.
func (i *Installer) createOthers(ctx context.Context, files []otherObjects) (created kube.ResourceList, err error) {
	for _, f := range files {
		states, err := i.writer.Create(ctx, f.list)
		switch {
		case apierrors.IsAlreadyExists(err):
			i.log("CRD %s is already present. Skipping.", f.list[0].Name)
		case err != nil:
			return created, fmt.Errorf("failed to install CRD %s: %w", f.file, err)
		default:
			created = append(created, states.All(f.list)...)
		}
	}
	return created, nil
}

// awaitServed waits until the cluster serves the kinds of the CRDs in waiting, and of those in
// the set that somebody else has just created.
func (s *definitionSet) awaitServed(ctx context.Context, waiting kube.ResourceList) error {
	var recent kube.ResourceList
	for _, d := range s.definitions {
		switch {
		case d.changes:
		case !isEstablished(d.live):
			waiting = append(waiting, object.WithState(d.info, d.live))
		case time.Since(d.live.GetCreationTimestamp().Time) < wait.EstablishTimeout:
			recent = append(recent, d.info)
		}
	}
	if len(waiting) > 0 {
		if err := s.waiter.WaitEstablished(ctx, waiting); err != nil {
			return fmt.Errorf("wait until the definitions of the chart are served: %w", err)
		}
	}
	if len(waiting)+len(recent) == 0 {
		return nil
	}
	s.log("Clearing discovery cache")
	return s.cluster.AwaitKinds(ctx, object.DefinedKinds(slices.Concat(waiting, recent)))
}

// isEstablished reports whether the cluster says that it serves a CRD.
func isEstablished(live *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(entry any) bool {
		condition, _ := entry.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}
