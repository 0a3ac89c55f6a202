// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// badChart is a chart that must be rejected before anything is changed, and the expected
// parts of the message.
type badChart struct {
	chart charts.Chart
	want  []string
}

// badCharts returns charts with errors, by a description of the error.
func badCharts() map[string]badChart {
	templates := func(text string) charts.Chart { return charts.Chart{Template: text} }
	subcharts := func(dependencies string) charts.Chart {
		chart := charts.Chart{Metadata: dependencies}
		for _, name := range []string{"database", "web"} {
			chart.Subcharts = append(chart.Subcharts, charts.Chart{Name: name, APIVersion: "v2", Objects: []charts.Object{{Name: name}}})
		}
		return chart
	}
	needing := func(podSpec string) string {
		return charts.Manifests(charts.Object{Kind: "Pod", Name: "p", Layer: "first", PodSpec: podSpec}, charts.Last("first"))
	}
	return map[string]badChart{
		"cycle among layers": {
			templates(charts.ConfigMap("a", "helm.sh/layer: a", "helm.sh/depends-on/layers: [b]") +
				charts.ConfigMap("b", "helm.sh/layer: b", "helm.sh/depends-on/layers: [a]")),
			[]string{"dependency cycle", `layer "a" depends on layer "b"`, `layer "b" depends on layer "a"`, "app/templates/all.yaml"},
		},
		"layer that depends on itself": {
			templates(charts.ConfigMap("a", "helm.sh/layer: a", "helm.sh/depends-on/layers: a")),
			[]string{"dependency cycle", `layer "a" depends on layer "a"`},
		},
		"cycle among subcharts": {
			subcharts("dependencies:\n- {name: database, version: 0.1.0, depends-on: [web]}\n- {name: web, version: 0.1.0, depends-on: [database]}\n"),
			[]string{"dependency cycle", "subchart database depends on subchart web", "app/Chart.yaml"},
		},
		"unknown subchart": {
			subcharts("dependencies:\n- {name: database, version: 0.1.0}\n- {name: web, version: 0.1.0, depends-on: [databse]}\n"),
			[]string{"app/Chart.yaml", `"databse"`, `did you mean "database"?`},
		},
		"two layers on one resource": {
			templates(charts.ConfigMap("a", "helm.sh/layer: a", "helm.sh/resource-group: b")),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "helm.sh/resource-group", "one layer"},
		},
		"malformed list": {
			templates(charts.ConfigMap("a", `helm.sh/depends-on/layers: '["a"'`)),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "layers", "JSON list"},
		},
		"malformed timeout": {
			templates(charts.ConfigMap("a", "helm.sh/layer: a", `helm.sh/readiness-timeout: "20"`)),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "helm.sh/readiness-timeout", `"20"`, "unit"},
		},
		"malformed mode": {
			charts.Chart{HookMode: "perhaps", Objects: []charts.Object{{Name: "a"}}},
			[]string{"app/Chart.yaml", "runHooksInParallel", `"perhaps"`, "otherChartsOnly"},
		},
		"mode in a template": {
			templates("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  runHooksInParallel: true\n"),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "runHooksInParallel", "Chart.yaml"},
		},
		"template that renders invalid YAML": {
			templates("a: b: c\n"),
			[]string{"YAML parse error on app/templates/all.yaml"},
		},
		"annotation that is a number": {
			templates(charts.ConfigMap("a", "helm.sh/layer: 5")),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "helm.sh/layer", "5", "quote"},
		},
		"annotation that is a boolean": {
			templates(charts.ConfigMap("a", "helm.sh/depends-on/layers: true")),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "helm.sh/depends-on/layers", "true", "quote"},
		},
		"ConfigMap that comes too late": {
			templates(needing("containers: [{name: c, image: i, envFrom: [{configMapRef: {name: late}}]}]") + charts.ConfigMap("late")),
			[]string{"Pod/p", "ConfigMap/late", "helm.sh/layer: first"},
		},
		"Secret that comes too late": {
			templates(needing("volumes: [{name: v, secret: {secretName: late}}]") +
				"---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: late\n"),
			[]string{"Pod/p", "Secret/late", "helm.sh/layer: first"},
		},
		"ServiceAccount that comes too late": {
			templates(needing("serviceAccountName: late") +
				"---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: late\n"),
			[]string{"Pod/p", "ServiceAccount/late", "helm.sh/layer: first"},
		},
		"Secret of a hook that runs too late": {
			templates("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: late}}]}]}\n" +
				"---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: late\n  annotations: {helm.sh/hook: post-install}\n"),
			[]string{"Pod/p", "Secret/late", "only the post-install hook creates", "make it a pre-install hook"},
		},
		"Namespace that comes too late": {
			templates("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: ordered-late\n  annotations: {helm.sh/layer: first}\n" + charts.Last("first").Manifest() +
				"---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ordered-late\n"),
			[]string{"ConfigMap/c", "Namespace/ordered-late", "put Namespace/ordered-late into a separate layer (helm.sh/layer)"},
		},
		"key that is almost one": {
			templates(charts.ConfigMap("a", "depends-on.helm.sh/layer: b")),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "depends-on.helm.sh/layer", "did you mean depends-on.helm.sh/layers?"},
		},
		"layer with a key that is almost one": {
			templates(charts.ConfigMap("a", "helm.sh/layers: b")),
			[]string{"ConfigMap/a", "did you mean helm.sh/layer?"},
		},
		"field that is almost one": {
			subcharts("dependencies:\n- {name: database, version: 0.1.0}\n- {name: web, version: 0.1.0, dependsOn: [database]}\n"),
			[]string{"app/Chart.yaml", `dependency "web": dependsOn: ["database"]: unknown key: did you mean depends-on?`},
		},
		"v2 chart that does not enable its order": {
			charts.Chart{APIVersion: "v2", Template: charts.ConfigMap("a", "helm.sh/layer: a")},
			[]string{"chart app declares an order that is ignored", "helm.sh/sequencing: enabled to app/Chart.yaml", "omit --wait=ordered"},
		},
		"longer wait than the whole operation may take": {
			templates(charts.ConfigMap("a", "helm.sh/layer: a", "helm.sh/readiness-timeout: 20m")),
			[]string{"app/templates/all.yaml", "ConfigMap/a", "20m", "--timeout"},
		},
		"need that is unmet, with definitions to install": {
			charts.Chart{
				Template: needing("containers: [{name: c, image: i, envFrom: [{configMapRef: {name: late}}]}]") + charts.ConfigMap("late"),
				CRDs:     charts.Definition("ordered.example", "Thing").Manifest(),
			},
			[]string{"Pod/p", "ConfigMap/late"},
		},
		"one object in two documents": {
			templates(charts.ConfigMap("a") + charts.ConfigMap("a")),
			[]string{"ConfigMap/a", "is defined twice"},
		},
	}
}

func TestInvalidChartsAreRejected(t *testing.T) {
	t.Parallel()
	for name, tt := range badCharts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			r := h.Run("install", "rel", tt.chart.Write(t), "--wait=ordered", "--timeout", "1m")
			h.ExpectRejected(t, r, tt.want...)
		})
	}
}

func TestInvalidEnvironmentIsRejected(t *testing.T) {
	t.Parallel()
	simple := charts.Chart{Objects: []charts.Object{{Name: "a", Layer: "a"}, {Name: "b", Layer: "b", DependsOn: "a"}}}
	t.Run("no cluster", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.Env = append(h.Env, "KUBECONFIG="+os.DevNull, "HELM_KUBEAPISERVER=http://127.0.0.1:1")
		h.ExpectRejected(t, h.Run("install", "rel", simple.Write(t), "--wait=ordered"), "Kubernetes cluster unreachable")
	})
	t.Run("no such namespace", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		r := h.RunIn("no-such-namespace", "install", "rel", simple.Write(t), "--wait=ordered")
		h.ExpectRejected(t, r, `namespaces "no-such-namespace" not found`)
	})
	t.Run("no permission to create one of the kinds", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.Allow(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"*"}},
			rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
		chart := charts.Write(t, charts.Object{Name: "first", Layer: "first"}, charts.Last("first"), charts.Object{Kind: "Deployment", Name: "web"})
		r := h.Run("install", "rel", chart, "--wait=ordered", "--kube-as-user", "limited-"+h.Namespace)
		h.ExpectRejected(t, r, "not allowed to create Deployment in namespace "+h.Namespace)
	})
}

// TestReferenceToExistingObject checks that a chart whose order cannot satisfy a reference is
// accepted if the referenced object already exists in the cluster.
func TestReferenceToExistingObject(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	_, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "late",
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			Annotations: map[string]string{"meta.helm.sh/release-name": "rel", "meta.helm.sh/release-namespace": h.Namespace},
		},
	}, metav1.CreateOptions{})
	harness.NoError(t, err)
	h.MustRun("install", "rel", badCharts()["ConfigMap that comes too late"].chart.Write(t), "--wait=ordered")
}

// TestReferenceToExistingHook checks that an upgrade accepts a reference to an object that a
// hook creates only afterwards if the object exists since an earlier revision.
func TestReferenceToExistingHook(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	hook := charts.Object{Kind: "Secret", Name: "late", Hook: "post-install,post-upgrade"}
	pod := charts.Object{Kind: "Pod", Name: "p", PodSpec: "containers: [{name: c, image: i, envFrom: [{secretRef: {name: late}}]}]"}
	chart := charts.Write(t, hook, pod)
	h.MustRun("install", "rel", charts.Write(t, hook, charts.Object{Name: "first"}), "--wait=ordered")
	h.MustRun("upgrade", "rel", chart, "--wait=ordered")
	harness.NoError(t, h.Cluster.Client().CoreV1().Secrets(h.Namespace).Delete(t.Context(), "late", metav1.DeleteOptions{}))
	h.ExpectFailure(t, []string{"upgrade", "rel", chart, "--wait=ordered"}, "Pod/p in unlayered resources of chart app", "needs Secret/late, which only the post-upgrade hook creates")
	h.MustRun("uninstall", "rel")
}

// TestManyDocuments checks that `helm plan` works for a chart of 5,000 manifests.
func TestManyDocuments(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.WriteTemplate(t, "{{ range $i := until 5000 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n"+
		"  name: c{{ $i }}\n  annotations:\n    helm.sh/layer: l{{ mod $i 50 }}\n"+
		"    {{- if gt (mod $i 50) 0 }}\n    helm.sh/depends-on/layers: [l{{ sub (mod $i 50) 1 }}]\n    {{- end }}\n{{ end }}\n")
	r := h.MustRun("dag", chart)
	if want := "app: 5000 resources in 50 nodes, 50 batches\n"; !strings.HasPrefix(r.Stdout, want) {
		t.Errorf("got %.80q, want %q", r.Stdout, want)
	}
}
