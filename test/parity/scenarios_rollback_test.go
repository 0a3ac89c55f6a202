// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// TestRollback compares rollbacks.
func TestRollback(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "there and back", unchecked: true, steps: []step{
			helm("install web charts/plain --description", "the first"),
			helm("upgrade web charts/plain --set greeting=second,replicas=0"),
			helm("upgrade web charts/umbrella"),
			helm("rollback web"), helm("rollback web 1"), helm("rollback web 0"), helm("rollback web 3 more words"),
			helm("history web"), helm("history web -o json"), helm("history web -o yaml --max 2"), helm("get all web"), helm("get all web --revision 5"),
			helm("get notes web --revision 4"), helm("get values web"), helm("get values web --revision 6"), helm("get manifest web --revision 4"),
			helm("get metadata web --revision 4"), helm("status web"), helm("status web --revision 1"), helm("status web --revision 2 --show-desc"),
			helm("status web --revision 3"), helm("status web --revision 4"), helm("status web --revision 5 -o json"), helm("list --superseded -q"),
			helm("uninstall web"),
		}},
		{name: "revisions that cannot be", steps: []step{
			helm("rollback web"), helm("rollback web 1"), helm("rollback Not_A_Name"),
			helm("install web charts/tiny"),
			helm("rollback web"), helm("rollback web 0"), helm("rollback web 7"), helm("rollback web one"), helm("rollback web 1.0"),
			helm("rollback web -- -1"), helm("rollback web -1"), helm("rollback web 99999999999999999999"), helm("rollback web 1"),
			helm("rollback web --dry-run"), helm("rollback web 7 --dry-run"), helm("rollback none --dry-run"), helm("rollback web --timeout soon"),
			helm("history web"), helm("history none"), helm("history Not_A_Name"), helm("history web --max x"), helm("history web -o xml"),
		}},
		{name: "what cannot be changed back", unchecked: true, steps: []step{
			helm("install web charts/shapes --set frozen.a=1,configs.gone=1"),
			helm("upgrade web charts/shapes --set configs.new=1"),
			createObjects(frozenConfig), helm("rollback web"), helm("history web"), helm("status web --show-desc"),
			helm("rollback web 2"), createObjects(frozenConfig), helm("rollback web 1 --force"), helm("history web"),
			helm("rollback web 2"), helm("uninstall web"),
		}},
		{name: "what the server refuses", unchecked: true, steps: []step{
			helm("install web charts/shapes --set service=refused,configs.old=1"),
			helm("upgrade web charts/shapes --set host=b.example"),
			helm("rollback web 1"), helm("rollback web 2"), helm("rollback web 1 --cleanup-on-fail"), helm("history web"), helm("rollback web 2"),
			helm("upgrade web charts/shapes"), helm("history web"),
		}},
		{name: "after failed upgrades", unchecked: true, steps: []step{
			helm("install web charts/shapes"),
			helm("upgrade web charts/shapes --set configs.two=2,service=refused"), helm("rollback web"),
			helm("upgrade web charts/shapes --set configs.three=3,service=refused"), helm("rollback web 1"), helm("rollback web 4"),
			helm("history web"),
		}},
		{name: "hooks", unchecked: true, steps: []step{
			helm("install web charts/turns --set pair=true,value=one"),
			helm("upgrade web charts/turns --set pair=true,value=two --no-hooks"),
			helm("rollback web 1"), helm("rollback web 2 --no-hooks"), helm("history web"), helm("get hooks web"),
			helm("uninstall web"),
		}},
		{name: "uninstalled with its history", unchecked: true, steps: []step{
			helm("install web charts/shapes"), helm("upgrade web charts/shapes --set configs.one=second"),
			helm("uninstall web --keep-history"),
			helm("rollback web --dry-run"), helm("rollback web"), helm("history web"), helm("get values web"),
			helm("uninstall web --keep-history"), helm("rollback web 1"), helm("upgrade web charts/shapes"), helm("history web"),
			helm("uninstall web --keep-history"), helm("upgrade web charts/shapes -i"), helm("rollback web 1"), helm("history web"),
		}},
		{name: "debug", rules: []rule{debugHead, stackTraces, debugLines}, steps: []step{
			helm("install web charts/tiny"), helm("rollback web 1 --debug"), helm("rollback web 9 --debug"),
		}},
		{name: "waiting for what is there", steps: []step{
			helm("install web charts/plain"), helm("rollback web 1 --wait --timeout 30s"), helm("rollback web 1 --wait=true --wait-for-jobs --timeout 30s"),
			helm("rollback web 1 --wait=false"),
		}},
	})
}
