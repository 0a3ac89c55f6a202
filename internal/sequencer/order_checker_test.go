// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// reference is a way in which one object can need another.
type reference struct {
	name string
	// from is the object that needs the other one, with %[1]s in place of its annotations.
	from string
	// to is the object that is needed.
	to string
}

const pod = `{apiVersion: v1, kind: Pod, metadata: {name: from, annotations: {%%[1]s}}, spec: %s}`

func inPod(name, spec, to string) reference {
	return reference{name, fmt.Sprintf(pod, spec), to}
}

const (
	configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: to}}`
	secret    = `{apiVersion: v1, kind: Secret, metadata: {name: to}}`
	service   = `{apiVersion: v1, kind: Service, metadata: {name: to}}`
	class     = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: to}}`
	claim     = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: to}}`
	account   = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: to}}`
	namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: to}}`
	crd       = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: to}, spec: {group: example.com, names: {kind: Widget}}}`
)

// inTemplate returns a reference from a workload whose pods use the service account.
func inTemplate(kind, path string) reference {
	spec := "{serviceAccountName: to}"
	for _, key := range strings.Fields(path) {
		spec = fmt.Sprintf("{%s: %s}", key, spec)
	}
	return reference{
		"service account of a " + kind,
		fmt.Sprintf(`{apiVersion: x/v1, kind: %s, metadata: {name: from, annotations: {%%[1]s}}, spec: %s}`, kind, spec), account,
	}
}

// references has an example of each kind of reference that the reference documentation
// lists.
var references = []reference{
	inPod("volume of a ConfigMap", `{volumes: [{configMap: {name: to}}]}`, configMap),
	inPod("volume of a Secret", `{volumes: [{secret: {secretName: to}}]}`, secret),
	inPod("projected volume of a ConfigMap", `{volumes: [{projected: {sources: [{configMap: {name: to}}]}}]}`, configMap),
	inPod("projected volume of a Secret", `{volumes: [{}, {projected: {sources: [{}, {secret: {name: to}}]}}]}`, secret),
	inPod("volume of a claim", `{volumes: [{persistentVolumeClaim: {claimName: to}}]}`, claim),
	inPod("class of an ephemeral volume", `{volumes: [{ephemeral: {volumeClaimTemplate: {spec: {storageClassName: to}}}}]}`, class),
	inPod("secret of a CSI volume", `{volumes: [{csi: {nodePublishSecretRef: {name: to}}}]}`, secret),
	inPod("envFrom a ConfigMap", `{containers: [{envFrom: [{configMapRef: {name: to}}]}]}`, configMap),
	inPod("envFrom a Secret", `{containers: [{}, {envFrom: [{}, {secretRef: {name: to}}]}]}`, secret),
	inPod("envFrom in an init container", `{initContainers: [{envFrom: [{secretRef: {name: to}}]}]}`, secret),
	inPod("valueFrom a ConfigMap", `{containers: [{env: [{name: A, valueFrom: {configMapKeyRef: {name: to, key: k}}}]}]}`, configMap),
	inPod("valueFrom a Secret", `{containers: [{env: [{name: A, valueFrom: {secretKeyRef: {name: to, key: k}}}]}]}`, secret),
	inPod("valueFrom in an init container", `{initContainers: [{env: [{valueFrom: {secretKeyRef: {name: to}}}]}]}`, secret),
	inPod("imagePullSecrets", `{imagePullSecrets: [{name: to}]}`, secret),
	inPod("serviceAccountName", `{serviceAccountName: to}`, account),
	inPod("serviceAccount, its older name", `{serviceAccount: to}`, account),
	inPod("priorityClassName", `{priorityClassName: to}`, `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: to}}`),
	inPod("runtimeClassName", `{runtimeClassName: to}`, `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: to}}`),
	inTemplate("Deployment", "spec template"),
	inTemplate("StatefulSet", "spec template"),
	inTemplate("DaemonSet", "spec template"),
	inTemplate("ReplicaSet", "spec template"),
	inTemplate("ReplicationController", "spec template"),
	inTemplate("Job", "spec template"),
	inTemplate("CronJob", "spec template spec jobTemplate"),
	{
		"class of a claim",
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: from, annotations: {%[1]s}}, spec: {storageClassName: to}}`, class,
	},
	{
		"class of a claim template",
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: from, annotations: {%[1]s}}, spec: {volumeClaimTemplates: [{spec: {storageClassName: to}}]}}`, class,
	},
	{
		"serviceName of a StatefulSet",
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: from, annotations: {%[1]s}}, spec: {serviceName: to}}`, service,
	},
	{
		"metadata.namespace",
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: from, namespace: to, annotations: {%[1]s}}}`, namespace,
	},
	{
		"definition of a custom resource",
		`{apiVersion: example.com/v1, kind: Widget, metadata: {name: from, annotations: {%[1]s}}}`, crd,
	},
	{
		"service of a validating webhook",
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: from, annotations: {%[1]s}}, webhooks: [{}, {clientConfig: {service: {name: to, namespace: default}}}]}`, service,
	},
	{
		"service of a mutating webhook",
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: from, annotations: {%[1]s}}, webhooks: [{clientConfig: {service: {name: to, namespace: default}}}]}`, service,
	},
	{
		"service of an APIService",
		`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: from, annotations: {%[1]s}}, spec: {service: {name: to, namespace: default}}}`, service,
	},
}

// annotated adds annotations to a template.
func annotated(t *testing.T, template, annotations string) sequencer.Resource {
	t.Helper()
	if !strings.Contains(template, "%[1]s") { // it is a needed object
		template = strings.Replace(template, "name: to", "name: to, annotations: {%[1]s}", 1)
	}
	return plans.ParseResource(t, fmt.Sprintf(template, annotations))
}

// TestUnmetNeeds checks every kind of reference to an object that is deployed too late, in
// time, or not at all.
func TestUnmetNeeds(t *testing.T) {
	for _, ref := range references {
		t.Run(ref.name, func(t *testing.T) {
			late := plans.Build(t, plans.V3("shop"), []sequencer.Resource{annotated(t, ref.from, "helm.sh/layer: first"), annotated(t, ref.to, "")})
			if len(late.Unmet) != 1 {
				t.Fatalf("in no layer: %d unmet needs, want one: %v", len(late.Unmet), late.Unmet)
			}
			need := late.Unmet[0]
			if need.From.ID.Name != "from" || need.To.ID.Name != "to" || need.FromNode.Layer != "first" || !need.ToNode.Unsequenced {
				t.Errorf("got %s", need)
			}
			for name, to := range map[string]string{
				"an earlier layer": "helm.sh/layer: base", "no layer of another release": "",
			} {
				resources := []sequencer.Resource{annotated(t, ref.from, "helm.sh/layer: first, depends-on.helm.sh/layers: base")}
				if to != "" {
					resources = append(resources, annotated(t, ref.to, to))
				}
				if p := plans.Build(t, plans.V3("shop"), resources); len(p.Unmet) > 0 {
					t.Errorf("in %s: %v", name, p.Unmet)
				}
			}
			same := plans.Build(t, plans.V3("shop"), []sequencer.Resource{annotated(t, ref.from, "helm.sh/layer: first"), annotated(t, ref.to, "helm.sh/layer: first")})
			if want := strings.Contains(ref.to, "CustomResourceDefinition"); (len(same.Unmet) > 0) != want {
				t.Errorf("in the same layer: %v, want one: %v", same.Unmet, want)
			}
		})
	}
}

// TestUnmetNeedsOfSeveralLayers checks that a single layer is proposed for an object that
// several layers need, and that the proposal solves all these needs.
func TestUnmetNeedsOfSeveralLayers(t *testing.T) {
	user := func(name, annotations string) sequencer.Resource {
		return annotated(t, strings.Replace(inPodWith("serviceAccountName: to"), "name: from", "name: "+name, 1), annotations)
	}
	tests := []struct {
		name         string
		second       string
		want, mended string
	}{
		{
			"one after the other", "helm.sh/layer: api, depends-on.helm.sh/layers: db",
			"annotate ServiceAccount/to with helm.sh/layer: db, or an earlier layer", "helm.sh/layer: db",
		},
		{
			"side by side", "helm.sh/layer: api",
			"put ServiceAccount/to into a separate layer (helm.sh/layer)", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			users := []sequencer.Resource{user("first", "helm.sh/layer: db"), user("second", tt.second)}
			p := plans.Build(t, plans.V3("shop"), append(slices.Clone(users), annotated(t, account, "")))
			if len(p.Unmet) != 2 {
				t.Fatalf("%d unmet needs, want two: %v", len(p.Unmet), p.Unmet)
			}
			for _, need := range p.Unmet {
				if !strings.Contains(need.String(), tt.want) {
					t.Errorf("does not say %q: %s", tt.want, need)
				}
			}
			if tt.mended == "" {
				return
			}
			if p := plans.Build(t, plans.V3("shop"), append(users, annotated(t, account, tt.mended))); len(p.Unmet) > 0 {
				t.Errorf("mended as proposed, there is still %v", p.Unmet)
			}
		})
	}
}

// TestOptionalReferencesAreNoNeeds checks that optional references are ignored.
func TestOptionalReferencesAreNoNeeds(t *testing.T) {
	for _, spec := range []string{
		`{volumes: [{configMap: {name: to, optional: true}}]}`,
		`{volumes: [{projected: {sources: [{configMap: {name: to, optional: true}}]}}]}`,
		`{containers: [{envFrom: [{configMapRef: {name: to, optional: true}}]}]}`,
		`{containers: [{env: [{valueFrom: {configMapKeyRef: {name: to, optional: true}}}]}]}`,
	} {
		for _, to := range []string{configMap, secret} {
			spec := spec
			if to == secret {
				spec = strings.NewReplacer("configMap: {name: to, optional: true}}]}}", "secret: {name: to, optional: true}}]}}",
					"configMap: {name:", "secret: {secretName:", "configMapRef", "secretRef", "configMapKeyRef", "secretKeyRef").Replace(spec)
			}
			template := fmt.Sprintf(pod, spec)
			p := plans.Build(t, plans.V3("shop"), []sequencer.Resource{annotated(t, template, "helm.sh/layer: first"), annotated(t, to, "")})
			if len(p.Unmet) > 0 {
				t.Errorf("%s: %v", spec, p.Unmet)
			}
			needed := strings.Replace(template, "optional: true", "optional: false", 1)
			p = plans.Build(t, plans.V3("shop"), []sequencer.Resource{annotated(t, needed, "helm.sh/layer: first"), annotated(t, to, "")})
			if len(p.Unmet) != 1 {
				t.Errorf("%s is not found when it is not optional", spec)
			}
		}
	}
}

// TestNoNeeds checks references that the order does not prevent from being met.
func TestNoNeeds(t *testing.T) {
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []sequencer.Resource
	}{
		{
			"what nothing waits for may wait for anything",
			plans.V3("shop"), []sequencer.Resource{annotated(t, inPodWith("serviceAccountName: to"), ""), annotated(t, account, "")},
		},
		{
			"side by side",
			plans.V3("shop"), []sequencer.Resource{
				annotated(t, inPodWith("serviceAccountName: to"), "helm.sh/layer: a"), annotated(t, account, "helm.sh/layer: b"), plans.Resource("shop ConfigMap/last"),
			},
		},
		{
			"an object of the same name in another namespace",
			plans.V3("shop"), []sequencer.Resource{
				annotated(t, inPodWith("serviceAccountName: to"), "helm.sh/layer: a"),
				plans.ParseResource(t, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: to, namespace: other}}`),
			},
		},
		{
			"an object of the same name and another kind",
			plans.V3("shop"), []sequencer.Resource{annotated(t, inPodWith("serviceAccountName: to"), "helm.sh/layer: a"), annotated(t, secret, "")},
		},
		{
			"the namespace that the release is in is there already",
			plans.V3("shop"), []sequencer.Resource{
				plans.Resource("shop ConfigMap/a layer=a ns=default"), plans.ParseResource(t, `{apiVersion: v1, kind: Namespace, metadata: {name: default}}`),
			},
		},
		{
			"an object that is of no namespace",
			plans.V3("shop"), []sequencer.Resource{
				plans.ParseResource(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, namespace: to, annotations: {helm.sh/layer: a}}}`),
				plans.ParseResource(t, namespace),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if p := plans.Build(t, tt.root, tt.resources); len(p.Unmet) > 0 {
				t.Errorf("got %v", p.Unmet)
			}
		})
	}
}

func inPodWith(spec string) string { return fmt.Sprintf(pod, "{"+spec+"}") }

// in moves a resource to another chart.
func in(chart string, r sequencer.Resource) sequencer.Resource {
	r.Chart, r.File = chart, chart+"/templates/all.yaml"
	return r
}

// TestMessagesOfUnmetNeeds checks that messages name both objects, both nodes and the
// correction.
func TestMessagesOfUnmetNeeds(t *testing.T) {
	fromLayer := annotated(t, inPodWith("serviceAccountName: to"), "helm.sh/layer: first")
	siblings := plans.WithDependencies(plans.V3("shop", plans.V3("a"), plans.V3("b")), plans.Dependency("a"), plans.Dependency("b", "a"))
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []sequencer.Resource
		want      string
	}{
		{
			"from a layer to what is in none",
			plans.V3("shop"), []sequencer.Resource{fromLayer, plans.ParseResource(t, account)},
			`Pod/from in layer "first" of chart shop (shop/templates/all.yaml) needs ServiceAccount/to, which is deployed after it, ` +
				`in unlayered resources of chart shop (shop/templates/all.yaml): ` +
				`annotate ServiceAccount/to with helm.sh/layer: first, or an earlier layer`,
		},
		{
			"from a layer to a later one",
			plans.V3("shop"), []sequencer.Resource{fromLayer, annotated(t, account, "helm.sh/layer: second, depends-on.helm.sh/layers: first")},
			`in layer "second" of chart shop (shop/templates/all.yaml): annotate ServiceAccount/to with helm.sh/layer: first, or`,
		},
		{
			"from a single resource",
			plans.V3("shop"), []sequencer.Resource{annotated(t, inPodWith("serviceAccountName: to"), "depends-on.helm.sh/layers: gone"), plans.ParseResource(t, account)},
			`Pod/from in Pod/from of chart shop (shop/templates/all.yaml) needs ServiceAccount/to, which is deployed after it, ` +
				`in unlayered resources of chart shop (shop/templates/all.yaml): annotate ServiceAccount/to with helm.sh/layer and a layer that Pod/from depends on`,
		},
		{
			"from a subchart to its parent",
			plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V3("a")), plans.Dependency("a")), "a"), []sequencer.Resource{in("shop/a", fromLayer), plans.ParseResource(t, account)},
			`(shop/templates/all.yaml): move the ServiceAccount to chart shop/a, or remove the dependency on that chart from depends-on.helm.sh/subcharts of chart shop`,
		},
		{
			"from one subchart to a later one",
			siblings, []sequencer.Resource{in("shop/a", fromLayer), in("shop/b", plans.ParseResource(t, account))},
			`which is deployed after it, in unlayered resources of chart shop/b (shop/b/templates/all.yaml): ` +
				`reverse the order of charts shop/a and shop/b, which is declared by depends-on in Chart.yaml, or move the ServiceAccount`,
		},
		{
			"a definition in the same layer is not served in time",
			plans.V3("shop"), []sequencer.Resource{
				plans.ParseResource(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, annotations: {helm.sh/layer: l}}}`), annotated(t, crd, "helm.sh/layer: l"),
			},
			`Widget/w in layer "l" of chart shop (shop/templates/all.yaml) needs CustomResourceDefinition/to, which is deployed at the same time (shop/templates/all.yaml): ` +
				`put CustomResourceDefinition/to into a separate layer (helm.sh/layer), and list that layer in depends-on.helm.sh/layers of Widget/w`,
		},
		{
			"a definition beside it may not be served in time",
			plans.WithDependencies(plans.V3("shop", plans.V3("a"), plans.V3("b")), plans.Dependency("a"), plans.Dependency("b")), []sequencer.Resource{
				in("shop/a", plans.ParseResource(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}`)), in("shop/b", plans.ParseResource(t, crd)),
			},
			`needs CustomResourceDefinition/to, which is not ordered before it, in unlayered resources of chart shop/b (shop/b/templates/all.yaml): ` +
				`make chart shop/a depend on chart shop/b, with depends-on or depends-on.helm.sh/subcharts in Chart.yaml, or move the CustomResourceDefinition`,
		},
		{
			"a namespace of the chart that it is in",
			plans.V3("shop", plans.V3("a")), []sequencer.Resource{in("shop/a", plans.Resource("shop ConfigMap/c ns=to")), plans.ParseResource(t, namespace)},
			`which is not ordered before it, in unlayered resources of chart shop (shop/templates/all.yaml): ` +
				`a chart cannot depend on its parent: move the Namespace to chart shop/a, or to a chart that it depends on`,
		},
		{
			"a namespace beside it",
			plans.V3("shop"), []sequencer.Resource{plans.Resource("shop ConfigMap/c ns=to layer=a"), annotated(t, namespace, "helm.sh/layer: b")},
			`ConfigMap/c in layer "a" of chart shop (shop/templates/c.yaml) needs Namespace/to, which is not ordered before it, in layer "b" of chart shop (shop/templates/all.yaml): ` +
				`put Namespace/to into a separate layer (helm.sh/layer), and list that layer in depends-on.helm.sh/layers of ConfigMap/c`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plans.Build(t, tt.root, tt.resources)
			if len(p.Unmet) != 1 || !strings.Contains(p.Unmet[0].String(), tt.want) {
				t.Fatalf("got %v\nwant %s", p.Unmet, tt.want)
			}
			err := &sequencer.UnmetNeedsError{Needs: p.Unmet}
			if want := "the order cannot be satisfied:\n  " + p.Unmet[0].String(); err.Error() != want {
				t.Errorf("got %q", err)
			}
		})
	}
}

// TestUnmetNeedsAreNamedOnce checks two references from one object to another.
func TestUnmetNeedsAreNamedOnce(t *testing.T) {
	p := plans.Build(t, plans.V3("shop"), []sequencer.Resource{
		annotated(t, inPodWith("imagePullSecrets: [{name: to}], volumes: [{secret: {secretName: to}}]"), "helm.sh/layer: first"), plans.ParseResource(t, secret),
	})
	if len(p.Unmet) != 1 {
		t.Errorf("got %v", p.Unmet)
	}
}

// TestLateBindings checks the warning about role bindings that are deployed after the
// workload that uses their service account.
func TestLateBindings(t *testing.T) {
	binding := func(kind, subject string) string {
		return fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {name: b, annotations: {%%[1]s}}, subjects: [{kind: User, name: to}, %s]}`, kind, subject)
	}
	const inNamespace, anywhere = `{kind: ServiceAccount, name: to}`, `{kind: ServiceAccount, name: to, namespace: default}`
	tests := []struct {
		name, spec, binding, annotations string
		warns                            bool
	}{
		{"RoleBinding", "serviceAccountName: to", binding("RoleBinding", inNamespace), "", true},
		{"RoleBinding that names the namespace", "serviceAccount: to", binding("RoleBinding", anywhere), "", true},
		{"ClusterRoleBinding", "serviceAccountName: to", binding("ClusterRoleBinding", anywhere), "", true},
		{"the default account", "x: y", binding("RoleBinding", `{kind: ServiceAccount, name: default}`), "", true},
		{"in the same layer", "serviceAccountName: to", binding("RoleBinding", inNamespace), "helm.sh/layer: first", false},
		{"another account", "serviceAccountName: other", binding("RoleBinding", inNamespace), "", false},
		{"an account of another namespace", "serviceAccountName: to", binding("RoleBinding", `{kind: ServiceAccount, name: to, namespace: x}`), "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plans.Build(t, plans.V3("shop"), []sequencer.Resource{annotated(t, inPodWith(tt.spec), "helm.sh/layer: first"), annotated(t, tt.binding, tt.annotations)})
			if len(p.Unmet) > 0 {
				t.Errorf("a binding is no need: %v", p.Unmet)
			}
			if !tt.warns {
				plans.ExpectWarnings(t, p)
				return
			}
			plans.ExpectWarnings(t, p, `/b in unlayered resources of chart shop (shop/templates/all.yaml) is deployed after Pod/from in layer "first" of chart shop (shop/templates/all.yaml), whose service account it grants permissions to`)
		})
	}
}
