// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"helm.sh/helm/v3/cmd/helm/require"
)

const docsHelp = `
Write the help of every command to files: as Markdown, as manual pages, or as a bash
completion script.

    $ helm docs --dir ./docs --generate-headers
    $ helm docs --dir ./man --type man
`

// docsInput holds the flags of docs.
type docsInput struct {
	directory, kind string
	headers         bool
}

func newDocsCmd(_ *app) *cobra.Command {
	var in docsInput
	cmd := &cobra.Command{
		Use:               "docs",
		Short:             "write the help of every command to files",
		Long:              docsHelp,
		Hidden:            true,
		Args:              require.NoArgs,
		ValidArgsFunction: noMoreArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.write(cmd.Root())
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.directory, "dir", "./", "directory to write to")
	f.StringVar(&in.kind, "type", "markdown", "what to write: markdown, man or bash")
	f.BoolVar(&in.headers, "generate-headers", false, "start Markdown files with a header that contains the title")
	completeFlag(cmd, "type", cobra.FixedCompletions([]cobra.Completion{"bash", "man", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (in *docsInput) write(root *cobra.Command) error {
	switch in.kind {
	case "markdown", "mdown", "md":
		if !in.headers {
			return doc.GenMarkdownTree(root, in.directory)
		}
		sameLink := func(name string) string { return name }
		return doc.GenMarkdownTreeCustom(root, in.directory, docsHeader, sameLink)
	case "man":
		return doc.GenManTree(root, &doc.GenManHeader{Title: "HELM", Section: "1"}, in.directory)
	case "bash":
		return root.GenBashCompletionFile(filepath.Join(in.directory, "completions.bash"))
	}
	return fmt.Errorf("unknown doc type %q. Try 'markdown' or 'man'", in.kind)
}

// docsHeader returns the front matter of the Markdown file at path. The title is the name of
// the command, with each word capitalized.
func docsHeader(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	letters := []rune(strings.ReplaceAll(name, "_", " "))
	for i := range letters {
		if i == 0 || letters[i-1] == ' ' || letters[i-1] == '-' {
			letters[i] = unicode.ToTitle(letters[i])
		}
	}
	return fmt.Sprintf("---\ntitle: %q\n---\n\n", string(letters))
}
