// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ordered-helm/helm/pkg/action"
)

const getMetadataHelp = `
Print a release's chart, versions, dependencies, status and time of deployment,
and whether it was deployed in the order that its chart declares.

    $ helm get metadata shop
    $ helm get metadata shop -o json
`

func newGetMetadataCmd(a *app) *cobra.Command {
	client := action.NewGetMetadata(a.config)
	cmd := a.newReleaseCmd("metadata", "print the metadata of a release", getMetadataHelp)
	a.addRevisionFlag(cmd, &client.Version)
	out := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		metadata, err := client.RunWithContext(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		// The metadata does not say whether the revision was deployed in order, so the
		// revision is read again.
		printed := orderedMetadata{Metadata: metadata}
		revision, err := action.NewHistory(a.config).Revision(cmd.Context(), metadata.Name, metadata.Revision)
		if err = cmp.Or(err, revision.OrderErr); err != nil {
			printed.OrderError = err.Error()
		}
		printed.Ordered, printed.OrderIgnored = revision.Order == action.OrderFollowed, revision.Order == action.OrderIgnored
		printed.ReleaseVersion = revision.ID
		return out.format.Write(a.out, printer{printed, printed.writeText})
	}
	return cmd
}

// orderedMetadata is the metadata of a revision, and whether the revision was deployed in
// order. If it was not, the output is the same as Helm's.
type orderedMetadata struct {
	*action.Metadata
	Ordered bool `json:"ordered,omitempty"`
	// OrderIgnored is as in historyRow.
	OrderIgnored bool `json:"orderIgnored,omitempty"`
	// OrderError is the error of reading the order record of the revision.
	OrderError string `json:"orderError,omitempty"`
	// ReleaseVersion is as in historyRow.
	ReleaseVersion string `json:"releaseVersion,omitempty"`
}

func (m orderedMetadata) writeText(out io.Writer) error {
	var text strings.Builder
	for _, row := range []struct {
		label string
		value any
	}{
		{"NAME", m.Name},
		{"CHART", m.Chart},
		{"VERSION", m.Version},
		{"APP_VERSION", m.AppVersion},
		{"ANNOTATIONS", labels.Set(m.Annotations).String()},
		{"DEPENDENCIES", m.FormattedDepNames()},
		{"NAMESPACE", m.Namespace},
		{"REVISION", m.Revision},
		{"STATUS", m.Status},
		{"DEPLOYED_AT", m.DeployedAt},
	} {
		fmt.Fprintf(&text, "%s: %v\n", row.label, row.value)
	}
	switch {
	case m.Ordered:
		text.WriteString("ORDERED: true\n")
	case m.OrderIgnored:
		fmt.Fprintf(&text, "ORDERED: %s\n", action.OrderIgnored)
	case m.OrderError != "":
		fmt.Fprintf(&text, "ORDERED: %s\n", unknown(m.OrderError))
	}
	if m.ReleaseVersion != "" {
		fmt.Fprintf(&text, "RELEASE_VERSION: %s\n", m.ReleaseVersion)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
