// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// TestTemplate compares what helm template prints and writes.
func TestTemplate(t *testing.T) {
	t.Parallel()
	table := []scenario{
		{name: "plain", steps: []step{
			helm("template charts/plain"),
			helm("template web charts/plain"),
			helm("template web ./charts/plain/ --namespace other"),
			helm("template --generate-name charts/plain"),
			helm("template -g web charts/plain"),
			helm("template charts/plain --name-template", "fixed-{{ lower \"NAME\" }}"),
			helm("template charts/plain --name-template", "{{ nothing }}"),
			helm("template web charts/plain --name-template name"),
			helm("template Not_A_Name charts/plain"),
			helm("template a-name-that-is-longer-than-the-fifty-three-characters-allowed charts/tiny"),
		}},
		{name: "values", steps: []step{
			helm("template web charts/plain -f values/first.yaml -f values/second.yaml"),
			helm("template web charts/plain -f values/first.yaml,values/second.yaml"),
			helm("template web charts/plain --values values/second.yaml --set greeting=set,nested.deep.value=9,list={a,b}"),
			helm("template web charts/plain --set-string extra=007 --set replicas=2"),
			helm("template web charts/plain --set-file extra=values/first.yaml"),
			helm("template web charts/plain --set-json", `extra={"a":[1,{"b":null}]}`),
			helm("template web charts/plain --set-literal", `extra=a,b\c=d`),
			helm("template web charts/plain --set image=null --set greeting=null"),
			helm("template web charts/plain -f -").withStdin("greeting: from stdin\n"),
			helm("template web charts/plain -f values/none.yaml"),
			helm("template web charts/plain -f values/broken.yaml"),
			helm("template web charts/plain --set a.b[=1"),
			helm("template web charts/plain --set-json a={"),
			helm("template web charts/plain --set-file a=none"),
			helm("template web charts/plain --set image=flat"),
		}},
		{name: "subcharts", steps: []step{
			helm("template web charts/umbrella"),
			helm("template web charts/umbrella --set database.enabled=false"),
			helm("template web charts/umbrella --set tags.speed=false,tags.storage=false"),
			helm("template web charts/umbrella --set tags.storage=true,global.region=south,pages.limits.memory=7"),
			helm("template web charts/umbrella --set database=flat"),
			helm("template web charts/legacy"),
			helm("template web charts/legacy --set child.enabled=false"),
		}},
		{name: "missing dependencies", steps: []step{
			helm("template web charts/orphaned"),
		}},
		{name: "what templates see", steps: []step{
			helm("template web charts/context"),
			helm("template web charts/context --is-upgrade"),
			helm("template web charts/context --kube-version 1.30.2 --api-versions example.com/v7"),
			helm("template web charts/context -a example.com/v6,example.com/v7 -a example.com/v8"),
			helm("template web charts/context --kube-version latest"),
			helm("template web charts/context --enable-dns"),
			helm("template web charts/future"),
			helm("template web charts/future --kube-version v1.99.3"),
		}, rules: []rule{
			pattern("address of localhost", "which of its addresses comes first is up to the resolver", `127\.0\.0\.1|::1`, "LOCALHOST"),
		}},
		{name: "order of kinds and documents", steps: []step{
			helm("template web charts/order"),
			helm("template web charts/keep"),
			helm("template web charts/silent"),
			helm("template web charts/silent --set something=true"),
		}},
		{name: "hooks", steps: []step{
			helm("template web charts/hooks"),
			helm("template web charts/hooks --no-hooks"),
			helm("template web charts/plain --skip-tests"),
			helm("template web charts/plain --no-hooks --skip-tests"),
		}},
		{name: "custom resource definitions", steps: []step{
			helm("template web charts/crds"),
			helm("template web charts/crds --include-crds"),
			helm("template web charts/crds --include-crds --skip-crds"),
			helm("template web charts/crds --include-crds -s crds/gadget.yaml"),
		}},
		{name: "show only", steps: []step{
			helm("template web charts/plain -s templates/service.yaml"),
			helm("template web charts/plain --show-only templates/service.yaml --show-only templates/config.yaml"),
			helm("template web charts/plain --show-only templates/*.yaml"),
			helm("template web charts/plain -s templates/tests/greets.yaml"),
			helm("template web charts/plain -s templates/none.yaml"),
			helm("template web charts/plain -s templates/service.yaml -s templates/none.yaml"),
			helm("template web charts/plain -s templates/NOTES.txt"),
			helm("template web charts/plain -s templates/[bad"),
			helm("template web charts/umbrella -s charts/*/templates/config.yaml"),
			helm("template web charts/umbrella -s charts/database/templates/*"),
			helm("template web charts/order -s templates/b.yaml -s templates/*/c.yaml"),
		}},
		{name: "output folder", steps: []step{
			helm("template web charts/plain --output-dir out"),
			helm("template web charts/hooks --output-dir out"),
			helm("template web charts/hooks --output-dir out"),
			helm("template web charts/umbrella --output-dir out/deep/down --release-name"),
			helm("template web charts/crds --output-dir out --include-crds"),
			helm("template web charts/silent --output-dir out"),
			helm("template web charts/plain --output-dir out2 -s templates/service.yaml"),
		}},
		{name: "charts that fail", steps: []step{
			helm("template web charts/faulty --set how=required"),
			helm("template web charts/faulty --set how=required,name=x"),
			helm("template web charts/faulty --set how=fail"),
			helm("template web charts/faulty --set how=nil"),
			helm("template web charts/faulty --set how=yaml"),
			helm("template web charts/faulty --set how=number"),
			helm("template web charts/faulty --set how=kind"),
			helm("template web charts/faulty --set how=duplicate"),
			helm("template web charts/faulty --set how=nameless"),
			helm("template web charts/faulty --set how=no-kind"),
			helm("template web charts/faulty"),
			helm("template web charts/library"),
			helm("template web charts/deprecated"),
			helm("template web charts/badyaml"),
		}},
		{name: "invalid output with debug", rules: []rule{debugHead, stackTraces}, steps: []step{
			helm("template web charts/faulty --set how=yaml --debug"),
			helm("template web charts/faulty --set how=fail --debug"),
			helm("template web charts/tiny --debug --devel"),
		}},
		{name: "schema", rules: []rule{sortedLines}, steps: []step{
			helm("template web charts/schema"),
			helm("template web charts/schema --set port=none"),
			helm("template web charts/schema --set port=0,mode=slow"),
			helm("template web charts/schema --set port=none --skip-schema-validation"),
		}},
		{name: "post-renderer", steps: []step{
			helm("template web charts/plain --post-renderer scripts/upper.sh"),
			helm("template web charts/plain --post-renderer ./scripts/upper.sh --post-renderer-args a --post-renderer-args b"),
			helm("template web charts/plain --post-renderer-args a --post-renderer ./scripts/upper.sh"),
			helm("template web charts/hooks --post-renderer ./scripts/drop.sh"),
			helm("template web charts/plain --post-renderer ./scripts/fail.sh"),
			helm("template web charts/plain --post-renderer ./scripts/nothing.sh"),
			helm("template web charts/plain --post-renderer ./scripts/none.sh"),
			helm("template web charts/plain --post-renderer="),
			helm("template web charts/plain --post-renderer ./scripts/drop.sh -s templates/service.yaml"),
			helm("template web charts/plain --post-renderer ./scripts/upper.sh --output-dir out"),
		}},
		{name: "spellings of the dry run", steps: []step{
			helm("template web charts/tiny --dry-run"),
			helm("template web charts/tiny --dry-run=client"),
			helm("template web charts/tiny --dry-run=none"),
			helm("template web charts/tiny --dry-run=maybe"),
			helm("template web charts/tiny --wait --wait-for-jobs --atomic --timeout 1s --replace --force"),
			helm("template web charts/tiny --wait=false"),
			helm("template web charts/tiny --labels a=b --description", "some words"),
			helm("template web charts/tiny --labels name=b"),
			helm("template web charts/tiny --create-namespace --disable-openapi-validation --take-ownership --hide-notes --render-subchart-notes"),
		}},
		{name: "packages", steps: []step{
			stockHelm("package charts/plain charts/umbrella"),
			helm("template web plain-0.3.1.tgz"),
			helm("template web umbrella-2.0.0.tgz --version 9"),
			writeFile{"broken.tgz", "this is no archive"},
			helm("template web broken.tgz"),
		}},
		{name: "dependency update", steps: []step{
			writeFile{"charts/orphaned/Chart.yaml", "apiVersion: v2\nname: orphaned\nversion: 0.1.0\ndependencies:\n- name: tiny\n  version: 1.x\n  repository: file://../tiny\n"},
			helm("template web charts/orphaned"),
			helm("template web charts/orphaned --dependency-update"),
		}, rules: []rule{
			pattern("digest", "a package's digest depends on its time", `(?m)(digest: sha256:)[0-9a-f]+`, "$1 DIGEST"),
		}},
	}
	for i := range table {
		table[i].noCluster = true
	}
	runScenarios(t, table)
}

// TestTemplateWithCluster compares rendering that sends requests to the cluster.
func TestTemplateWithCluster(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "validate", steps: []step{
			helm("template web charts/plain --validate"),
			helm("template web charts/context --validate"),
			helm("template web charts/context --dry-run=server"),
			helm("template web charts/faulty --set how=kind --validate"),
			helm("template web charts/faulty --set how=unknown-field --validate"),
			helm("template web charts/faulty --set how=unknown-field --validate --disable-openapi-validation"),
			helm("template web charts/crds --validate"),
			helm("template web charts/plain --validate --is-upgrade"),
			helm("template web charts/plain --validate --api-versions example.com/v7"),
		}},
		{name: "validate against what is there", steps: []step{
			createObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"),
			helm("template web charts/tiny --validate"),
			helm("template web charts/tiny"),
		}},
	})
}
