// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"syscall"
	"testing"
)

// TestReadRelease compares the commands that show a release in the cluster.
func TestReadRelease(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "list with times of the clock", steps: []step{
			// The hook Jobs of web take seconds. Helm sorts by whole seconds, and the order of
			// releases of the same second is random.
			stockHelm("install web charts/hooks --set fail=none"), stockHelm("install two charts/umbrella"),
			helm("list"), helm("list -o json"), helm("list --date"), complete("status", ""),
		}},
		{name: "list of all namespaces", steps: []step{
			stockHelm("install all-@NAMESPACE@ charts/tiny"),
			helm("list --all-namespaces --time-format 2006 --filter all-@NAMESPACE@"),
			helm("list -A -q -f all-@NAMESPACE@"),
		}},
		{name: "status with resources", rules: []rule{podNames, ages, clusterIPs, runsOfSpaces, sortedLines}, steps: []step{
			stockHelm("install web charts/plain --wait"),
			helm("status web --show-resources"),
		}},
		{name: "status with resources for programs", rules: []rule{resourceVersions}, steps: []step{
			stockHelm("install web charts/keep"),
			helm("status web --show-resources --show-desc -o yaml"),
			helm("status web -o json"),
		}},
		{name: "stored by stock", steps: []step{
			stockHelm("install web charts/hooks --set fail=none"),
			helm("get all web"), helm("get hooks web"), helm("get manifest web"), helm("get notes web"),
			helm("get metadata web"), helm("get values web -a"), helm("status web"),
			helm("uninstall web"),
		}},
		{name: "revisions", steps: []step{
			stockHelm("install web charts/tiny --set value=1"),
			stockHelm("upgrade web charts/tiny --set value=2"),
			stockHelm("upgrade web charts/plain --set greeting=3"),
			helm("get values web"), helm("get values web --revision 1"), helm("get manifest web --revision 2"),
			helm("get notes web --revision 1"), helm("get notes web"), helm("status web --revision 2"),
			helm("get all web --revision 1"), helm("get metadata web --revision 2"), helm("get values web --revision 4"),
			helm("list --superseded -q"), helm("list -a -q"),
			helm("uninstall web"),
		}},
	})
}

// TestUninstall compares uninstalls.
func TestUninstall(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "plain", steps: []step{
			stockHelm("install web charts/plain"),
			helm("uninstall web"), helm("uninstall web"), helm("status web"),
		}},
		{name: "several", steps: []step{
			stockHelm("install one charts/tiny"), stockHelm("install two charts/tiny"), stockHelm("install three charts/tiny"),
			helm("uninstall one two"), helm("uninstall none three"), helm("uninstall none three --ignore-not-found"),
		}},
		{name: "dry run", steps: []step{
			stockHelm("install web charts/tiny"),
			helm("uninstall web --dry-run"), helm("uninstall none --dry-run"), helm("list -q"),
		}},
		{name: "keep history", steps: []step{
			stockHelm("install web charts/plain"),
			helm("uninstall web --keep-history --description", "had enough"),
			helm("status web --show-desc"), helm("list -q"), helm("list --uninstalled -q"),
			helm("uninstall web --keep-history"), helm("uninstall web"),
		}},
		{name: "kept resources", steps: []step{
			stockHelm("install web charts/keep"),
			helm("uninstall web"),
		}},
		{name: "wait", steps: []step{
			stockHelm("install web charts/plain --wait"),
			helm("uninstall web --wait --timeout 30s"),
		}},
		{name: "wait that is none", steps: []step{
			stockHelm("install web charts/plain"),
			helm("uninstall web --wait=false"),
		}},
		{name: "cascade", steps: []step{
			stockHelm("install one charts/plain --wait"), stockHelm("install two charts/plain --wait"), stockHelm("install three charts/plain --wait"),
			helm("uninstall one --cascade background --wait"),
			helm("uninstall two --cascade foreground --wait"),
			helm("uninstall three --cascade orphan"),
			helm("uninstall three --cascade none"),
		}, rules: []rule{podNames, pattern("name of a replica set", "the controller chooses its suffix at random", `web-[a-z0-9]{8,10}\b`, "web-SET"), pattern("name of a replica set's template", "the controller computes it", `pod-template-hash: "?[a-z0-9]+"?`, "pod-template-hash: HASH")}},
		{name: "failing pre-delete hook", steps: []step{
			stockHelm("install web charts/hooks --set fail=drain"),
			helm("uninstall web"), helm("status web --show-desc"), helm("list -a -q"),
			helm("uninstall web --no-hooks"),
		}, differs: []string{
			`- STATUS: uninstalling`,
			`+ STATUS: failed`,
			`- DESCRIPTION: Deletion in progress (or silently failed)`,
			`+ DESCRIPTION: Uninstall failed: 1 error occurred: * job web-drain failed: BackoffLimitExceeded`,
		}},
		{name: "failing pre-delete hook with history", steps: []step{
			stockHelm("install web charts/hooks --set fail=drain"),
			helm("uninstall web --keep-history"), helm("status web --show-desc"), helm("rollback web 1"),
			helm("uninstall web --keep-history --no-hooks"), helm("history web"),
		}, rules: []rule{columnPadding}, differs: []string{
			`- STATUS: uninstalling`,
			`+ STATUS: failed`,
			`- DESCRIPTION: Deletion in progress (or silently failed)`,
			`+ DESCRIPTION: Uninstall failed: 1 error occurred: * job web-drain failed: BackoffLimitExceeded`,
			`- REVISION	UPDATED	STATUS	CHART	APP VERSION	DESCRIPTION                              `,
			`- 1	TIME	uninstalling	hooks-0.1.0		Deletion in progress (or silently failed)`,
			`- 2	TIME	uninstalled	hooks-0.1.0		Uninstallation complete                  `,
			`+ REVISION	UPDATED	STATUS	CHART	APP VERSION	DESCRIPTION                                                                     `,
			`+ 1	TIME	failed	hooks-0.1.0		Uninstall failed: 1 error occurred: * job web-drain failed: BackoffLimitExceeded`,
			`+ 2	TIME	uninstalled	hooks-0.1.0		Uninstallation complete                                                         `,
			`-         "description": "Deletion in progress (or silently failed)",`,
			`-         "status": "uninstalling",`,
			`+         "description": "Uninstall failed: 1 error occurred: * job web-drain failed: BackoffLimitExceeded",`,
			`+         "status": "failed",`,
			`-             "completed_at": "",`,
			`-             "phase": "Running"`,
			`+             "completed_at": "TIME",`,
			`+             "phase": "Failed"`,
			`-     status: uninstalling`,
			`+     status: failed`,
			`-             "completed_at": "",`,
			`-             "phase": "Running"`,
			`+             "completed_at": "TIME",`,
			`+             "phase": "Failed"`,
		}},
		{name: "pre-delete hook that cannot be created", unchecked: true, steps: []step{
			stockHelm("install web charts/odd --set kind=Oddity"), helm("uninstall web"), helm("list -a"), helm("status web"),
			helm("upgrade web charts/odd"), helm("uninstall web"),
		}, rules: []rule{runsOfSpaces}},
		{name: "failing post-delete hook", steps: []step{
			stockHelm("install web charts/hooks --set fail=farewell"),
			helm("uninstall web"), helm("list -a -q"),
		}},
		{name: "failing post-delete hook with history", steps: []step{
			stockHelm("install web charts/hooks --set fail=farewell"),
			helm("uninstall web --keep-history"), helm("status web --show-desc"),
		}},
		{name: "things that are gone already", steps: []step{
			stockHelm("install web charts/plain"),
			deleteObject(objectPath("configmaps", "web-web")),
			helm("uninstall web"),
		}},
		{name: "things that are gone already, with wait", steps: []step{
			stockHelm("install web charts/plain"),
			deleteObject(objectPath("configmaps", "web-web")),
			helm("uninstall web --wait"),
		}},
		{name: "debug", rules: []rule{debugHead, stackTraces, sortedLines}, steps: []step{
			stockHelm("install web charts/tiny"),
			helm("uninstall web --debug"),
		}},
		{name: "release that is not finished", steps: []step{
			stockHelm("install web charts/faulty --set how=invalid-object"),
			helm("uninstall web"),
		}},
		{name: "release without its kind", steps: []step{
			stockHelm("install web charts/crds"),
			deleteObject("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.@NAMESPACE@.example.com"),
			helm("uninstall web"), helm("status web --show-desc"),
		}},
		{name: "several revisions", steps: []step{
			stockHelm("install web charts/shapes"), stockHelm("upgrade web charts/shapes --set configs.two=2"),
			stockHelm("upgrade web charts/shapes --set configs.three=3,service=refused"),
			helm("uninstall web"),
			stockHelm("install two charts/shapes"), stockHelm("upgrade two charts/shapes --set configs.two=2"), stockHelm("rollback two"),
			stockHelm("upgrade two charts/keep --set policy=keep"),
			helm("uninstall two --keep-history"), helm("history two"), helm("uninstall two"),
		}},
		{name: "killed", steps: []step{
			stockHelm("install web charts/turns --no-hooks --set hang={pre-delete}"),
			stockHelm("uninstall web --timeout 60s").interrupted(syscall.SIGKILL, jobPath("web-pre-delete")),
			helm("list -a -q"), helm("status web --show-desc"), helm("upgrade web charts/tiny"), helm("install web charts/tiny --replace"),
			helm("history web"), helm("uninstall web --no-hooks --dry-run"), helm("uninstall web --no-hooks").forced(),
			deleteObject(jobPath("web-pre-delete") + "?propagationPolicy=Background"),
		}},
		{name: "names that cannot be", steps: []step{
			helm("uninstall Not_A_Name"), helm("uninstall none"), helm("uninstall none --keep-history"),
			helm("uninstall none --ignore-not-found"), helm("uninstall none --ignore-not-found --keep-history"),
		}},
	})
}
