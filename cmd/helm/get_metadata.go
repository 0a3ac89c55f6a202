// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		metadata, err := client.Run(args[0])
		if err != nil {
			return err
		}
		// The metadata does not say whether the revision was deployed in order, so the
		// revision is read again.
		printed := orderedMetadata{Metadata: metadata}
		rel, err := a.revision(metadata.Name, metadata.Revision)
		if err == nil {
			var recorded recordedOrder
			recorded, err = recordedOrderOf(rel)
			printed.Ordered, printed.OrderIgnored = recorded == orderFollowed, recorded == orderIgnored
		}
		if err != nil {
			printed.OrderError = err.Error()
		}
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
		fmt.Fprintf(&text, "ORDERED: %s\n", orderIgnored)
	case m.OrderError != "":
		fmt.Fprintf(&text, "ORDERED: %s\n", unknown(m.OrderError))
	}
	_, err := io.WriteString(out, text.String())
	return err
}
