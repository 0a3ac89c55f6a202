// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/cli"

	"github.com/ordered-helm/helm/pkg/action"
)

// TestAdditionsAreMarked checks that the help texts mark exactly those commands and flags that
// stock Helm does not have with "[not in stock Helm]". The mark is at the beginning of the
// text of a flag. In the texts of --wait and --wait-for-jobs, it follows the values that stock
// Helm does not have.
func TestAdditionsAreMarked(t *testing.T) {
	const mark = "[not in stock Helm]"
	additions := []string{waitFlagName, waitForJobsFlagName, readinessFlagName, progressFlagName, timelineFlagName, sequenceAsFlagName, takeoverFlagName, crdsFlagName, formatFlagName, orderFlagName, reuseOrderFlagName, recreateFlagName, planFlagName, planDigestFlagName, "only-if-changed", "exclude-libraries", "accept-perms", "yes", "no-scripts", "http-method", "context-path", "update-index", "access-token"}
	marked := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		added := cmd.Annotations[additionAnnotation] != ""
		if has := strings.Contains(cmd.Short, mark); has != added {
			t.Errorf("helm %s: is an addition %v, is marked %v", cmd.Name(), added, has)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			addition := slices.Contains(additions, f.Name) || cmd.Name() == "lint" && f.Name == "output" || cmd.Name() == "push" && f.Name == "force"
			if has := strings.Contains(f.Usage, mark); has != addition {
				t.Errorf("helm %s --%s: is an addition %v, is marked %v", cmd.Name(), f.Name, addition, has)
			}
			if addition && f.Name != waitFlagName && f.Name != waitForJobsFlagName && !strings.HasPrefix(f.Usage, mark+" ") {
				t.Errorf("helm %s --%s: %q does not begin with the mark", cmd.Name(), f.Name, f.Usage)
			}
			if addition {
				marked++
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRootCmd(&app{settings: cli.New(), config: new(action.Configuration)}))
	if marked == 0 {
		t.Error("there are no additions")
	}
}
