// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"slices"
	"strings"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/registry"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/chartscripts"
)

// ShowOutputFormat is the part of a chart that Show returns. It is Helm's type.
type ShowOutputFormat = helmaction.ShowOutputFormat

// The values of ShowOutputFormat. They are Helm's constants.
const (
	ShowAll    = helmaction.ShowAll
	ShowChart  = helmaction.ShowChart
	ShowValues = helmaction.ShowValues
	ShowReadme = helmaction.ShowReadme
	ShowCRDs   = helmaction.ShowCRDs
)

// ShowScripts shows the scripts of a chart and its subcharts, and for which permissions they ask. ShowAll
// does not include them.
const ShowScripts ShowOutputFormat = "scripts"

// Show returns parts of a chart as text (helm show). It has the fields of Helm's Show, with
// the same meaning (docs/reference.md, "Packages").
type Show helmaction.Show

// NewShow returns a Show for the given part of charts. To show charts in OCI registries,
// use NewShowWithConfig or SetRegistryClient.
func NewShow(output ShowOutputFormat) *Show { return &Show{OutputFormat: output} }

// NewShowWithConfig is like NewShow, but uses the registry client of cfg for charts in OCI
// registries.
func NewShowWithConfig(output ShowOutputFormat, cfg *Configuration) *Show {
	return (*Show)(helmaction.NewShowWithConfig(output, cfg))
}

// SetRegistryClient sets the client that downloads charts from OCI registries.
func (s *Show) SetRegistryClient(client *registry.Client) {
	(*helmaction.Show)(s).SetRegistryClient(client)
}

// Run returns the text that the command prints for the chart at chartpath, which is a
// directory or an archive. It shows the fields of Chart.yaml that Helm knows, and those
// that Ordered Helm adds. Annotations that are lists are shown as JSON strings.
func (s *Show) Run(chartpath string) (string, error) {
	ch, err := chartloader.Load(chartpath)
	if err != nil {
		return "", err
	}
	if s.OutputFormat == ShowScripts {
		charts, err := chartscripts.Read(ch)
		return chartscripts.Text(charts, nil), err
	}
	var out strings.Builder
	for _, part := range []struct {
		format ShowOutputFormat
		write  func(*strings.Builder, *chart.Chart) error
	}{
		{ShowChart, showChartYAML},
		{ShowValues, s.showValues},
		{ShowReadme, s.showReadme},
		{ShowCRDs, s.showCRDs},
	} {
		if s.OutputFormat != part.format && s.OutputFormat != ShowAll {
			continue
		}
		if err := part.write(&out, ch); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// separate writes a line between two parts of the chart if all parts are shown.
func (s *Show) separate(out *strings.Builder) {
	if s.OutputFormat == ShowAll {
		out.WriteString("---\n")
	}
}

func showChartYAML(out *strings.Builder, ch *chart.Chart) error {
	text, found := chartloader.OriginalFile(ch, chartformat.OriginalChartFile)
	var err error
	if !found {
		text, err = archive.ChartYAML(ch, archive.OrderFields)
	}
	fmt.Fprintf(out, "%s\n", text)
	return err
}

func (s *Show) showValues(out *strings.Builder, ch *chart.Chart) error {
	if ch.Values == nil {
		return nil
	}
	s.separate(out)
	if s.JSONPathTemplate != "" {
		printer, err := printers.NewJSONPathPrinter(s.JSONPathTemplate)
		if err != nil {
			return fmt.Errorf("error parsing jsonpath %s: %w", s.JSONPathTemplate, err)
		}
		// As in Helm, a path that does not exist prints nothing.
		_ = printer.Execute(out, ch.Values)
		return nil
	}
	for _, f := range ch.Raw {
		if f.Name == chartutil.ValuesfileName {
			fmt.Fprintln(out, string(f.Data))
		}
	}
	return nil
}

func (s *Show) showReadme(out *strings.Builder, ch *chart.Chart) error {
	i := slices.IndexFunc(ch.Files, func(f *chart.File) bool {
		return f != nil && slices.Contains([]string{"readme.md", "readme.txt", "readme"}, strings.ToLower(f.Name))
	})
	if i >= 0 {
		s.separate(out)
		fmt.Fprintf(out, "%s\n", ch.Files[i].Data)
	}
	return nil
}

func (s *Show) showCRDs(out *strings.Builder, ch *chart.Chart) error {
	for i, crd := range ch.CRDObjects() {
		if i == 0 && !strings.HasPrefix(string(crd.File.Data), "---") {
			s.separate(out)
		}
		fmt.Fprintf(out, "%s\n", crd.File.Data)
	}
	return nil
}
