// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package placeholder

import (
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaseparts"
)

// migrationFile is the name of the file in the chart of a placeholder that describes a migration, as JSON.
const migrationFile = ".ordered-helm/migration"

// Migration describes the migration of a release to another storage driver. Its placeholder follows the last revision, in
// both storages, so that nothing else changes the release meanwhile.
type Migration struct {
	// From and To are names of storage drivers, as in HELM_DRIVER.
	From string `json:"from"`
	To   string `json:"to"`
	// Copied says that all revisions are stored by To, and were read back. Then revisions are deleted from From.
	Copied bool `json:"copied,omitempty"`
}

// NewMigration returns the placeholder of a migration. head is that of the last revision, except for the number of the
// revision.
func NewMigration(m Migration, head *releaseparts.Head) *release.Release {
	rel := New(m.To, head, nil)
	rel.Info.Description = m.description()
	rel.Info.Notes = m.description() + "\n"
	m.Store(rel)
	return rel
}

func (m Migration) description() string {
	return fmt.Sprintf("This release is being moved from the storage driver %s to %s by helm state migrate of Ordered Helm", m.From, m.To)
}

// Store makes rel, the placeholder of a migration, describe m.
func (m Migration) Store(rel *release.Release) {
	data, err := json.Marshal(m)
	if err != nil {
		return // strings and booleans can always be encoded
	}
	for _, f := range rel.Chart.Files {
		if f != nil && f.Name == migrationFile {
			f.Data = data
			return
		}
	}
	rel.Chart.Files = append(rel.Chart.Files, &chart.File{Name: migrationFile, Data: data})
}

// MigrationOf returns the migration of which rel is the placeholder; nil if it is none.
func MigrationOf(rel *release.Release) *Migration {
	if name, _ := Of(rel); name == "" {
		return nil
	}
	for _, f := range rel.Chart.Files {
		if f == nil || f.Name != migrationFile {
			continue
		}
		var m Migration
		if json.Unmarshal(f.Data, &m) == nil && m.From != "" && m.To != "" {
			return &m
		}
	}
	return nil
}

// MigrationError reports that a release is being moved to another storage driver, or that this was interrupted.
type MigrationError struct {
	Release, Namespace string
	Migration          Migration
}

func (e *MigrationError) Error() string {
	return fmt.Sprintf("release %[1]s in namespace %[2]s is being moved from the storage driver %[3]s to %[4]s: if no process is working on this, "+
		"complete it with helm state migrate %[1]s --namespace %[2]s --from %[3]s --to %[4]s", e.Release, e.Namespace, e.Migration.From, e.Migration.To)
}
