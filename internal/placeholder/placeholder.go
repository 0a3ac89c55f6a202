// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package placeholder defines placeholder releases. A storage driver of Ordered Helm stores one
// where Helm's driver for Secrets looks for a revision that this driver cannot read, so that
// stock Helm refuses to install, upgrade, roll back or uninstall the release, instead of
// considering its objects to be obsolete or those of somebody else.
package placeholder

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaseparts"
)

const (
	// DriverAnnotation is the annotation of the chart of a placeholder with the name of the
	// storage driver that stores the revision.
	DriverAnnotation = "helm.sh/storage-driver"

	// dataFile is the name of the file in the chart of a placeholder with the data of the driver.
	dataFile = ".ordered-helm/placeholder"
	// kind and apiVersion are those of the object in the manifest, which no server knows.
	kind, apiVersion = "ReleaseInAnotherStorage", "placeholder.helm.sh/v1"
)

// New returns the placeholder for the revision that head describes. The driver can store data in
// it. Stock Helm keeps this data if it updates the placeholder.
func New(driverName string, head *releaseparts.Head, data []byte) *release.Release {
	text := manifest(driverName)
	metadata := &chart.Metadata{APIVersion: chart.APIVersionV2, Name: head.Name, Version: "0.0.0"}
	if head.Chart != nil {
		metadata = &chart.Metadata{APIVersion: chart.APIVersionV2, Name: head.Chart.Name, Version: head.Chart.Version, AppVersion: head.Chart.AppVersion}
	}
	metadata.Annotations = map[string]string{DriverAnnotation: driverName}
	return &release.Release{
		Name: head.Name, Namespace: head.Namespace, Version: head.Revision, Labels: head.Labels,
		Chart:    &chart.Chart{Metadata: metadata, Files: []*chart.File{{Name: dataFile, Data: data}}},
		Manifest: text,
		// Stock Helm's uninstall changes the stored release before it reads the manifest, but
		// after the hooks.
		Hooks: []*release.Hook{{
			Name: objectName(driverName), Kind: kind, Path: "placeholder.yaml", Manifest: text,
			Events: []release.HookEvent{release.HookPreUpgrade, release.HookPreRollback, release.HookPreDelete, release.HookTest},
		}},
		Info: &release.Info{
			Status: Status(head), Description: Description(driverName),
			FirstDeployed: head.FirstDeployed, LastDeployed: head.LastDeployed, Notes: Description(driverName) + "\n",
		},
	}
}

// Status returns the status of the placeholder for the revision that head describes: one with
// which stock Helm does not upgrade a release.
func Status(head *releaseparts.Head) release.Status {
	if head.Revision == 1 {
		return release.StatusPendingInstall
	}
	return release.StatusPendingUpgrade
}

// Description returns the description of a placeholder, which tells users of stock Helm what to
// do.
func Description(driverName string) string {
	return fmt.Sprintf("This revision is stored by the storage driver %[1]s of Ordered Helm: use Ordered Helm, and set HELM_DRIVER=%[1]s", driverName)
}

// Of returns the name of the driver that stores the revision for which rel is the placeholder, and
// the data of this driver. It returns "" if rel is not a placeholder.
func Of(rel *release.Release) (driverName string, data []byte) {
	if rel == nil || rel.Chart == nil || rel.Chart.Metadata == nil {
		return "", nil
	}
	name := rel.Chart.Metadata.Annotations[DriverAnnotation]
	if name == "" || rel.Manifest != manifest(name) { // charts can have any annotations
		return "", nil
	}
	for _, f := range rel.Chart.Files {
		if f != nil && f.Name == dataFile {
			data = f.Data
		}
	}
	return name, data
}

// IsListed reports whether a release that was read for a list, and has no manifest, may be a
// placeholder.
func IsListed(rel *release.Release) bool {
	return rel.Chart != nil && rel.Chart.Metadata != nil && rel.Chart.Metadata.Annotations[DriverAnnotation] != ""
}

func objectName(driverName string) string { return "set-helm-driver-to-" + driverName }

func manifest(driverName string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", apiVersion, kind, objectName(driverName))
}

// DriverError reports that another storage driver stores a release.
type DriverError struct {
	Release, Namespace string
	// Driver is the name of the driver that stores the release, as in HELM_DRIVER, and Current the
	// one that was used.
	Driver, Current string
}

func (e *DriverError) Error() string {
	return fmt.Sprintf("release %s in namespace %s is stored by the storage driver %s, not %s: set HELM_DRIVER=%s",
		e.Release, e.Namespace, e.Driver, e.Current, e.Driver)
}

// Check returns a *DriverError if rel, which was read by the given driver, is the placeholder of
// another one, and a *MigrationError if it is the placeholder of a migration.
func Check(rel *release.Release, current string) error {
	if m := MigrationOf(rel); m != nil {
		return &MigrationError{Release: rel.Name, Namespace: rel.Namespace, Migration: *m}
	}
	if name, _ := Of(rel); name != "" && name != current {
		return &DriverError{Release: rel.Name, Namespace: rel.Namespace, Driver: name, Current: current}
	}
	return nil
}
