// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/releaseobjects"
	"github.com/ordered-helm/helm/internal/storagedriver"
	"github.com/ordered-helm/helm/internal/storagestatus"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

const stateStatusHelp = `
Show which storage driver (HELM_DRIVER) stores each release of the namespace, and whether it is
being moved to another one. For the releases that are named, also show which of their resources
the Release owns, so that the cluster deletes them with it, and why it does not own the others.

    $ helm state status
    NAME   DRIVER   REVISIONS   LAST   STATUS     NOTE
    shop   crd      3           3      deployed
    $ helm state status shop
    $ helm state status shop -o json

The driver sql is only asked if HELM_DRIVER_SQL_CONNECTION_STRING is set.
`

func newStateStatusCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "status [RELEASE...]",
		Short:             "show where releases are stored, and what they own [not in stock Helm]",
		Long:              stateStatusHelp,
		Annotations:       map[string]string{additionAnnotation: "true"},
		ValidArgsFunction: a.completeReleases,
	}
	out := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.stateStatus(cmd.Context(), args, out.format)
	}
	return cmd
}

// releaseStatus is what "helm state status" prints about a release.
type releaseStatus struct {
	storagestatus.Release
	Objects []objectStatus `json:"objects,omitempty"`
}

// objectStatus says whether the Release of a release owns an object.
type objectStatus struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Owned      bool   `json:"owned"`
	// Reason says why it is not owned.
	Reason string `json:"reason,omitempty"`
}

func (a *app) stateStatus(ctx context.Context, names []string, format output.Format) error {
	drivers := []string{storagedriver.Secret, storagedriver.ConfigMap, storagedriver.CRD}
	if os.Getenv("HELM_DRIVER_SQL_CONNECTION_STRING") != "" {
		drivers = append(drivers, storagedriver.SQL)
	}
	found, unreadable, err := storagestatus.Read(ctx, a.openStorage, drivers)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(unreadable)) {
		a.warnf("releases of the storage driver %s cannot be read: %v", name, unreadable[name])
	}
	if len(unreadable) == len(drivers) {
		return errors.New("the releases of no storage driver can be read")
	}
	statuses := make([]releaseStatus, 0, len(found)) // not nil, so that an empty list is [] in JSON
	for _, r := range found {
		if len(names) == 0 || slices.Contains(names, r.Name) {
			statuses = append(statuses, releaseStatus{Release: r})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(statuses, func(s releaseStatus) bool { return s.Name == name }) {
			return fmt.Errorf("release %s: %w", name, driver.ErrReleaseNotFound)
		}
	}
	if len(names) > 0 {
		if err := a.readObjects(ctx, statuses); err != nil {
			return err
		}
	}
	return format.Write(a.out, stateStatusPrinter(statuses, len(names) > 0))
}

// openStorage opens a storage driver that returns placeholders.
func (a *app) openStorage(name string) (driver.Driver, error) { return a.migrationStorage(name).Open() }

// readObjects fills in the objects of releases that can own them.
func (a *app) readObjects(ctx context.Context, statuses []releaseStatus) error {
	owners, err := a.releaseOwners()
	if err != nil {
		return err
	}
	for i := range statuses {
		s := &statuses[i]
		if s.Driver != storagedriver.CRD || s.Revisions == 0 {
			continue
		}
		d, err := a.openStorage(s.Driver)
		if err != nil {
			return err
		}
		revisions, err := d.Query(map[string]string{"owner": "helm", "name": s.Name})
		if err != nil {
			return fmt.Errorf("release %s: %w", s.Name, err)
		}
		owner, owns := releaseobjects.OwnerOf(d, s.Name, s.Namespace)
		objects, err := releaseobjects.Read(ctx, owners.Cluster, owner, revisions)
		if err != nil {
			return fmt.Errorf("release %s: %w", s.Name, err)
		}
		for _, o := range objects {
			s.Objects = append(s.Objects, newObjectStatus(o, owns))
		}
	}
	return nil
}

func newObjectStatus(o releaseobjects.Object, owns bool) objectStatus {
	apiVersion, kind := o.Info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	status := objectStatus{APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace(o.Info), Name: o.Info.Name, Owned: o.Owned, Reason: o.Unownable}
	switch {
	case o.Owned:
		status.Reason = ""
	case status.Reason == "" && !owns:
		status.Reason = "HELM_OWNER_REFERENCES=false"
	case status.Reason == "":
		status.Reason = "an upgrade or a rollback makes the Release own it"
	}
	return status
}

// note returns what a user should know about where a release is stored.
func (s *releaseStatus) note() string {
	var notes []string
	if m := s.Migration; m != nil {
		notes = append(notes, fmt.Sprintf("being moved from %s to %s", m.From, m.To))
	}
	if len(s.AlsoIn) > 0 {
		notes = append(notes, "another release with this name is stored by "+strings.Join(s.AlsoIn, ", "))
	}
	return strings.Join(notes, "; ")
}

func stateStatusPrinter(statuses []releaseStatus, withObjects bool) printer {
	return printer{statuses, func(out io.Writer) error {
		out = terminalsafe.NewWriter(out)
		if err := output.EncodeTable(out, releasesTable(statuses)); err != nil || !withObjects {
			return err
		}
		for i := range statuses {
			if err := printObjects(out, &statuses[i]); err != nil {
				return err
			}
		}
		return nil
	}}
}

func releasesTable(statuses []releaseStatus) *uitable.Table {
	table := newStateTable("NAME", "DRIVER", "REVISIONS", "LAST", "STATUS", "NOTE")
	for i := range statuses {
		s := &statuses[i]
		table.AddRow(s.Name, s.Driver, s.Revisions, s.Revision, s.Status, s.note())
	}
	return table
}

// printObjects prints which objects of a release its Release owns.
func printObjects(out io.Writer, s *releaseStatus) error {
	if s.Driver != storagedriver.CRD {
		_, err := fmt.Fprintf(out, "\n%s: no Release owns the resources, because the storage driver is %s\n", s.Name, s.Driver)
		return err
	}
	table := newStateTable("RESOURCE", "OWNED", "REASON")
	for _, o := range s.Objects {
		owned := "no"
		if o.Owned {
			owned = "yes"
		}
		table.AddRow(o.Kind+"/"+o.Name, owned, o.Reason)
	}
	if _, err := fmt.Fprintf(out, "\n%s:\n", s.Name); err != nil {
		return err
	}
	return output.EncodeTable(out, table)
}

func newStateTable(headers ...any) *uitable.Table {
	table := uitable.New()
	table.MaxColWidth = maxStateColumn
	table.AddRow(headers...)
	return table
}

// maxStateColumn is the maximum width of a column, in characters.
const maxStateColumn = 100
