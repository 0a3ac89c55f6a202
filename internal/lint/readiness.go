// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/neededobjects"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// checkNode adds findings about the readiness of the resources in p.Nodes[number].
func (i *chartInspection) checkNode(p *sequencer.Plan, number int) {
	node := p.Nodes[number]
	for _, r := range node.Resources {
		if r.Timeout > defaultTimeout {
			i.add(rule.ReadinessTimeoutLong, i.positionByID(r.File, r.ID, annotation.ReadinessTimeout), fmt.Sprintf(
				"%s: %s is longer than %s, the default of --timeout: an ordered installation needs a longer --timeout", r.ID, r.Timeout, defaultTimeout))
		}
		if !node.Awaited {
			continue
		}
		if r.IsCustom() && len(r.Success) == 0 {
			i.add(rule.CustomReadiness, i.positionByID(r.File, r.ID, ""), fmt.Sprintf(
				"other resources depend on %s, a custom resource without %s: it counts as ready immediately unless it has a Ready condition",
				r.ID, annotation.ReadinessSuccess))
		}
		if r.ID.Group == "" && r.ID.Kind == "PersistentVolumeClaim" {
			i.checkClaim(p, number, r)
		}
	}
}

// checkClaim adds a finding if a PersistentVolumeClaim is bound only when a pod that uses it
// is scheduled, but the pod is deployed only after the claim is ready. Without readiness
// expressions, the claim counts as ready before it is bound, and the finding is only Info.
// With them, the claim may never become ready. The claim is in p.Nodes[number].
func (i *chartInspection) checkClaim(p *sequencer.Plan, number int, claim *sequencer.PlannedResource) {
	mode := bindingMode(p, claim)
	if mode == "Immediate" || mode == "" && len(claim.Success) == 0 || !usedLater(p, number, claim) {
		return
	}
	spec, _ := claim.Object()["spec"].(map[string]any)
	if volume, _ := spec["volumeName"].(string); volume != "" {
		return
	}
	if len(claim.Success) == 0 {
		i.addAs(rule.WaitForFirstConsumer, rule.Info, i.positionByID(claim.File, claim.ID, ""), fmt.Sprintf(
			"%s is deployed before the pod that uses it, but its storage class binds it only when that pod is scheduled: it is not waited for", claim.ID))
		return
	}
	if mode == "" {
		mode = "WaitForFirstConsumer (the default on most clouds)"
	}
	i.add(rule.WaitForFirstConsumer, i.positionByID(claim.File, claim.ID, annotation.ReadinessSuccess), fmt.Sprintf(
		"%s must satisfy %q before the pod that uses it is deployed; with volumeBindingMode %s it is never bound", claim.ID, claim.Success[0], mode))
}

// bindingMode returns the volumeBindingMode of the storage class of claim, or an empty
// string if the storage class is not part of the release.
func bindingMode(p *sequencer.Plan, claim *sequencer.PlannedResource) string {
	spec, _ := claim.Object()["spec"].(map[string]any)
	class, _ := spec["storageClassName"].(string)
	for _, n := range p.Nodes {
		for _, r := range n.Resources {
			if r.ID.Kind == "StorageClass" && r.ID.Name == class && class != "" {
				if mode, _ := r.Object()["volumeBindingMode"].(string); mode != "" {
					return mode
				}
				return "Immediate"
			}
		}
	}
	return ""
}

// usedLater reports whether any resource uses the claim, which is in p.Nodes[number], and all
// resources that use it are in nodes that come after that node.
func usedLater(p *sequencer.Plan, number int, claim *sequencer.PlannedResource) bool {
	later := false
	for n, node := range p.Nodes {
		for _, r := range node.Resources {
			if r.ID.Namespace != claim.ID.Namespace || !slices.Contains(neededobjects.ClaimNames(r.ID.Kind, r.Object()), claim.ID.Name) {
				continue
			}
			if n == number || !p.ComesAfter(n, number) {
				return false
			}
			later = true
		}
	}
	return later
}

// checkReachability adds a finding if a layer has no effect on the order: it has no
// dependencies and no dependents, and the chart has no unlayered resources.
func (i *chartInspection) checkReachability(p *sequencer.Plan, node *sequencer.Node) {
	if node.Layer == "" || len(node.DependsOn) > 0 {
		return
	}
	for _, other := range p.Nodes {
		if other.Chart == node.Chart && (other.Unsequenced || slices.Contains(other.DependsOn, node.Layer)) {
			return
		}
	}
	first := node.Resources[0]
	i.add(rule.LayerUnreached, i.layerPosition(first), fmt.Sprintf(
		"layer %q has no dependencies and no dependents: it is not ordered relative to anything else in the chart", node.Layer))
}

// layerPosition returns the position of the annotation that puts r into a layer.
func (i *chartInspection) layerPosition(r *sequencer.PlannedResource) source.Position {
	key := annotation.Layer
	for _, o := range i.find(r.File, r.ID) {
		if yamledit.Lookup(o.annotations, key) == nil {
			key = annotation.ResourceGroup
		}
	}
	return i.positionByID(r.File, r.ID, key)
}
