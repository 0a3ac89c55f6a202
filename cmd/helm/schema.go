// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/schemagen"
	"github.com/ordered-helm/helm/internal/terminalsafe"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

const schemaHelp = `
Derive the JSON Schema of the values of a chart from its values.yaml, and print it. It
contains the types of all values, and what comments say: descriptions as helm-docs reads
them, and annotations with keywords of JSON Schema.

    # -- The port of the service
    # @schema minimum:1; maximum:65535
    port: 80

    $ helm schema ./shop                 print the schema
    $ helm schema ./shop --write         write values.schema.yaml
    $ helm schema ./shop --check         compare values.schema.yaml with values.yaml
    $ helm schema ./shop -o json

What the values.schema.yaml of the chart says already is kept: entries and keywords that
were added by hand, and types that allow the values. Comments in values.yaml take
precedence. Nothing is removed.

With --check, the command prints in what the schema and the values differ: values and
comments that the schema does not contain, types that it does not allow, and entries that
neither values.yaml nor a comment in it, such as "# tag:", mentions.

EXIT CODES

    0    success; with --check, there are no differences
    2    with --check: there are differences
    1    an error
`

// differencesCode is the exit code of schema --check if the schema differs from the values.
const differencesCode = 2

type schemaOptions struct {
	write, check bool
	format       string
}

func newSchemaCmd(a *app) *cobra.Command {
	var opts schemaOptions
	cmd := &cobra.Command{
		Use:   "schema [CHART]",
		Short: "derive the schema of the values of a chart [not in stock Helm]",
		Long:  schemaHelp,
		// A plugin of the same name replaces this command.
		Annotations: map[string]string{additionAnnotation: "true"},
		Args:        require.MaximumNArgs(1),
		ValidArgsFunction: completeUpTo(1, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.write && cmd.Flags().Changed(outputFlagName) {
				return errors.New("--write cannot be used with --output: the file is always YAML")
			}
			err := a.schema(append(args, ".")[0], opts)
			_, cmd.SilenceErrors = errors.AsType[*silentExitError](err)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&opts.write, "write", "w", false, "write the schema to the values.schema.yaml of the chart instead of printing it")
	f.BoolVar(&opts.check, "check", false, "print the differences between the schema and the values, and exit with code 2 if there are any")
	cmd.MarkFlagsMutuallyExclusive("write", "check")
	outputChoiceFlag("how the schema or the differences are printed", []string{"yaml", "json"}, "for people", "for other programs").add(cmd, &opts.format)
	return cmd
}

// schemaFiles contains the files of a chart from which its schema is derived.
type schemaFiles []*chartloader.BufferedFile

// content returns the content of a file, or nil if there is no such file.
func (files schemaFiles) content(name string) (content []byte, found bool) {
	i := slices.IndexFunc(files, func(f *chartloader.BufferedFile) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return files[i].Data, true
}

func (files schemaFiles) source(schema []byte) valuesschema.Source {
	return valuesschema.Source{Text: schema, File: files.content}
}

// readSchemaFiles reads the files of the chart in a directory or an archive.
func readSchemaFiles(path string) (files schemaFiles, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		files, err = chartloader.DirFiles(path)
	default:
		var packed []byte
		if packed, err = os.ReadFile(path); err == nil {
			files, err = chartloader.LoadArchiveFiles(bytes.NewReader(packed))
		}
	}
	if err != nil {
		return nil, err
	}
	if _, isChart := files.content(chartutil.ChartfileName); !isChart {
		return nil, fmt.Errorf("%s is not a chart: it has no %s", path, chartutil.ChartfileName)
	}
	return files, nil
}

// dependencies returns the names under which values.yaml can contain values of dependencies.
func (files schemaFiles) dependencies() ([]string, error) {
	var withoutSchemas schemaFiles // the schema of the chart is checked separately
	for _, f := range files {
		if f.Name != valuesschema.YAMLFile && f.Name != valuesschema.JSONFile {
			withoutSchemas = append(withoutSchemas, f)
		}
	}
	ch, err := chartloader.LoadFiles(withoutSchemas)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range ch.Metadata.Dependencies {
		names = append(names, d.Name, d.Alias)
		for condition := range strings.SplitSeq(d.Condition, ",") {
			names = append(names, strings.Split(strings.TrimSpace(condition), ".")...)
		}
	}
	for _, sub := range ch.Dependencies() {
		names = append(names, sub.Name())
	}
	return names, nil
}

func (a *app) schema(path string, opts schemaOptions) error {
	files, err := readSchemaFiles(path)
	if err != nil {
		return err
	}
	known, err := files.dependencies()
	if err != nil {
		return err
	}
	values, _ := files.content(chartutil.ValuesfileName)
	existing, hasYAML := files.content(valuesschema.YAMLFile)
	written, hasJSON := files.content(valuesschema.JSONFile)
	if hasYAML && len(bytes.TrimSpace(existing)) > 0 {
		if _, err := valuesschema.Translate(files.source(existing)); err != nil {
			return err
		}
	} else if hasJSON {
		if existing = written; !json.Valid(existing) {
			return fmt.Errorf("%s is not JSON", valuesschema.JSONFile)
		}
	}
	result, err := schemagen.Generate(schemagen.Input{Values: values, ValuesFile: chartutil.ValuesfileName, Schema: existing, Known: known})
	if err != nil {
		return err
	}
	if opts.check {
		return a.printSchemaDifferences(result.Differences, opts.format)
	}
	if hasYAML || !hasJSON {
		if _, err := valuesschema.Translate(files.source(result.Schema)); err != nil {
			return fmt.Errorf("the derived schema is invalid: correct the comments in %s: %w", chartutil.ValuesfileName, err)
		}
	}
	if opts.write {
		return writeSchema(path, result, hasJSON)
	}
	return a.printSchema(result.Schema, opts.format)
}

// writeSchema writes a schema to the chart in the directory dir. hasJSON is true if the chart
// has a values.schema.json.
func writeSchema(dir string, result *schemagen.Result, hasJSON bool) error {
	switch info, err := os.Stat(dir); {
	case err != nil || !info.IsDir():
		return fmt.Errorf("%s is not a directory: --write requires the directory of a chart", dir)
	case len(result.Differences) == 0:
		return nil
	case hasJSON:
		return fmt.Errorf("the chart has a %s, which would not agree with %s: print the schema, write it to %s, and remove %s",
			valuesschema.JSONFile, valuesschema.YAMLFile, valuesschema.YAMLFile, valuesschema.JSONFile)
	}
	return os.WriteFile(filepath.Join(dir, valuesschema.YAMLFile), result.Schema, 0o644) //nolint:gosec // readable as the other files of the chart
}

func (a *app) printSchema(schema []byte, format string) error {
	if format == "json" {
		asJSON, err := yaml.YAMLToJSON(schema)
		if err != nil {
			return err
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, asJSON, "", "  "); err != nil {
			return err
		}
		schema = append(indented.Bytes(), '\n')
	}
	_, err := fmt.Fprint(a.out, terminalsafe.Sanitize(string(schema)))
	return err
}

// printSchemaDifferences prints differences. If there are any, it returns a silentExitError.
func (a *app) printSchemaDifferences(differences []schemagen.Difference, format string) error {
	if format == "json" {
		list := struct {
			Differences []schemagen.Difference `json:"differences"`
		}{append([]schemagen.Difference{}, differences...)}
		if err := text.WriteJSON(a.out, list); err != nil {
			return err
		}
	} else {
		for _, d := range differences {
			line := d.Problem
			if d.Path != "" {
				line = d.Path + ": " + line
			}
			fmt.Fprintln(a.out, terminalsafe.Sanitize(line))
		}
	}
	if len(differences) > 0 {
		return &silentExitError{differencesCode}
	}
	return nil
}
