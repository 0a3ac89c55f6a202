// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"time"

	"helm.sh/helm/v3/pkg/chart"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/processid"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// versionSpec returns the spec of the ReleaseVersion of a head.
func versionSpec(head *releaseparts.Head) releaseapi.ReleaseVersionSpec {
	return releaseapi.ReleaseVersionSpec{ReleaseName: head.Name, Revision: int64(head.Revision), Chart: releaseapi.NewChart(head.Chart)}
}

// versionStatus returns the status of the ReleaseVersion of a head.
func versionStatus(head *releaseparts.Head, sections []releaseparts.Reference) releaseapi.ReleaseVersionStatus {
	status := releaseapi.ReleaseVersionStatus{
		Phase: head.Status, Description: releaseapi.Truncate(head.Description, releaseapi.MaxDescriptionLength), Labels: head.Labels, WholeRecord: head.IsRecordWhole, Order: string(head.Order),
		FirstDeployed: head.FirstDeployed.Time, LastDeployed: head.LastDeployed.Time, Deleted: head.Deleted.Time,
	}
	for _, h := range head.Hooks {
		status.Hooks = append(status.Hooks, releaseapi.Hook{
			Index: int64(h.Index), Name: h.Name, Kind: h.Kind, Phase: h.Phase, StartedAt: h.StartedAt.Time, CompletedAt: h.CompletedAt.Time,
		})
	}
	if l := head.Lease; l != nil {
		status.Operation = &releaseapi.Operation{
			Revision: int64(l.Revision), ID: l.ID, Operation: l.Operation, Host: l.Host, PID: int64(l.PID), StartID: l.StartID,
			StartedAt: l.StartedAt, RenewedAt: l.RenewedAt, Seconds: int64(l.Seconds),
		}
	}
	if p := head.Progress; p != nil {
		status.Progress = &releaseapi.Progress{
			Revision: int64(p.Revision), DoneNodes: p.DoneNodes, RunningNodes: p.RunningNodes, TotalNodes: int64(p.TotalNodes), Uninstalling: p.Uninstalling,
		}
	}
	for _, s := range sections {
		status.Payload = append(status.Payload, releaseapi.Section{Section: s.Section, Digest: s.Digest, Size: int64(s.Size), Secrets: s.Secrets})
	}
	return status
}

// headOf is the inverse of versionSpec and versionStatus.
func headOf(v *releaseapi.ReleaseVersion) *releaseparts.Head {
	s := &v.Status
	head := &releaseparts.Head{
		Name: v.Spec.ReleaseName, Namespace: v.Namespace, Revision: int(v.Spec.Revision), Status: s.Phase, Description: s.Description, Labels: s.Labels,
		FirstDeployed: helmTime(s.FirstDeployed), LastDeployed: helmTime(s.LastDeployed), Deleted: helmTime(s.Deleted), IsRecordWhole: s.WholeRecord, Order: orderrecord.State(s.Order),
	}
	if c := v.Spec.Chart; c != (releaseapi.Chart{}) {
		head.Chart = &chart.Metadata{Name: c.Name, Version: c.Version, AppVersion: c.AppVersion}
	}
	for _, h := range s.Hooks {
		head.Hooks = append(head.Hooks, releaseparts.HookRun{
			Index: int(h.Index), Name: h.Name, Kind: h.Kind, Phase: h.Phase, StartedAt: helmTime(h.StartedAt), CompletedAt: helmTime(h.CompletedAt),
		})
	}
	if o := s.Operation; o != nil {
		head.Lease = &orderrecord.Lease{
			Revision: int(o.Revision), ID: o.ID, Operation: o.Operation, Process: processid.Process{Host: o.Host, PID: int(o.PID), StartID: o.StartID},
			StartedAt: o.StartedAt, RenewedAt: o.RenewedAt, Seconds: int(o.Seconds),
		}
	}
	if p := s.Progress; p != nil {
		head.Progress = &orderrecord.Progress{
			Revision: int(p.Revision), DoneNodes: p.DoneNodes, RunningNodes: p.RunningNodes, TotalNodes: int(p.TotalNodes), Uninstalling: p.Uninstalling,
		}
	}
	return head
}

// sectionsOf returns the references to the sections of a version.
func sectionsOf(v *releaseapi.ReleaseVersion) []releaseparts.Reference {
	var sections []releaseparts.Reference
	for _, s := range v.Status.Payload {
		sections = append(sections, releaseparts.Reference{Section: s.Section, Digest: s.Digest, Size: int(s.Size), Secrets: s.Secrets})
	}
	return sections
}

func helmTime(t time.Time) helmtime.Time { return helmtime.Time{Time: t} }
