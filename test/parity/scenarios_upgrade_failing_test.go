// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"syscall"
	"testing"
)

// jobPath returns the path of a Job.
func jobPath(name string) string {
	return "/apis/batch/v1/namespaces/" + namespacePlaceholder + "/jobs/" + name
}

// TestUpgradeFailing compares upgrades that fail, and the operations that are possible
// afterwards.
func TestUpgradeFailing(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "names and charts that cannot be", rules: []rule{resourceVersions}, steps: []step{
			helm("upgrade web charts/tiny"), helm("upgrade Not_A_Name charts/tiny"),
			helm("install web charts/tiny"), helm("upgrade web charts/none"),
			helm("upgrade web charts/faulty --set how=required"), helm("upgrade web charts/faulty --set how=yaml"),
			helm("upgrade web charts/faulty --set how=number"), helm("upgrade web charts/faulty --set how=kind"),
			helm("upgrade web charts/faulty --set how=nameless"), helm("upgrade web charts/faulty --set how=no-kind"),
			helm("upgrade web charts/faulty --set how=unknown-field"),
			helm("upgrade web charts/future"), helm("upgrade web charts/nameless"), helm("upgrade web charts/badyaml"),
			helm("upgrade web charts/orphaned"), helm("history web"),
			helm("upgrade web charts/faulty --set how=unknown-field --disable-openapi-validation"), helm("history web"),
		}},
		{name: "an object that the server refuses", unchecked: true, steps: []step{
			helm("install web charts/shapes --set configs.old=1"),
			helm("upgrade web charts/shapes --set configs.new=1,configs.one=second,service=refused,host=a.example"), helm("history web"),
			helm("upgrade web charts/shapes --set configs.newer=1,service=refused,host=a.example --cleanup-on-fail"),
			helm("upgrade web charts/shapes --set configs.newest=1,service=refused --atomic --timeout 20s"),
			helm("upgrade web charts/shapes --set configs.last=1,service=refused --atomic --cleanup-on-fail --timeout 20s"),
			helm("history web"), helm("status web --show-desc"), helm("status web --revision 2 --show-desc"), helm("get values web --revision 3"),
			helm("upgrade web charts/shapes --set configs.new=1"), helm("history web"),
		}},
		{name: "an object that cannot be changed", unchecked: true, steps: []step{
			helm("install web charts/shapes --set configs.old=1,frozen.a=1,frozen.b=1,frozen.c=1"),
			helm("upgrade web charts/shapes --set configs.old=null,configs.new=1,frozen.a=2,frozen.b=1,frozen.c=2,service=80"), helm("history web"),
			helm("upgrade web charts/shapes --set configs.newer=1,frozen.a=2 --cleanup-on-fail"),
			helm("upgrade web charts/shapes --set frozen.a=2 --force"),
			helm("upgrade web charts/shapes --set configs.newest=1,frozen.a=2 --atomic --cleanup-on-fail --timeout 20s"),
			helm("history web"), helm("uninstall web"),
		}},
		{name: "after a failed installation", unchecked: true, steps: []step{
			helm("install web charts/shapes --set service=refused,configs.left=1"),
			helm("upgrade web charts/shapes --set service=refused"), helm("upgrade web charts/shapes --set service=refused --atomic --timeout 20s"),
			helm("upgrade web charts/shapes --set service=80"), helm("history web"), helm("status web --revision 2"),
			helm("uninstall web"),
		}},
		{name: "failing hooks", unchecked: true, steps: []step{
			helm("install web charts/turns --set pair=true"),
			helm("upgrade web charts/turns --set pair=true,fail={a-job}"),
			helm("upgrade web charts/turns --set fail={pre-upgrade},only=two,value=two"), helm("status web --show-desc"),
			helm("upgrade web charts/turns --set fail={post-upgrade},only=three,value=three"), helm("status web --show-desc"),
			helm("upgrade web charts/turns --set fail={post-upgrade},only=four --no-hooks"),
			helm("upgrade web charts/turns --set value=five,pair=true"), helm("history web"), helm("get hooks web --revision 3"),
		}},
		{name: "failing hooks, cleaned up after", unchecked: true, steps: []step{
			helm("install web charts/turns"),
			helm("upgrade web charts/turns --set fail={pre-upgrade},only=two --cleanup-on-fail"),
			helm("upgrade web charts/turns --set fail={post-upgrade},only=three --cleanup-on-fail"),
			helm("upgrade web charts/turns --set fail={post-upgrade},only=four,value=four --atomic --timeout 30s"),
			helm("history web"), helm("status web --show-desc"), helm("get values web"),
			helm("upgrade web charts/turns --set fail={pre-upgrade},only=five --atomic --timeout 30s --no-hooks"),
			helm("history web"),
		}},
		{name: "failing hooks and their policies", unchecked: true, steps: []step{
			helm("install web charts/turns --set policy=hook-succeeded"),
			helm("upgrade web charts/turns --set fail={post-upgrade},policy=hook-succeeded"),
			helm("upgrade web charts/turns --set fail={post-upgrade},policy=hook-succeeded"),
			helm("upgrade web charts/turns --set fail={post-upgrade},policy=hook-failed"),
			helm("upgrade web charts/turns --set policy=hook-failed"), helm("upgrade web charts/turns --set policy=hook-failed"),
			helm("history web"),
		}},
		{name: "definition as a hook", steps: []step{
			helm("install web charts/turns --set events={none},definition=true"),
			helm("upgrade web charts/turns --set events={none},definition=true"),
			helm("upgrade web charts/turns --set events={none},definition=true"), helm("history web"),
			helm("uninstall web"), deleteObject(definitionPath("doodads")),
		}},
		{name: "interrupted while waiting", unchecked: true, steps: []step{
			helm("install web charts/tiny"),
			helm("upgrade web charts/never --wait --timeout 60s").interrupted(sigterm, deploymentPath("web")),
			helm("history web"), helm("status web --show-desc"), helm("upgrade web charts/tiny"),
			helm("install two charts/tiny"),
			helm("upgrade two charts/never --atomic --timeout 60s").interrupted(sigterm, deploymentPath("two")),
			helm("history two"), helm("list -q"),
		}},
		{name: "killed", unchecked: true, steps: []step{
			stockHelm("install web charts/turns --set hang={pre-install} --timeout 60s").interrupted(syscall.SIGKILL, jobPath("web-pre-install")),
			helm("upgrade web charts/tiny"), helm("upgrade web charts/tiny -i"), helm("install web charts/tiny"), helm("rollback web").forced(), helm("rollback web 1 --dry-run"),
			helm("history web"), helm("uninstall web --no-hooks").forced(), deleteObject(jobPath("web-pre-install") + "?propagationPolicy=Background"),
			helm("install web charts/turns --no-hooks"),
			stockHelm("upgrade web charts/turns --set hang={pre-upgrade} --timeout 60s").interrupted(syscall.SIGKILL, jobPath("web-pre-upgrade")),
			helm("upgrade web charts/turns"), helm("upgrade web charts/turns -i --dry-run"), helm("install web charts/turns --replace"),
			helm("list"), helm("list --pending -q"), helm("status web --show-desc"), helm("rollback web 1 --no-hooks").forced(),
			helm("upgrade web charts/turns --no-hooks"), helm("history web --max 1"),
			deleteObject(jobPath("web-pre-upgrade") + "?propagationPolicy=Background"),
		}, differs: []string{
			`-         "description": "Preparing upgrade",`,
			`-         "status": "pending-upgrade",`,
			`+         "description": "Interrupted: its status was pending-upgrade",`,
			`+         "status": "failed",`,
			`-     status: pending-upgrade`,
			`+     status: failed`,
		}},
		{name: "configmap driver", unchecked: true, env: []string{"HELM_DRIVER=configmap"}, steps: []step{
			helm("upgrade web charts/shapes -i --labels a=b"), helm("upgrade web charts/shapes --set configs.one=second --labels a=null,c=d --history-max 3"),
			helm("upgrade web charts/shapes --set service=refused --history-max 3"), helm("upgrade web charts/shapes --set service=refused --atomic --history-max 3"),
			helm("rollback web 2"), helm("rollback web --history-max 2"), helm("history web"), helm("list -l c=d -q"), helm("status web --revision 2"),
			helm("uninstall web --keep-history"), helm("history web -o json"), helm("rollback web"), helm("uninstall web"),
		}},
		{name: "memory driver", env: []string{"HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=memory/releases.yaml"}, steps: []step{
			helm("upgrade alpha charts/tiny --dry-run --reuse-values"), helm("upgrade alpha charts/tiny --dry-run --reset-then-reuse-values -o json"),
			helm("upgrade alpha charts/tiny --dry-run"), helm("rollback alpha --dry-run"),
			helm("upgrade beta charts/tiny"), helm("upgrade gamma charts/tiny"), helm("upgrade delta charts/tiny"), helm("upgrade delta charts/tiny -i --dry-run"),
			helm("upgrade epsilon charts/tiny"), helm("upgrade epsilon charts/tiny -i"), helm("upgrade eta charts/tiny"), helm("upgrade theta charts/tiny"), helm("upgrade iota charts/tiny"),
			helm("upgrade zeta charts/tiny --history-max 1"), helm("upgrade omega charts/tiny"), helm("upgrade fresh charts/tiny -i"),
			helm("rollback alpha"), helm("rollback delta 3"), helm("rollback eta 1").forced(), helm("rollback theta").forced(), helm("rollback epsilon 1 --dry-run"),
			helm("history alpha"), helm("history alpha -o yaml"), helm("history gamma"), helm("history delta -o json"), helm("history omega"), helm("history zeta"),
			helm("uninstall alpha"), helm("uninstall gamma").forced(), helm("uninstall epsilon").forced(), helm("uninstall delta --keep-history"), helm("uninstall theta --keep-history").forced(),
		}},
	})
}
