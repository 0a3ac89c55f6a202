// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// gadgetPath returns the path of a custom resource of charts/crds.
func gadgetPath(name string) string {
	return "/apis/" + namespacePlaceholder + ".example.com/v1/namespaces/" + namespacePlaceholder + "/gadgets/" + name
}

// definitionPath returns the path of a custom resource definition of a sandbox.
func definitionPath(plural string) string {
	return "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + plural + "." + namespacePlaceholder + ".example.com"
}

// theirs is a merge patch with changes by another client: a label, an annotation, and values,
// one of which the chart sets too.
const theirs = `{"metadata":{"labels":{"theirs":"yes"},"annotations":{"theirs":"too"}},"data":{"value":"theirs","added":"theirs"}}`

// pickedPod is the manifest of a pod that a Service of charts/shapes selects.
const pickedPod = `apiVersion: v1
kind: Pod
metadata:
  name: picked
  labels: {picked-by: web}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: registry.example/pod}]
`

// changedOrder replaces the content of a template of charts/order.
const changedOrder = `apiVersion: v1
kind: Service
metadata: {name: web-b}
spec: {ports: [{name: b, port: 81}, {name: a, port: 80}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.@NAMESPACE@.example.com}
spec:
  group: @NAMESPACE@.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, shortNames: [wg]}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: string}}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}, {apiGroups: [""], resources: [configmaps], verbs: [get]}]
`

// limitedAccount contains a Role that allows a user to store releases, but to read only few
// kinds of objects.
const limitedAccount = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: limited}
rules:
  - {apiGroups: [""], resources: [secrets], verbs: ["*"]}
  - {apiGroups: [""], resources: [configmaps], verbs: [create, patch, delete]}
  - {apiGroups: [""], resources: [configmaps], resourceNames: [web-one], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: limited}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: limited}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: limited}]
`

// asAdmin returns a run of helm as the user of the kubeconfig, even if the scenario sets
// another user.
func asAdmin(line string) helmRun { return helm(line).withEnv("HELM_KUBEASUSER=") }

// TestUpgrade compares upgrades that succeed.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "from chart to chart", steps: []step{
			helm("install web charts/plain"),
			helm("upgrade web charts/plain"),
			helm("upgrade web charts/plain --set greeting=again,replicas=0 --description", "the third"),
			helm("upgrade web charts/tiny"),
			helm("history web"), helm("history web --max 2"), helm("hist web -o json --max 1"), helm("history web --max 0"), helm("history web --max -1 -o yaml"),
			helm("status web"), helm("status web --revision 1 --show-desc"), helm("status web --revision 3 --show-desc"),
			helm("get all web --revision 2"), helm("get notes web --revision 3"), helm("get metadata web"), helm("list -a"),
			helm("upgrade web charts/umbrella -o json"),
			helm("upgrade web charts/silent"), helm("upgrade web charts/context"),
			helm("upgrade web charts/plain -o yaml --hide-notes"),
			helm("uninstall web"), helm("history web"), helm("history web -o json"),
		}, rules: []rule{ages}},
		{name: "every kind of flag for values", unchecked: true, steps: []step{
			helm("install web charts/plain -f values/first.yaml --set extra=1"),
			helm("upgrade web charts/plain -f values/second.yaml --set replicas=0"),
			helm("upgrade web charts/plain"), helm("get values web"),
			helm("upgrade web charts/plain --reset-values"), helm("get values web -o json"),
			helm("upgrade web charts/plain --set-string extra=007 --set-json", `list=["x"]`),
			helm("upgrade web charts/plain --set-file greeting=files.txt --set-literal", `extra=a,b`),
			writeFile{"files.txt", "read from a file"},
			helm("upgrade web charts/plain --set-file greeting=files.txt --set-literal", `extra=a,b`),
			helm("upgrade web charts/plain -f -").withStdin("nested: {deep: {value: stdin}}\n"),
			helm("get values web -a"),
			helm("upgrade web charts/plain -f values/none.yaml"),
			helm("upgrade web charts/plain --set a.b[=1"),
		}},
		{name: "reused values", unchecked: true, steps: []step{
			helm("install web charts/plain -f values/first.yaml --set extra=kept"),
			writeFile{"charts/plain/values.yaml", "replicas: 0\nimage: {repository: registry.example/new, tag: \"2\"}\ngreeting: new default\nlist: [new]\nnested: {deep: {value: new, fresh: new}}\n"},
			helm("upgrade web charts/plain --reuse-values --set greeting=reused"), helm("get values web"), helm("get values web -a"),
			helm("upgrade web charts/plain --reset-then-reuse-values --set nested.deep.value=null"), helm("get values web"), helm("get values web -a"),
			helm("upgrade web charts/plain --reuse-values"), helm("get values web -a"),
			helm("upgrade web charts/plain --reuse-values --reset-then-reuse-values --set list=null"), helm("get values web -a"),
			helm("upgrade web charts/plain --reuse-values --reset-values --set extra=reset"), helm("get values web"),
			helm("upgrade web charts/umbrella --reuse-values --set database.enabled=false"), helm("get values web"),
			helm("upgrade web charts/umbrella --reset-then-reuse-values --set pages.ttl=9"), helm("get values web -a"),
		}},
		{name: "labels", unchecked: true, steps: []step{
			helm("install web charts/tiny --labels team=web,tier=front"),
			helm("upgrade web charts/tiny --labels tier=back,more=yes"), helm("list -l tier=back,more=yes -q"),
			helm("upgrade web charts/tiny -l tier=null,none=null"), helm("list -l team=web,!tier -q"),
			helm("upgrade web charts/tiny --labels name=me"), helm("upgrade web charts/tiny -l owner=null"),
			helm("rollback web 1"), helm("list -l tier=front -q"), helm("get metadata web -o json"),
			helm("upgrade web charts/tiny"), helm("history web"),
		}},
		{name: "dry runs", rules: []rule{debugHead}, steps: []step{
			helm("upgrade web charts/plain --dry-run"), helm("upgrade web charts/plain --dry-run -i"),
			helm("install web charts/plain"),
			helm("upgrade web charts/plain --dry-run --set greeting=dry"),
			helm("upgrade web charts/plain --dry-run=server --hide-secret --description", "only tried"),
			helm("upgrade web charts/plain --dry-run=client --hide-secret -o json"),
			helm("upgrade web charts/context --dry-run=true"),
			helm("upgrade web charts/context --dry-run=server --enable-dns"),
			helm("upgrade web charts/hooks --dry-run --hide-secret"),
			helm("upgrade web charts/plain --hide-secret"), helm("upgrade web charts/plain --hide-secret --dry-run=none"),
			helm("upgrade web charts/plain --dry-run=maybe"), helm("upgrade web charts/none --dry-run=maybe"),
			helm("upgrade web charts/crds --dry-run"), helm("upgrade web charts/crds --dry-run=server"),
			helm("upgrade web charts/faulty --dry-run --set how=unknown-field"),
			helm("upgrade web charts/faulty --dry-run --set how=unknown-field --disable-openapi-validation"),
			createObjects(foreignConfig), helm("upgrade web charts/tiny --dry-run"), helm("upgrade web charts/tiny --dry-run --take-ownership"),
			helm("upgrade web charts/plain --dry-run=none --set greeting=one"),
			helm("upgrade web charts/plain --dry-run=false --set greeting=two"),
			helm("upgrade web charts/plain --dry-run= --set greeting=three"),
			helm("history web"),
		}},
		{name: "limited history", unchecked: true, steps: []step{
			helm("install web charts/tiny"),
			helm("upgrade web charts/tiny --history-max 2"), helm("upgrade web charts/tiny --history-max 2"), helm("history web"),
			helm("upgrade web charts/faulty --set how=invalid-object --history-max 2"),
			helm("upgrade web charts/faulty --set how=invalid-object --history-max 1"), helm("history web"),
			helm("upgrade web charts/tiny").withEnv("HELM_MAX_HISTORY=3"), helm("history web"),
			helm("rollback web --history-max 2"), helm("rollback web 3"), helm("rollback web --history-max 0"), helm("history web"),
			helm("upgrade web charts/tiny --history-max -1"), helm("upgrade web charts/tiny --history-max 1"), helm("history web -o yaml"),
		}},
		{name: "fields that others set", unchecked: true, steps: []step{
			helm("install web charts/tiny"),
			mergePatch{objectPath("configmaps", "web"), theirs},
			helm("upgrade web charts/tiny"), helm("upgrade web charts/tiny --set value=ours"),
			mergePatch{objectPath("configmaps", "web"), theirs},
			helm("rollback web"), helm("install two charts/tiny"),
			mergePatch{objectPath("configmaps", "two"), theirs},
			helm("upgrade two charts/tiny --force"),
			mergePatch{objectPath("configmaps", "two"), theirs},
			helm("rollback two --force"), deleteObject(objectPath("configmaps", "two")),
			helm("upgrade two charts/tiny --force --set value=again"),
		}},
		{name: "custom resources and their definitions", steps: []step{
			helm("install web charts/crds --set gadget=false --skip-crds"),
			helm("upgrade web charts/crds --set gadget=true"), helm("upgrade web charts/crds"), helm("history web"),
			helm("upgrade two charts/crds -i --skip-crds"), helm("upgrade two charts/crds -i"),
			mergePatch{gadgetPath("two"), `{"metadata":{"labels":{"theirs":"yes"}},"spec":{"size":7}}`},
			helm("upgrade two charts/crds"), helm("upgrade two charts/crds --set gadget=true,other=1"), helm("rollback two 1"),
			checkObject(gadgetPath("two")), helm("get manifest two"), helm("upgrade two charts/crds --force"),
			helm("upgrade two charts/crds --set gadget=false"), helm("rollback two"), helm("history two"),
			helm("upgrade web charts/crds --set gadget=true"), helm("uninstall two"), deleteObject(definitionPath("gadgets")),
			helm("upgrade web charts/crds"), helm("upgrade web charts/tiny"), helm("history web"),
		}},
		{name: "resource policy", unchecked: true, steps: []step{
			helm("install web charts/keep --set policy=retain"),
			mergePatch{objectPath("configmaps", "web-plain"), `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`},
			helm("upgrade web charts/tiny"),
			helm("upgrade web charts/keep"),
			helm("rollback web 2"), helm("uninstall web"),
		}},
		{name: "ownership", unchecked: true, steps: []step{
			helm("install one charts/tiny"), helm("install web charts/shapes"),
			createObjects(foreignConfig),
			helm("upgrade web charts/tiny"),
			mergePatch{objectPath("configmaps", "web"), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`},
			helm("upgrade web charts/tiny"),
			mergePatch{objectPath("configmaps", "web"), `{"metadata":{"annotations":{"meta.helm.sh/release-name":"one","meta.helm.sh/release-namespace":"other"}}}`},
			helm("upgrade web charts/tiny"), helm("upgrade web charts/tiny --atomic"), helm("history web"),
			helm("upgrade web charts/tiny --take-ownership --set value=taken"),
			helm("upgrade web charts/shapes"), createObjects(foreignConfig),
			mergePatch{objectPath("configmaps", "web"), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"@NAMESPACE@"}}}`},
			helm("upgrade web charts/tiny"), helm("rollback web"), createObjects(foreignConfig), helm("rollback web"),
		}},
		{name: "post-renderer and hooks", unchecked: true, steps: []step{
			helm("install web charts/hooks --no-hooks"),
			helm("upgrade web charts/hooks --post-renderer ./scripts/drop.sh"), helm("get manifest web"), helm("get hooks web"),
			helm("upgrade web charts/plain --post-renderer ./scripts/upper.sh --post-renderer-args x --post-renderer-args y"),
			helm("upgrade web charts/plain --post-renderer ./scripts/fail.sh"),
			helm("upgrade web charts/plain --post-renderer ./scripts/nothing.sh"),
			helm("upgrade web charts/plain --post-renderer ./scripts/none.sh"), helm("get manifest web"), helm("history web"),
		}},
		{name: "subchart notes", unchecked: true, rules: []rule{sortedNotes, sortedLines}, steps: []step{
			helm("install web charts/umbrella"),
			helm("upgrade web charts/umbrella --render-subchart-notes --set pages.ttl=7"), helm("rollback web 2"), helm("get notes web"),
		}},
		{name: "debug", rules: []rule{debugHead, debugLines}, steps: []step{
			helm("install web charts/tiny"), helm("upgrade web charts/umbrella -o json --debug").withEnv("HELM_DEBUG=false"),
			helm("upgrade web charts/tiny").withEnv("HELM_DEBUG=true"),
		}},
		{name: "pods made anew", unchecked: true, steps: []step{
			helm("install web charts/shapes --set service=80,selects=web"), createObjects(pickedPod),
			helm("upgrade web charts/shapes --recreate-pods"), createObjects(pickedPod),
			helm("rollback web --recreate-pods"), createObjects(pickedPod),
			helm("rollback web"), helm("upgrade web charts/shapes --set configs=null"),
		}},
		{name: "waiting", unchecked: true, steps: []step{
			helm("install web charts/plain --wait --timeout 30s"),
			helm("upgrade web charts/plain --wait --set replicas=2 --timeout 30s"),
			helm("upgrade web charts/plain --wait=true --wait-for-jobs --timeout 30s --set replicas=1"),
			helm("rollback web --wait --wait-for-jobs --timeout 30s"), helm("upgrade web charts/plain --atomic --set greeting=x"),
			helm("upgrade web charts/plain --wait=F"), helm("upgrade web charts/plain --timeout soon"),
		}},
		{name: "things that were removed or were there twice", unchecked: true, steps: []step{
			helm("install web charts/shapes --set configs.two=second"),
			deleteObject(objectPath("configmaps", "web-one")), deleteObject(objectPath("configmaps", "web-two")),
			helm("upgrade web charts/shapes --set configs.three=third"), deleteObject(objectPath("configmaps", "web-three")),
			helm("rollback web"), deleteObject(objectPath("configmaps", "web-one")), helm("rollback web 2"),
			helm("upgrade web charts/faulty --set how=duplicate"), helm("history web"),
		}},
		{name: "another version of a kind, another kind", unchecked: true, steps: []step{
			helm("install web charts/shapes --set scaler=v1"), helm("upgrade web charts/shapes --set scaler=v2,most=5"),
			helm("rollback web"), helm("upgrade web charts/shapes --set scaler=v2,most=4 --force"), helm("upgrade web charts/plain"),
		}},
		{name: "a part that becomes a hook, and back", unchecked: true, steps: []step{
			helm("install web charts/shapes --set moving=part"), helm("upgrade web charts/shapes --set moving=pre-upgrade"),
			helm("upgrade web charts/shapes --set moving=post-upgrade"), helm("upgrade web charts/shapes --set moving=part"),
			helm("upgrade web charts/shapes --set moving=part --take-ownership"), helm("rollback web 3"), helm("rollback web 1"), helm("uninstall web"),
		}},
		{name: "many kinds, and lists in objects", steps: []step{
			writeFile{"charts/order/templates/partial.txt", ""},
			helm("install web charts/order"), helm("install two charts/plain"),
			helm("upgrade web charts/order --post-renderer ./scripts/drop.sh"), helm("upgrade web charts/order --force"),
			mergePatch{deploymentPath("two-web"), `{"spec":{"replicas":3,"template":{"metadata":{"annotations":{"theirs":"x"}},"spec":{"containers":[{"name":"web","image":"registry.example/web:1.16","env":[{"name":"THEIRS","value":"x"}]},{"name":"theirs","image":"registry.example/theirs"}]}}}}`},
			mergePatch{"/api/v1/namespaces/@NAMESPACE@/services/web-b", `{"spec":{"ports":[{"name":"a","port":80},{"name":"theirs","port":99}]}}`},
			writeFile{"charts/order/templates/b.yaml", changedOrder},
			helm("upgrade web charts/order"), helm("upgrade two charts/plain --set image.tag=2"),
			helm("rollback web 1"), helm("rollback two 1"), helm("upgrade two charts/plain --set image.tag=3 --force"),
			helm("uninstall web"),
		}},
		{name: "many of a kind", unchecked: true, steps: []step{
			writeFile{"many.yaml", "configs: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1}\n"},
			helm("install web charts/shapes"), createObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-k, labels: {app.kubernetes.io/managed-by: Helm}}\n"),
			helm("upgrade web charts/shapes -f many.yaml"), deleteObject(objectPath("configmaps", "web-k")),
			createObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-l}\n"), helm("upgrade web charts/shapes -f many.yaml"),
			helm("upgrade web charts/shapes -f many.yaml --take-ownership"),
			mergePatch{objectPath("configmaps", "web-a"), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}},"data":{"theirs":"yes"}}`}, deleteObject(objectPath("configmaps", "web-b")),
			helm("upgrade web charts/shapes -f many.yaml --set configs.c=2"),
			mergePatch{objectPath("configmaps", "web-d"), `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"someone"}}}`},
			helm("upgrade web charts/shapes"), helm("rollback web"), helm("uninstall web"),
		}},
		{name: "an account that may little", env: []string{"HELM_KUBEASUSER=limited"}, steps: []step{
			createObjects(limitedAccount), helm("install web charts/tiny --disable-openapi-validation"), helm("install web charts/tiny"),
			asAdmin("install two charts/tiny"), helm("upgrade two charts/shapes"), helm("history two"),
			helm("list -A"), helm("upgrade two charts/tiny -n kube-system"), helm("rollback two 1 --dry-run"), helm("uninstall two"),
		}},
		{name: "packages and places of charts", steps: []step{
			stockHelm("package charts/plain"),
			helm("upgrade web plain-0.3.1.tgz -i --version 9 --devel"), helm("upgrade web plain-0.3.1.tgz --version 9 --devel"),
			helm("upgrade web none/plain"), helm("upgrade web plain --repo http://127.0.0.1:1 --username a --password b --pass-credentials --insecure-skip-tls-verify"),
			helm("upgrade web plain --repo http://127.0.0.1:1 --cert-file none --key-file none --ca-file none"),
			helm("upgrade web oci://127.0.0.1:1/plain --plain-http"), helm("upgrade web plain-0.3.1.tgz --verify --keyring none"),
			writeFile{"charts/orphaned/Chart.yaml", "apiVersion: v2\nname: orphaned\nversion: 0.1.0\ndependencies:\n- name: tiny\n  version: 1.x\n  repository: file://../tiny\n"},
			helm("upgrade web charts/orphaned"), helm("upgrade web charts/orphaned --dependency-update"), helm("upgrade web charts/deprecated"),
		}, rules: []rule{pattern("digest", "a package's digest depends on its time", `(digest\\?"?: \\?"?sha256:)[0-9a-f]+`, "$1 DIGEST")}},
	})
}

// TestUpgradeInstall compares upgrades that can become installs.
func TestUpgradeInstall(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "new, there, uninstalled", steps: []step{
			helm("upgrade web charts/plain --install --labels a=b --description", "came by upgrade"),
			helm("upgrade web charts/plain -i --set greeting=again"),
			helm("uninstall web --keep-history"), helm("upgrade web charts/plain"), helm("upgrade web charts/plain -i -o json --hide-notes"),
			helm("history web"), helm("uninstall web"), helm("upgrade web charts/plain"),
			helm("upgrade web charts/umbrella -i -o yaml --render-subchart-notes --set tags.speed=false,database.enabled=false"),
			helm("upgrade two charts/hooks -i --no-hooks --dry-run --hide-secret"), helm("upgrade two charts/hooks -i --no-hooks"),
			helm("upgrade four charts/plain -i -f -").withStdin("greeting: from stdin\n"),
			helm("upgrade three charts/plain -i --post-renderer ./scripts/upper.sh --post-renderer-args x --wait --wait-for-jobs --timeout 30s"),
		}},
		{name: "into a new namespace", steps: []step{
			helm("upgrade web charts/tiny -i -n @NAMESPACE@-new"),
			helm("upgrade web charts/tiny -i -n @NAMESPACE@-new --create-namespace"),
			helm("upgrade web charts/tiny -i -n @NAMESPACE@-new --create-namespace --set value=again"),
			helm("list -n @NAMESPACE@-new -q"), deleteObject("/api/v1/namespaces/@NAMESPACE@-new"),
			helm("upgrade web charts/tiny --create-namespace -n @NAMESPACE@-other"),
		}},
		{name: "that fail", steps: []step{
			helm("upgrade web charts/faulty -i --set how=required"), helm("upgrade web charts/library -i"),
			helm("upgrade web charts/faulty -i --set how=invalid-object"), helm("upgrade web charts/faulty -i --set how=invalid-object"),
			helm("upgrade two charts/faulty -i --set how=invalid-object --atomic"), helm("history two"),
			helm("upgrade three charts/faulty -i --set how=unknown-field"), helm("upgrade three charts/faulty -i --set how=unknown-field --disable-openapi-validation"),
			helm("upgrade Not_A_Name charts/tiny -i"), helm("upgrade four charts/none -i"), helm("upgrade four charts/tiny -i --labels name=x"),
			helm("upgrade four charts/tiny -i --dry-run=maybe"), helm("upgrade four charts/tiny -i --hide-secret"),
			createObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: five}\n"), helm("upgrade five charts/tiny -i"),
			helm("upgrade five charts/tiny -i --take-ownership --force"), helm("history web"), helm("list -a -q"),
		}},
		{name: "schema", rules: []rule{sortedLines}, steps: []step{
			helm("upgrade web charts/schema -i --set port=none"), helm("upgrade web charts/schema -i --set port=none --skip-schema-validation"),
			helm("upgrade web charts/schema --set port=none"), helm("upgrade web charts/schema --set port=none --skip-schema-validation"),
		}},
	})
}
