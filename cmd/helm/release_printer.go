// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/pkg/action"
)

// releasePrinter implements output.Writer for a release. The commands install, upgrade,
// status, test and "get all" print releases.
type releasePrinter struct {
	release     *release.Release
	version     string // the name of its ReleaseVersion; empty if it has none
	details     bool   // print values, hooks and manifest
	chart       bool   // print name and versions of the chart
	description bool
	resources   bool
	hideNotes   bool
	unchanged   bool           // the upgrade has changed nothing
	order       *orderStatus   // nil if it is not printed
	holder      *action.Holder // the lock holder; nil if it is not printed
}

func (p *releasePrinter) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, p.content()) }
func (p *releasePrinter) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, p.content()) }

// content returns what is printed as JSON or YAML.
func (p *releasePrinter) content() any {
	rel := orderrecord.WithoutRecord(p.release)
	if p.order == nil && p.holder == nil && p.version == "" && !p.unchanged {
		return rel
	}
	return struct {
		*release.Release
		Unchanged      bool           `json:"unchanged,omitempty"`
		ReleaseVersion string         `json:"releaseVersion,omitempty"`
		Order          *orderStatus   `json:"order,omitempty"`
		Holder         *action.Holder `json:"holder,omitempty"`
	}{rel, p.unchanged, p.version, p.order, p.holder}
}

// WriteTable prints the release as text. If there is an error, it prints nothing.
func (p *releasePrinter) WriteTable(out io.Writer) error {
	if p.release == nil {
		return nil
	}
	var text bytes.Buffer
	p.printHeader(&text)
	p.printResources(&text)
	p.printTests(&text)
	if p.details {
		if err := p.printValues(&text); err != nil {
			return err
		}
	}
	if p.details || strings.EqualFold(p.release.Info.Description, "Dry run complete") {
		p.printManifests(&text)
	}
	if notes := p.release.Info.Notes; !p.hideNotes && notes != "" {
		fmt.Fprintf(&text, "NOTES:\n%s\n", strings.TrimSpace(notes))
	}
	_, err := text.WriteTo(out)
	return err
}

// printDeployed prints a release after a successful install or upgrade.
func (a *app) printDeployed(format output.Format, rel *release.Release, hideNotes bool) error {
	return a.printResult(format, &releasePrinter{release: rel, version: a.versionOf(rel), details: a.settings.Debug, hideNotes: hideNotes})
}

// printUpgraded prints a release after a successful upgrade, which may have changed nothing.
func (a *app) printUpgraded(in *upgradeActionInput, rel *release.Release) error {
	return a.printResult(in.output.format, &releasePrinter{
		release: rel, version: a.versionOf(rel), details: a.settings.Debug, hideNotes: in.client.HideNotes, unchanged: in.client.Unchanged,
	})
}

func (a *app) printResult(format output.Format, p *releasePrinter) error {
	err := format.Write(a.out, p)
	if format != output.Table {
		return err // a program that reads the output would otherwise not notice
	}
	a.warnIfNotPrinted(err)
	return nil
}

// versionOf returns the name of the ReleaseVersion that stores a release that was read or written; empty if it has
// none.
func (a *app) versionOf(rel *release.Release) string {
	if rel == nil {
		return ""
	}
	return action.ReleaseVersionOf(a.config, rel.Name, rel.Version)
}

func (p *releasePrinter) printHeader(text *bytes.Buffer) {
	rel := p.release
	fmt.Fprintf(text, "NAME: %s\n", rel.Name)
	if deployed := rel.Info.LastDeployed; !deployed.IsZero() {
		fmt.Fprintf(text, "LAST DEPLOYED: %s\n", deployed.Format(time.ANSIC))
	}
	fmt.Fprintf(text, "NAMESPACE: %s\n", rel.Namespace)
	fmt.Fprintf(text, "STATUS: %s\n", rel.Info.Status)
	fmt.Fprintf(text, "REVISION: %d\n", rel.Version)
	if p.version != "" {
		fmt.Fprintf(text, "RELEASE VERSION: %s\n", p.version)
	}
	if p.order != nil {
		fmt.Fprintf(text, "ORDER: %s\n", p.order)
	}
	if p.holder != nil {
		fmt.Fprintf(text, "LOCK HOLDER: %s\n", describeHolder(p.holder))
	}
	if p.chart {
		metadata := rel.Chart.Metadata
		fmt.Fprintf(text, "CHART: %s\nVERSION: %s\nAPP_VERSION: %s\n", metadata.Name, metadata.Version, metadata.AppVersion)
	}
	if p.description {
		fmt.Fprintf(text, "DESCRIPTION: %s\n", rel.Info.Description)
	}
}

func (p *releasePrinter) printResources(text *bytes.Buffer) {
	byKind := p.release.Info.Resources
	if !p.resources || len(byKind) == 0 {
		return
	}
	fmt.Fprintln(text, "RESOURCES:")
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(text, "==> %s\n", kind)
		// A TablePrinter prints headings only once, so each kind needs a new one.
		rows, _ := get.NewHumanPrintFlags().ToPrinter("") // NewHumanPrintFlags fails only for unknown formats, and "" is known
		printer := &get.TablePrinter{Delegate: rows}
		for _, object := range byKind[kind] {
			if err := printer.PrintObj(object, text); err != nil {
				fmt.Fprintf(text, "failed to print object type %s: %v\n", kind, err)
			}
		}
		text.WriteString("\n")
	}
	text.WriteString("\n")
}

func (p *releasePrinter) printTests(text *bytes.Buffer) {
	tests := 0
	for _, hook := range p.release.Hooks {
		for range hookorder.ForEvent([]*release.Hook{hook}, release.HookTest) {
			tests++
			if run := hook.LastRun; !run.StartedAt.IsZero() {
				fmt.Fprintf(text, "TEST SUITE:     %s\n", hook.Name)
				fmt.Fprintf(text, "Last Started:   %s\n", run.StartedAt.Format(time.ANSIC))
				fmt.Fprintf(text, "Last Completed: %s\n", run.CompletedAt.Format(time.ANSIC))
				fmt.Fprintf(text, "Phase:          %s\n", run.Phase)
			}
		}
	}
	if tests == 0 {
		fmt.Fprintln(text, "TEST SUITE: None")
	}
}

func (p *releasePrinter) printValues(text *bytes.Buffer) error {
	fmt.Fprintln(text, "USER-SUPPLIED VALUES:")
	if err := output.EncodeYAML(text, p.release.Config); err != nil {
		return err
	}
	computed, err := chartutil.CoalesceValues(p.release.Chart, p.release.Config)
	if err != nil {
		return err
	}
	fmt.Fprintln(text, "\nCOMPUTED VALUES:")
	if err := output.EncodeYAML(text, computed.AsMap()); err != nil {
		return err
	}
	fmt.Fprintln(text)
	return nil
}

func (p *releasePrinter) printManifests(text *bytes.Buffer) {
	fmt.Fprintf(text, "HOOKS:\n%sMANIFEST:\n%s\n", hooksText(p.release), p.release.Manifest)
}
