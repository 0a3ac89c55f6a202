// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/pkg/action"
)

const crdsFlagName = "crds"

// addCRDsFlag adds the flag --crds, which has no default: without it, each command does what
// stock Helm does.
func addCRDsFlag(cmd *cobra.Command, policy *action.CRDPolicy) {
	choiceFlag[action.CRDPolicy]{
		name: crdsFlagName, typeName: "create|apply|skip",
		usage: "[not in stock Helm] what to do with the CustomResourceDefinitions (CRDs) in crds/ directories: \"create\" creates those that do not exist, also in an upgrade, \"apply\" also changes those that differ, before anything else, \"skip\" is the same as --skip-crds. " +
			"By default, an installation creates those that do not exist, and an upgrade leaves them alone",
		choices:      action.CRDPolicies(),
		descriptions: []string{"create those that do not exist", "also change those that differ", "leave them alone"},
	}.add(cmd, policy)
	*policy = ""
	cmd.Flags().Lookup(crdsFlagName).DefValue = ""
}

// checkCRDs returns an error if --crds contradicts --skip-crds. skip is the value of the latter.
func checkCRDs(policy action.CRDPolicy, skip bool) error {
	if skip && policy != "" && policy != action.CRDPolicySkip {
		return fmt.Errorf("--skip-crds and --%s=%s contradict each other: use one of them", crdsFlagName, policy)
	}
	return nil
}
