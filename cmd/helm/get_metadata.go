// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
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
	cmd := &cobra.Command{
		Use:               "metadata RELEASE_NAME",
		Short:             "print the metadata of a release",
		Long:              getMetadataHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
	}
	a.addRevisionFlag(cmd, &client.Version)
	out := addOutputFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		metadata, err := client.Run(args[0])
		if err != nil {
			return err
		}
		p := metadataPrinter{Metadata: metadata}
		if p.Ordered, err = a.wasOrdered(metadata); err != nil {
			p.OrderError = err.Error()
		}
		return out.format.Write(a.out, p)
	}
	return cmd
}

// wasOrdered reports whether the revision of metadata was deployed in order. It reads the
// revision again, because metadata does not contain this information.
func (a *app) wasOrdered(metadata *action.Metadata) (bool, error) {
	rel, err := a.revision(metadata.Name, metadata.Revision)
	if err != nil {
		return false, err
	}
	return wasOrdered(rel)
}

// metadataPrinter prints the metadata of a revision. It prints more than Helm only for a
// revision that was deployed in order.
type metadataPrinter struct {
	*action.Metadata
	Ordered bool `json:"ordered,omitempty"`
	// OrderError says why it is not known whether the revision was deployed in order.
	OrderError string `json:"orderError,omitempty"`
}

type metadataRow struct {
	label string
	value any
}

func (p metadataPrinter) WriteTable(out io.Writer) error {
	rows := []metadataRow{
		{"NAME", p.Name},
		{"CHART", p.Chart},
		{"VERSION", p.Version},
		{"APP_VERSION", p.AppVersion},
		{"ANNOTATIONS", labels.Set(p.Annotations).String()},
		{"DEPENDENCIES", p.FormattedDepNames()},
		{"NAMESPACE", p.Namespace},
		{"REVISION", p.Revision},
		{"STATUS", p.Status},
		{"DEPLOYED_AT", p.DeployedAt},
	}
	switch {
	case p.Ordered:
		rows = append(rows, metadataRow{"ORDERED", true})
	case p.OrderError != "":
		rows = append(rows, metadataRow{"ORDERED", unknown(p.OrderError)})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(out, "%s: %v\n", row.label, row.value); err != nil {
			return err
		}
	}
	return nil
}

func (p metadataPrinter) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, p) }
func (p metadataPrinter) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, p) }
