// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaseparts splits a release into a head, which is small and contains nothing
// confidential, and sections, which contain the rest, and stores sections in immutable Secrets.
//
// What changes often during an operation, such as the status and the lease, is in the head, so
// that most writes of a release need not write its sections again.
package releaseparts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

const (
	// ReleaseSection is the name of the section with the values, the manifest, the hooks, the
	// notes and the chart. Its data is the JSON text of a release.Release, so that it can also
	// contain fields of other versions of Helm. Fields that are in the head have no values.
	ReleaseSection = "release"
	// RecordSection is the name of the section with the order record, without its lease and
	// progress. A release without an order record does not have this section.
	RecordSection = "record"
)

// Limits of what is in the head. What exceeds them is in a section.
const (
	maxDescriptionBytes = 8 << 10 // as many characters as the definition of ReleaseVersion allows
	maxHookRuns         = 1000
	maxProgressBytes    = 128 << 10
)

// Section is a part of a release.
type Section struct {
	Name string
	Data []byte
}

// Split splits a release, which it does not change. The sections of equal releases are equal.
func Split(rel *release.Release) (*Head, []Section, error) {
	if rel.Info == nil {
		return nil, nil, fmt.Errorf("store release %s, revision %d: it has no status", rel.Name, rel.Version)
	}
	head := &Head{
		Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Version,
		Status: rel.Info.Status, Description: rel.Info.Description,
		FirstDeployed: rel.Info.FirstDeployed, LastDeployed: rel.Info.LastDeployed, Deleted: rel.Info.Deleted,
		Labels: userLabels(rel.Labels),
	}
	head.Order, _ = orderrecord.StateOf(rel) // the error is that it is orderrecord.Unknown
	bare := *rel
	bare.Info = &release.Info{Notes: rel.Info.Notes, Resources: rel.Info.Resources}
	if len(head.Description) > maxDescriptionBytes {
		bare.Info.Description = head.Description
		head.Description = strings.ToValidUTF8(head.Description[:maxDescriptionBytes], "")
	}
	head.Hooks, bare.Hooks = splitHooks(rel.Hooks)
	var record []byte
	if bare.Chart, record = orderrecord.Detach(rel.Chart); bare.Chart != nil {
		head.Chart = listedMetadata(bare.Chart.Metadata)
	}
	text, err := marshal(&bare)
	if err != nil {
		return nil, nil, fmt.Errorf("store release %s, revision %d: %w", rel.Name, rel.Version, err)
	}
	sections := []Section{{ReleaseSection, text}}
	if record != nil {
		sections = append(sections, Section{RecordSection, head.splitRecord(record)})
	}
	return head, sections, nil
}

// Join is the inverse of Split. The sections can have any order.
func Join(head *Head, sections []Section) (*release.Release, error) {
	text, hasText := find(sections, ReleaseSection)
	if !hasText {
		return nil, fmt.Errorf("read release %s, revision %d: the section %q is missing", head.Name, head.Revision, ReleaseSection)
	}
	rel := &release.Release{}
	if err := json.Unmarshal(text, rel); err != nil {
		return nil, fmt.Errorf("read release %s, revision %d: %w", head.Name, head.Revision, err)
	}
	rel.Name, rel.Namespace, rel.Version, rel.Labels = head.Name, head.Namespace, head.Revision, head.Labels
	if rel.Info == nil {
		rel.Info = &release.Info{}
	}
	head.setInfo(rel.Info)
	for _, run := range head.Hooks {
		if run.Index < 0 || run.Index >= len(rel.Hooks) || rel.Hooks[run.Index] == nil {
			return nil, fmt.Errorf("read release %s, revision %d: hook %d does not exist", head.Name, head.Revision, run.Index)
		}
		rel.Hooks[run.Index].LastRun = release.HookExecution{StartedAt: run.StartedAt, CompletedAt: run.CompletedAt, Phase: run.Phase}
	}
	record, hasRecord := find(sections, RecordSection)
	if !hasRecord {
		return rel, nil
	}
	if rel.Chart == nil {
		return nil, fmt.Errorf("read release %s, revision %d: it has an order record, but no chart", head.Name, head.Revision)
	}
	record, err := head.joinRecord(record)
	if err != nil {
		return nil, fmt.Errorf("read release %s, revision %d: %w", head.Name, head.Revision, err)
	}
	orderrecord.Attach(rel.Chart, record)
	return rel, nil
}

// splitRecord moves the lease and the progress of an order record to the head, and returns the
// rest. An order record that could not be restored exactly, for example because a later version
// has written it, is not split.
func (h *Head) splitRecord(record []byte) []byte {
	r, err := orderrecord.Decode(record)
	if err != nil {
		h.IsRecordWhole = true
		return record
	}
	h.Lease, h.Progress = r.Lease, r.Progress
	r.Lease, r.Progress = nil, nil
	rest, err := orderrecord.Encode(r)
	if err == nil && progressSize(h.Progress) <= maxProgressBytes {
		if joined, err := h.joinRecord(rest); err == nil && bytes.Equal(joined, record) {
			return rest
		}
	}
	h.IsRecordWhole = true
	if progressSize(h.Progress) > maxProgressBytes {
		h.Progress = nil
	}
	return record
}

// joinRecord is the inverse of splitRecord.
func (h *Head) joinRecord(rest []byte) ([]byte, error) {
	if h.IsRecordWhole {
		return rest, nil
	}
	if h.Lease == nil && h.Progress == nil {
		return rest, nil
	}
	r, err := orderrecord.Decode(rest)
	if err != nil {
		return nil, fmt.Errorf("its order record: %w", err)
	}
	r.Lease, r.Progress = h.Lease, h.Progress
	return orderrecord.Encode(r)
}

func progressSize(p *orderrecord.Progress) int {
	size := 0
	if p != nil {
		for _, id := range slices.Concat(p.DoneNodes, p.RunningNodes) {
			size += len(id) + len(`"",`)
		}
	}
	return size
}

// splitHooks returns the last runs of hooks, and the hooks without them.
func splitHooks(hooks []*release.Hook) (runs []HookRun, bare []*release.Hook) {
	bare = slices.Clone(hooks)
	for i, h := range hooks {
		if h == nil || h.LastRun.Phase == "" && h.LastRun.StartedAt.IsZero() && h.LastRun.CompletedAt.IsZero() {
			continue
		}
		runs = append(runs, HookRun{
			Index: i, Kind: h.Kind, Name: h.Name,
			Phase: h.LastRun.Phase, StartedAt: h.LastRun.StartedAt, CompletedAt: h.LastRun.CompletedAt,
		})
		copied := *h
		copied.LastRun = release.HookExecution{}
		bare[i] = &copied
	}
	if len(runs) > maxHookRuns {
		return nil, hooks
	}
	return runs, bare
}

// userLabels returns the labels of a release without those of Helm's storage drivers.
func userLabels(labels map[string]string) map[string]string {
	users := map[string]string{}
	for key, value := range labels {
		if !slices.Contains(driver.GetSystemLabels(), key) {
			users[key] = value
		}
	}
	if len(users) == 0 {
		return nil
	}
	return users
}

// listedMetadata returns those fields of the metadata of a chart that a Head contains.
func listedMetadata(m *chart.Metadata) *chart.Metadata {
	if m == nil {
		return nil
	}
	return &chart.Metadata{
		Name: m.Name, Version: m.Version, AppVersion: m.AppVersion,
		APIVersion: m.APIVersion, Type: m.Type, KubeVersion: m.KubeVersion, Deprecated: m.Deprecated,
	}
}

func find(sections []Section, name string) ([]byte, bool) {
	i := slices.IndexFunc(sections, func(s Section) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return sections[i].Data, true
}
