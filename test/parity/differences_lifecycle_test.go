// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"math/rand/v2"
	"syscall"
)

// frozenConfig is the manifest of an immutable ConfigMap with the name of an object in
// charts/shapes.
const frozenConfig = `apiVersion: v1
kind: ConfigMap
metadata: {name: web-frozen-a}
immutable: true
data: {value: theirs}
`

// lifecycleDifferences returns the intentional differences from stock Helm in upgrades,
// rollbacks and uninstalls.
func lifecycleDifferences() []scenario {
	return []scenario{
		{name: "library chart", steps: []step{
			helm("install web charts/tiny"), helm("upgrade web charts/library"),
			checkObject(objectPath("configmaps", "web")), helm("uninstall web"),
		}, differs: []string{
			`- exit code 0`,
			`+ exit code 1`,
			`- Release "web" has been upgraded. Happy Helming!`,
			`- NAME: web`,
			`- LAST DEPLOYED: TIME`,
			`- NAMESPACE: NAMESPACE`,
			`- STATUS: deployed`,
			`- REVISION: 2`,
			`- TEST SUITE: None`,
			`+ Error: library charts are not installable`,
			`- GET /api/v1/namespaces/@NAMESPACE@/configmaps/web: 404`,
			`+ GET /api/v1/namespaces/@NAMESPACE@/configmaps/web: 200`,
		}},
		{name: "refused among others of its kind", steps: []step{
			helm("install web charts/shapes"),
			helm("upgrade web charts/shapes --set invalid=true,configs.a=1"),
			checkObject(objectPath("configmaps", "web-a")), helm("uninstall web"),
		}, differs: []string{
			`- GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-a: 404`,
			`+ GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-a: 200`,
		}},
		{name: "refused, and others that cannot be changed", steps: []step{
			helm("install web charts/shapes --set frozen.a=1"),
			helm("upgrade web charts/shapes --set frozen.a=2,service=refused"),
		}, differs: []string{
			`- Error: UPGRADE FAILED: failed to create resource: Service "web" is invalid: spec.ports: Required value`,
			"+ Error: UPGRADE FAILED: cannot patch \"web-frozen-a\" with kind ConfigMap: ConfigMap \"web-frozen-a\" is invalid: data: Forbidden: field is immutable when `immutable` is set && failed to create resource: Service \"web\" is invalid: spec.ports: Required value",
			`-         "description": "Upgrade \"web\" failed: failed to create resource: Service \"web\" is invalid: spec.ports: Required value",`,
			"+         \"description\": \"Upgrade \\\"web\\\" failed: cannot patch \\\"web-frozen-a\\\" with kind ConfigMap: ConfigMap \\\"web-frozen-a\\\" is invalid: data: Forbidden: field is immutable when `immutable` is set \\u0026\\u0026 failed to create resource: Service \\\"web\\\" is invalid: spec.ports: Required value\",",
		}},
		{name: "atomic installation that took objects over", steps: []step{
			createObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-one}\ndata: {value: theirs, more: theirs}\n"),
			helm("install web charts/shapes --set service=refused --take-ownership --atomic"),
			checkObject(objectPath("configmaps", "web-one")), deleteObject(objectPath("configmaps", "web-one")),
		}, differs: []string{
			`+ WARNING: --atomic: uninstalling the failed release web; cause of the failure: failed to create resource: Service "web" is invalid: spec.ports: Required value`,
			`- GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-one: 404`,
			`+ GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-one: 200`,
		}},
		{name: "atomic upgrade that took objects over", steps: []step{
			helm("install web charts/shapes"),
			createObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-two}\ndata: {value: theirs, more: theirs}\n"),
			helm("upgrade web charts/shapes --set configs.two=ours,service=refused --take-ownership --atomic"),
			checkObject(objectPath("configmaps", "web-two")), deleteObject(objectPath("configmaps", "web-two")),
		}, differs: []string{
			`+ WARNING: --atomic: rolling back the failed upgrade of release web to revision 1; cause of the failure: failed to create resource: Service "web" is invalid: spec.ports: Required value`,
			`- GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-two: 404`,
			`+ GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-two: 200`,
		}},
		{name: "installed anew after ten revisions", unchecked: true, steps: append(tenRevisions(),
			helm("uninstall web --keep-history"), helm("upgrade web charts/tiny -i --hide-notes"), helm("uninstall web"),
		), differs: []string{
			`- exit code 1`,
			`+ exit code 0`,
			`+ Release "web" does not exist. Installing it now.`,
			`+ NAME: web`,
			`+ LAST DEPLOYED: TIME`,
			`+ NAMESPACE: NAMESPACE`,
			`+ STATUS: deployed`,
			`+ REVISION: 11`,
			`+ TEST SUITE: None`,
			`- Error: UPGRADE FAILED: "web" has no deployed releases`,
		}},
		{name: "an account that may not read", env: []string{"HELM_KUBEASUSER=limited"}, steps: []step{
			createObjects(limitedAccount), asAdmin("install web charts/shapes --set configs.two=first"), helm("rollback web 1"),
			helm("upgrade web charts/shapes --set configs.one=second,configs.two=second"),
		}, differs: []string{
			`- Error: could not get information about the resource: configmaps "web-two" is forbidden: User "limited" cannot get resource "configmaps" in API group "" in the namespace "NAMESPACE"`,
			`+ Error: could not get information about the resource ConfigMap "web-two" in namespace "NAMESPACE": configmaps "web-two" is forbidden: User "limited" cannot get resource "configmaps" in API group "" in the namespace "NAMESPACE"`,
			`- Error: UPGRADE FAILED: could not get information about the resource: configmaps "web-two" is forbidden: User "limited" cannot get resource "configmaps" in API group "" in the namespace "NAMESPACE"`,
			`+ Error: UPGRADE FAILED: could not get information about the resource ConfigMap "web-two" in namespace "NAMESPACE": configmaps "web-two" is forbidden: User "limited" cannot get resource "configmaps" in API group "" in the namespace "NAMESPACE"`,
			`-   value: second`,
			`+   value: first`,
			`-         "description": "Rollback \"web\" failed: could not get information about the resource: configmaps \"web-two\" is forbidden: User \"limited\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"NAMESPACE\"",`,
			`+         "description": "Rollback \"web\" failed: could not get information about the resource ConfigMap \"web-two\" in namespace \"NAMESPACE\": configmaps \"web-two\" is forbidden: User \"limited\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"NAMESPACE\"",`,
			`-         "description": "Upgrade \"web\" failed: could not get information about the resource: configmaps \"web-two\" is forbidden: User \"limited\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"NAMESPACE\"",`,
			`+         "description": "Upgrade \"web\" failed: could not get information about the resource ConfigMap \"web-two\" in namespace \"NAMESPACE\": configmaps \"web-two\" is forbidden: User \"limited\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"NAMESPACE\"",`,
		}},
		{name: "rollback whose first hook fails", steps: []step{
			helm("install web charts/turns --set fail={pre-rollback},quiet=true --no-hooks"), helm("upgrade web charts/tiny"),
			helm("rollback web"), helm("status web --show-desc"), helm("uninstall web"),
		}, differs: []string{
			`- STATUS: pending-rollback`,
			`+ STATUS: failed`,
			`- DESCRIPTION: Rollback to 1`,
			`+ DESCRIPTION: Rollback "web" failed: 1 error occurred:`,
			`+ 	* job web-pre-rollback failed: BackoffLimitExceeded`,
			`+ `,
			`+ `,
		}},
		{name: "rollback whose last hook fails", steps: []step{
			helm("install web charts/turns --set fail={post-rollback},quiet=true --no-hooks"), helm("upgrade web charts/tiny"),
			helm("rollback web --cleanup-on-fail"), checkObject(objectPath("configmaps", "web-main")),
			helm("rollback web 2"),
		}, differs: []string{
			`- GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-main: 200`,
			`+ GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-main: 404`,
			`-         "description": "Rollback to 1",`,
			`-         "status": "pending-rollback",`,
			`+         "description": "Rollback \"web\" failed: 1 error occurred:\n\t* job web-post-rollback failed: BackoffLimitExceeded\n\n",`,
			`+         "status": "failed",`,
			`-             "completed_at": "",`,
			`-             "phase": "Running"`,
			`+             "completed_at": "TIME",`,
			`+             "phase": "Failed"`,
			`-     status: pending-rollback`,
			`+     status: failed`,
		}},
		{name: "atomic upgrade that cannot be undone", steps: []step{
			helm("install web charts/turns --set fail={post-rollback},quiet=true --no-hooks"),
			helm("upgrade web charts/faulty --set how=invalid-object --atomic --timeout 20s"), helm("list -a"), helm("uninstall web --no-hooks"),
		}, rules: []rule{columnPadding}, differs: []string{
			`+ WARNING: --atomic: rolling back the failed upgrade of release web to revision 1; cause of the failure: failed to create resource: Service "web" is invalid: spec.ports: Required value`,
			`- web	NAMESPACE	3	TIME	pending-rollback	turns-0.1.0	3          `,
			`+ web	NAMESPACE	3	TIME	failed	turns-0.1.0	3          `,
		}},
		{name: "rollback that fails twice", steps: []step{
			helm("install web charts/shapes --set service=refused"), helm("upgrade web charts/shapes --set configs.one=second"),
			helm("rollback web 1"), helm("rollback web 1"), helm("status web --revision 3"),
		}, differs: []string{
			`- STATUS: superseded`,
			`+ STATUS: failed`,
			`-         "status": "superseded"`,
			`+         "status": "failed"`,
			`-     status: superseded`,
			`+     status: failed`,
		}},
		{name: "rollback to a kind that is gone", steps: []step{
			helm("install web charts/crds"), deleteObject(gadgetPath("web")), deleteObject(definitionPath("gadgets")),
			helm("install two charts/tiny"), helm("rollback web 1"), helm("status web --show-desc"), deleteObject(releasePath("web", "2")),
		}, differs: []string{
			`- STATUS: pending-rollback`,
			`- REVISION: 2`,
			`- DESCRIPTION: Rollback to 1`,
			`+ STATUS: deployed`,
			`+ REVISION: 1`,
			`+ DESCRIPTION: Install complete`,
		}},
		{name: "rollback that created nothing, cleaned up after", steps: []step{
			helm("install web charts/shapes --set frozen.a=1"), helm("upgrade web charts/shapes --set service=80"),
			createObjects(frozenConfig), helm("rollback web --cleanup-on-fail"),
		}, differs: []string{
			"- Error: an error occurred while cleaning up resources. original rollback error: cannot patch \"web-frozen-a\" with kind ConfigMap: ConfigMap \"web-frozen-a\" is invalid: data: Forbidden: field is immutable when `immutable` is set: unable to cleanup resources: object not found, skipping delete: no objects visited",
			"+ Error: cannot patch \"web-frozen-a\" with kind ConfigMap: ConfigMap \"web-frozen-a\" is invalid: data: Forbidden: field is immutable when `immutable` is set",
		}},
		{name: "interrupted in a hook", steps: []step{
			helm("install web charts/turns --set events={none}"),
			helm("upgrade web charts/turns --set hang={pre-upgrade},quiet=true --timeout 60s").interrupted(sigterm, jobPath("web-pre-upgrade")),
			helm("history web"),
		}, differs: []string{
			`-             "completed_at": "",`,
			`-             "phase": "Unknown"`,
			`+             "completed_at": "TIME",`,
			`+             "phase": "Failed"`,
		}},
		{name: "interrupted and cleaned up after", steps: []step{
			helm("install web charts/silent"),
			helm("upgrade web charts/never --wait --cleanup-on-fail --timeout 60s").interrupted(sigterm, deploymentPath("web")),
			checkObject(objectPath("configmaps", "web")), helm("uninstall web"),
		}, differs: []string{
			`- GET /api/v1/namespaces/@NAMESPACE@/configmaps/web: 200`,
			`+ GET /api/v1/namespaces/@NAMESPACE@/configmaps/web: 404`,
		}},
		{name: "interrupted, with output for programs", steps: []step{
			helm("upgrade web charts/never -i -o json --wait --timeout 60s").interrupted(syscall.SIGINT, deploymentPath("web")),
			helm("install two charts/tiny"), helm("upgrade two charts/never -o yaml --wait --timeout 60s").interrupted(sigterm, deploymentPath("two")),
		}, differs: []string{
			`- Release web has been cancelled.`,
			`+ Release web has been cancelled.`,
			`- Release two has been cancelled.`,
			`+ Release two has been cancelled.`,
		}},
		{name: "interrupted rollback", steps: []step{
			helm("install web charts/turns --set hang={pre-rollback},quiet=true --no-hooks"), helm("upgrade web charts/tiny"),
			helm("rollback web --timeout 60s").interrupted(sigterm, jobPath("web-pre-rollback")),
			helm("status web --show-desc"), helm("uninstall web --no-hooks"),
		}, differs: []string{
			`- exit code -1`,
			`+ exit code 1`,
			`+ Rollback of release web has been cancelled.`,
			`+ Error: context canceled`,
			`- STATUS: pending-rollback`,
			`+ STATUS: failed`,
			`- DESCRIPTION: Rollback to 1`,
			`+ DESCRIPTION: Rollback "web" failed: context canceled`,
		}},
		{name: "interrupted removal", steps: []step{
			helm("install web charts/turns --set hang={pre-delete},quiet=true --no-hooks"),
			helm("uninstall web --timeout 60s").interrupted(sigterm, jobPath("web-pre-delete")),
			helm("status web --show-desc"), helm("uninstall web --no-hooks"),
		}, differs: []string{
			`- exit code -1`,
			`+ exit code 1`,
			`+ Uninstall of release web has been cancelled.`,
			`+ Error: context canceled`,
			`- STATUS: uninstalling`,
			`+ STATUS: failed`,
			`- DESCRIPTION: Deletion in progress (or silently failed)`,
			`+ DESCRIPTION: Uninstall failed: context canceled`,
		}},
		{name: "upgrade to what never comes", rules: []rule{podNames}, steps: []step{
			helm("install web charts/tiny"), helm("upgrade web charts/never --atomic --timeout 4s"),
			helm("install two charts/never"), helm("rollback two 1 --wait --timeout 4s"),
			helm("upgrade two charts/never --atomic --timeout 4s"),
		}, differs: []string{
			`- Error: UPGRADE FAILED: release web failed, and has been rolled back due to atomic being set: context deadline exceeded`,
			`+ WARNING: --atomic: rolling back the failed upgrade of release web to revision 1; cause of the failure: Deployment/web was not ready within 4s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
			`+ Error: UPGRADE FAILED: release web failed, and has been rolled back due to atomic being set: Deployment/web was not ready within 4s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
			`+   Deployment/web: Available: 0/1`,
			`+     Pod NAMESPACE/web-POD container main:`,
			`+       | container main of pod NAMESPACE/web-POD`,
			`+     to allow more time, increase --timeout`,
			`- Error: release two failed: context deadline exceeded`,
			`+ Error: release two failed: Deployment/two was not ready within 4s: Pod NAMESPACE/two-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
			`+   Deployment/two: Available: 0/1`,
			`+     Pod NAMESPACE/two-POD container main:`,
			`+       | container main of pod NAMESPACE/two-POD`,
			`+     to allow more time, increase --timeout`,
			`- Error: UPGRADE FAILED: an error occurred while rolling back the release. original upgrade error: context deadline exceeded: release two failed: context deadline exceeded`,
			`+ WARNING: --atomic: rolling back the failed upgrade of release two to revision 1; cause of the failure: Deployment/two was not ready within 4s: Pod NAMESPACE/two-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
			`+ Error: UPGRADE FAILED: an error occurred while rolling back the release. original upgrade error: Deployment/two was not ready within 4s: Pod NAMESPACE/two-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
			`+   Deployment/two: Available: 0/1`,
			`+     Pod NAMESPACE/two-POD container main:`,
			`+       | container main of pod NAMESPACE/two-POD`,
			`+     to allow more time, increase --timeout`,
			`+ undoing it also failed: release two failed: Deployment/two was not ready within 4s: Pod NAMESPACE/two-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
			`+   Deployment/two: Available: 0/1`,
			`+     Pod NAMESPACE/two-POD container main:`,
			`+       | container main of pod NAMESPACE/two-POD`,
			`+     to allow more time, increase --timeout`,
			`+ `,
			`-         "description": "Release \"two\" failed: context deadline exceeded",`,
			`+         "description": "Release \"two\" failed: Deployment/two was not ready within 4s: Pod NAMESPACE/two-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is \"never\"",`,
			`-         "description": "Upgrade \"two\" failed: context deadline exceeded",`,
			`+         "description": "Upgrade \"two\" failed: Deployment/two was not ready within 4s: Pod NAMESPACE/two-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is \"never\"",`,
			`-         "description": "Release \"two\" failed: context deadline exceeded",`,
			`+         "description": "Release \"two\" failed: Deployment/two was not ready within 4s: Pod NAMESPACE/two-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is \"never\"",`,
			`-         "description": "Upgrade \"web\" failed: context deadline exceeded",`,
			`+         "description": "Upgrade \"web\" failed: Deployment/web was not ready within 4s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is \"never\"",`,
		}},
		{name: "too large to be stored", steps: []step{
			writeFile{"charts/tiny/noise", noise(1_100_000)}, helm("upgrade web charts/tiny -i"), helm("list -a"),
			helm("install web charts/shapes"), helm("upgrade web charts/tiny"), helm("list -a -q"), writeFile{"charts/tiny/noise", ""},
		}, rules: []rule{pattern("size", "a release's size depends on the times in it", `\b\d{7}\b`, "SIZE")}, differs: []string{
			`- Error: create: failed to create: Secret "sh.helm.release.v1.web.v1" is invalid: data: Too long: may not be more than SIZE bytes`,
			`+ Error: release web is too large to be stored: revision 1 takes SIZE bytes, and up to 4096 more during the deployment, but a Secret can have at most SIZE. The largest parts are the files of the chart (SIZE, the largest noise): exclude files with .helmignore, split the chart, or set HELM_DRIVER=chunked-secret (several Secrets) or HELM_DRIVER=sql (a database)`,
			`- Error: UPGRADE FAILED: create: failed to create: Secret "sh.helm.release.v1.web.v2" is invalid: data: Too long: may not be more than SIZE bytes`,
			`+ Error: UPGRADE FAILED: release web is too large to be stored: revision 2 takes SIZE bytes, and up to 4096 more during the deployment, but a Secret can have at most SIZE. The largest parts are the files of the chart (SIZE, the largest noise): exclude files with .helmignore, split the chart, or set HELM_DRIVER=chunked-secret (several Secrets) or HELM_DRIVER=sql (a database)`,
		}},
		{name: "wait for what does not go", steps: []step{
			stockHelm("install web charts/held"),
			helm("uninstall web --wait --timeout 3s"),
			helm("list -a -q"),
			removeFinalizers(objectPath("configmaps", "web")),
		}, differs: []string{
			`- Error: uninstallation completed with 1 error(s): context deadline exceeded`,
			`+ Error: uninstallation completed with 1 error(s): context deadline exceeded: ConfigMap NAMESPACE/web: Terminating: being deleted, waiting for finalizers: example.com/held`,
		}},
	}
}

// tenRevisions returns the steps that create a release with ten revisions.
func tenRevisions() []step {
	steps := []step{helm("install web charts/tiny --hide-notes")}
	for range 9 {
		steps = append(steps, helm("upgrade web charts/tiny --hide-notes"))
	}
	return steps
}

// noise returns a text of the given length that compresses to three quarters of its size. It
// is the same in each run.
func noise(length int) string {
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}
