// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// objectPath returns the path of an object of the core group on the API server.
func objectPath(kind, name string) string {
	return "/api/v1/namespaces/" + namespacePlaceholder + "/" + kind + "/" + name
}

// deploymentPath returns the path of a Deployment, which Helm creates after most other
// kinds.
func deploymentPath(name string) string {
	return "/apis/apps/v1/namespaces/" + namespacePlaceholder + "/deployments/" + name
}

// releasePath returns the path of a stored release.
func releasePath(name, revision string) string {
	return objectPath("secrets", "sh.helm.release.v1."+name+".v"+revision)
}

const foreignConfig = `apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  labels: {owned-by: someone}
data: {value: theirs}
`

// TestInstall compares installs.
func TestInstall(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "plain", steps: []step{helm("install web charts/plain")}},
		{name: "umbrella", steps: []step{helm("install web charts/umbrella")}},
		{name: "umbrella with subchart notes", rules: []rule{sortedNotes, sortedLines}, steps: []step{
			helm("install web charts/umbrella --render-subchart-notes"),
		}},
		{name: "umbrella with less", steps: []step{
			helm("install web charts/umbrella --set database.enabled=false,tags.speed=false"),
			helm("get values web --all"), helm("get metadata web"),
		}},
		{name: "legacy chart", steps: []step{helm("install web charts/legacy"), helm("get metadata web -o yaml")}},
		{name: "what templates see", steps: []step{helm("install web charts/context")}},
		{name: "nothing to deploy", steps: []step{helm("install web charts/silent"), helm("uninstall web")}},
		{name: "many kinds", steps: []step{
			helm("install web charts/order"), writeFile{"charts/order/templates/partial.txt", ""},
			helm("install web charts/order"), helm("get manifest web"), helm("uninstall web --wait"),
		}},
		{name: "values", steps: []step{
			helm("install web charts/plain -f values/first.yaml -f values/second.yaml --set replicas=0 --set-string extra=1"),
			helm("get values web"), helm("get values web -a -o json"),
		}},
		{name: "output as JSON", steps: []step{helm("install web charts/tiny -o json")}},
		{name: "output as YAML", steps: []step{helm("install web charts/umbrella --output yaml")}},
		{name: "hidden notes", steps: []step{helm("install web charts/plain --hide-notes"), helm("get notes web")}},
		{name: "debug", rules: []rule{debugHead, stackTraces}, steps: []step{
			helm("install web charts/tiny --debug"),
		}},
		{name: "description and labels", steps: []step{
			helm("install web charts/tiny --labels team=web,tier=front --description", "our first"),
			helm("status web --show-desc"), helm("list -l team=web -q"), helm("list -l team!=web -q"),
			helm("install other charts/tiny --labels owner=me"),
			helm("install other charts/tiny --labels status=me,a=b"),
		}},
		{name: "generated name", steps: []step{helm("install charts/tiny --generate-name")}},
		{name: "name template", steps: []step{helm("install charts/tiny --name-template", "{{ printf \"%s-%d\" \"made\" 7 }}")}},
		{name: "names that cannot be", steps: []step{
			helm("install Not_A_Name charts/tiny"),
			helm("install charts/tiny"),
			helm("install web charts/tiny --generate-name"),
			helm("install web charts/tiny --name-template x"),
			helm("install a-name-that-is-longer-than-the-fifty-three-characters-allowed charts/tiny"),
			helm("install web charts/tiny -n Not_A_Namespace"),
			helm("install charts/tiny --name-template", "Not A Name"),
		}},
		{name: "name in use", steps: []step{
			helm("install web charts/tiny"), helm("install web charts/tiny"), helm("install web charts/tiny --replace"),
		}},
		{name: "replace an uninstalled release", steps: []step{
			helm("install web charts/tiny"), helm("uninstall web --keep-history"),
			helm("install web charts/tiny"),
			helm("install web charts/tiny --replace --set value=second"),
			helm("status web"),
		}},
		{name: "replace a failed release", steps: []step{
			helm("install web charts/faulty --set how=invalid-object"),
			helm("install web charts/faulty"),
			helm("install web charts/faulty --replace"),
		}},
		{name: "dry runs", steps: []step{
			helm("install web charts/plain --dry-run"),
			helm("install web charts/plain --dry-run=client -o json"),
			helm("install web charts/context --dry-run=client"),
			helm("install web charts/context --dry-run=server"),
			helm("install web charts/hooks --dry-run"),
			helm("install web charts/plain --dry-run=true --hide-secret"),
			helm("install web charts/plain --dry-run=server --hide-secret --debug").withEnv("HELM_DEBUG=false"),
			helm("install web charts/plain --hide-secret"),
			helm("install web charts/plain --dry-run=maybe"),
			helm("install web charts/crds --dry-run"),
			helm("install web charts/faulty --set how=kind --dry-run"),
			helm("install web charts/faulty --set how=unknown-field --dry-run=server"),
		}, rules: []rule{debugHead}},
		{name: "dry run that is none", steps: []step{
			helm("install one charts/tiny --dry-run=none"),
			helm("install two charts/tiny --dry-run=false"),
			helm("install three charts/tiny --dry-run="),
		}},
		{name: "dry run of a name in use", steps: []step{
			helm("install web charts/tiny"),
			helm("install web charts/tiny --dry-run"),
			helm("install web charts/tiny --dry-run=server"),
		}},
		{name: "create the namespace", steps: []step{
			helm("install web charts/tiny -n @NAMESPACE@-new"),
			helm("install web charts/tiny -n @NAMESPACE@-new --create-namespace"),
			helm("install two charts/tiny --create-namespace"),
			helm("list -n @NAMESPACE@-new -q"),
			deleteObject("/api/v1/namespaces/@NAMESPACE@-new"),
		}},
		{name: "hooks", steps: []step{
			helm("install web charts/hooks"),
			helm("get hooks web"),
			helm("uninstall web"),
		}},
		{name: "no hooks", steps: []step{
			helm("install web charts/hooks --no-hooks"),
			helm("uninstall web --no-hooks"),
		}},
		{name: "hooks that the server names", unchecked: true, steps: []step{
			helm("install web charts/odd --set unnamed=true"), helm("uninstall web --no-hooks"),
		}, rules: []rule{pattern("generated name", "the server and the controllers choose its suffix at random", `(web-(?:one|two))-[a-z0-9]{5}(?:-[a-z0-9]{5})?`, "$1-NAME")}},
		{name: "failing pre-install hook", steps: []step{
			helm("install web charts/hooks --set fail=prepare"),
			helm("list -a -q"), helm("status web --show-desc"),
		}},
		{name: "failing post-install hook", steps: []step{
			helm("install web charts/hooks --set fail=announce"),
			helm("status web --show-desc"),
		}},
		{name: "failing hook with atomic", steps: []step{
			helm("install web charts/hooks --set fail=announce --atomic --timeout 20s"),
			helm("list -a -q"),
		}},
		{name: "hook that exists already", steps: []step{
			createObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-settings}\ndata: {a: theirs}\n"),
			createObjects("apiVersion: batch/v1\nkind: Job\nmetadata: {name: web-announce}\nspec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}\n"),
			helm("install web charts/hooks"),
		}},
		{name: "custom resource definitions", steps: []step{
			helm("install web charts/crds"),
			helm("install two charts/crds"),
			helm("uninstall web"), helm("uninstall two"),
			deleteObject("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.@NAMESPACE@.example.com"),
		}},
		{name: "skipped custom resource definitions", steps: []step{
			helm("install web charts/crds --skip-crds"),
			helm("install web charts/crds --skip-crds --set gadget=false"),
		}},
		{name: "charts that fail", steps: []step{
			helm("install web charts/faulty --set how=required"),
			helm("install web charts/faulty --set how=yaml"),
			helm("install web charts/faulty --set how=number"),
			helm("install web charts/faulty --set how=kind"),
			helm("install web charts/faulty --set how=nameless"),
			helm("install web charts/faulty --set how=no-kind"),
			helm("install web charts/faulty --set how=unknown-field"),
			helm("install web charts/library"),
			helm("install web charts/orphaned"),
			helm("install web charts/schema --set port=none"),
			helm("install web charts/future"),
			helm("install web charts/nameless"),
			helm("list -a -q"),
		}},
		{name: "open API validation switched off", steps: []step{
			helm("install web charts/faulty --set how=unknown-field --disable-openapi-validation"),
		}},
		{name: "object that the server refuses", steps: []step{
			helm("install web charts/faulty --set how=invalid-object"),
			helm("status web --show-desc"),
			helm("uninstall web"),
		}},
		{name: "object that the server refuses, with atomic", steps: []step{
			helm("install web charts/faulty --set how=invalid-object --atomic"),
			helm("list -a -q"),
		}},
		{name: "object twice", steps: []step{
			helm("install web charts/faulty --set how=duplicate"),
			helm("status web --show-desc"),
		}},
		{name: "deprecated chart", steps: []step{helm("install web charts/deprecated")}},
		{name: "foreign object", steps: []step{
			createObjects(foreignConfig),
			helm("install web charts/tiny"),
			helm("install web charts/tiny --dry-run"),
			helm("list -a -q"),
		}},
		{name: "taken ownership", steps: []step{
			createObjects(foreignConfig),
			helm("install web charts/tiny --take-ownership --set value=ours"),
			helm("status web"),
			helm("uninstall web"),
		}},
		{name: "object of another release", steps: []step{
			helm("install web charts/tiny"),
			deleteObject(releasePath("web", "1")),
			helm("install web charts/tiny --set value=again"),
			helm("install two charts/plain --set greeting=x"),
			deleteObject(objectPath("configmaps", "web")),
		}},
		{name: "forced", steps: []step{
			createObjects(foreignConfig),
			helm("install web charts/tiny --take-ownership --force"),
		}},
		{name: "post-renderer", steps: []step{
			helm("install web charts/plain --post-renderer ./scripts/upper.sh --post-renderer-args x"),
			helm("get manifest web"),
			helm("install two charts/hooks --post-renderer ./scripts/drop.sh --no-hooks"),
			helm("get manifest two"), helm("get hooks two"),
			helm("install three charts/tiny --post-renderer ./scripts/fail.sh"),
			helm("install four charts/tiny --post-renderer ./scripts/nothing.sh"),
		}},
		{name: "wait", steps: []step{
			helm("install web charts/plain --wait --timeout 30s"),
			helm("install two charts/plain --wait=true --wait-for-jobs --timeout 30s"),
			helm("install three charts/tiny --wait=1"),
			helm("install four charts/tiny --wait=F"),
		}},
		{name: "interrupted while waiting", steps: []step{
			helm("install web charts/never --wait --timeout 60s").interrupted(sigterm, deploymentPath("web")),
			helm("list -a -q"),
		}},
		{name: "configmap driver", env: []string{"HELM_DRIVER=configmap"}, steps: []step{
			helm("install web charts/tiny --labels a=b"),
			helm("list -q"), helm("status web --show-desc"), helm("get values web -a"), helm("list -l a=b -q"),
			helm("uninstall web --keep-history"), helm("list -a -q"),
		}},
		{name: "memory driver", env: []string{"HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=memory/releases.yaml"}, steps: []step{
			helm("install fresh charts/plain"),
			helm("install fresh charts/hooks --no-hooks"),
			helm("install alpha charts/tiny"),
			helm("install delta charts/tiny --replace"),
			helm("install fresh charts/plain --dry-run"),
		}},
		{name: "package", steps: []step{
			stockHelm("package charts/umbrella"),
			helm("install web umbrella-2.0.0.tgz"),
		}},
	})
}
