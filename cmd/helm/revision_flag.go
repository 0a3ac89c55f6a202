// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/pkg/action"
)

const revisionFlagName = "revision"

// revisionFlag is the value of a flag that selects a revision: the number, or the name of a ReleaseVersion, whose
// number is known when it was resolved.
type revisionFlag struct {
	number *int
	// id is the name of a ReleaseVersion; empty if the value is a number.
	id string
}

func (f *revisionFlag) String() string {
	if f.number == nil {
		return "0"
	}
	return strconv.Itoa(*f.number)
}

// Type returns the type of Helm's flag.
func (*revisionFlag) Type() string { return "int" }

// Set accepts what Helm's flag accepts, and names of ReleaseVersions.
func (f *revisionFlag) Set(text string) error {
	const base, bits = 0, 64
	number, err := strconv.ParseInt(text, base, bits)
	*f.number, f.id = int(number), ""
	if err != nil && crdstorage.IsVersionID(text) {
		f.id, err = text, nil
	}
	return err
}

// resolve sets the number of the revision if the value is the name of a ReleaseVersion.
func (f *revisionFlag) resolve(ctx context.Context, a *app, release string) (err error) {
	if f.id != "" {
		*f.number, err = action.ParseRevision(ctx, a.config, release, f.id)
	}
	return err
}

// addRevisionFlag adds the flag --revision to a command whose only argument is the name of a release.
func (a *app) addRevisionFlag(cmd *cobra.Command, revision *int) {
	flag := a.addRevisionValue(cmd, revision, "revision of the release, or the name of its ReleaseVersion (default: the latest)")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error { return flag.resolve(cmd.Context(), a, args[0]) }
}

// addRevisionValue is addRevisionFlag for a command that calls the method resolve itself.
func (a *app) addRevisionValue(cmd *cobra.Command, revision *int, usage string) *revisionFlag {
	flag := &revisionFlag{number: revision}
	cmd.Flags().Var(flag, revisionFlagName, usage)
	completeFlag(cmd, revisionFlagName, a.completeRevisions)
	return flag
}
