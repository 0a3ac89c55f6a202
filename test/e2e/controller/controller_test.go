// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/harness"
)

// requestAPI is the API version of HelmRequests.
const requestAPI = "helm.sh/v1alpha1"

// env is a namespace whose HelmRequests a controller processes. Its Helm has the storage driver of the
// controller.
type env struct {
	*harness.Helm
	// system is the namespace of the service account of the controller.
	system string
	// kubeconfig is that of the controller.
	kubeconfig string
}

// newEnv returns an env without a controller. It has a service account "deployer", which can do
// everything in the namespace.
func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{Helm: harness.New(t)}
	e.setUp(t, "namespaces={"+e.Namespace+"}")
	return e
}

// newClusterWideEnv is like newEnv, but the controller has its permissions in all namespaces.
func newClusterWideEnv(t *testing.T) *env {
	t.Helper()
	e := &env{Helm: harness.New(t)}
	e.setUp(t, "replicas=1")
	return e
}

func (e *env) setUp(t *testing.T, value string) {
	t.Helper()
	e.Env = append(e.Env, "HELM_DRIVER=crd")
	e.system = e.Cluster.Namespace(t)
	harness.InstallDefinitions(t, e.Cluster)
	e.installAccess(t, value)
	e.createDeployer(t)
}

// createDeployer creates a service account that can do everything in the namespace.
func (e *env) createDeployer(t *testing.T) {
	t.Helper()
	e.CreateServiceAccount(t, "deployer", []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}})
}

// useCluster makes e use its Cluster, whose user is that of the controller, too.
func (e *env) useCluster(t *testing.T) {
	t.Helper()
	client, err := dynamic.NewForConfig(e.Cluster.Config())
	harness.NoError(t, err)
	e.Client, e.Namespace, e.system, e.kubeconfig = client, e.Cluster.Namespace(t), e.Cluster.Namespace(t), e.Cluster.Kubeconfig()
	e.Env = append(e.Env, "HELM_DRIVER=crd", "KUBECONFIG="+e.Cluster.Kubeconfig())
}

// start returns an env with a running controller, which has additional flags.
func start(t *testing.T, flags ...string) (*env, *harness.Process) {
	t.Helper()
	e := newEnv(t)
	p := e.startController(t, flags...)
	return e, p
}

// chartDir is the directory of the chart of the controller.
func chartDir(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(binaries.Root(tb), "cmd", "helm-controller", "chart")
}

// installAccess installs the definition of HelmRequest, and what gives the controller its permissions in the
// namespace, from the chart with a value. It writes a kubeconfig for the service account of the controller.
func (e *env) installAccess(t *testing.T, value string) {
	t.Helper()
	r := e.RunIn(e.system, "template", "helm-controller", chartDir(t), "--set", "userRoles.create=false,"+value,
		"--show-only", "templates/helm.sh_helmrequests.yaml", "--show-only", "templates/access.yaml")
	if r.ExitCode != 0 {
		t.Fatal(r.Stderr)
	}
	file := filepath.Join(t.TempDir(), "access.yaml")
	harness.NoError(t, os.WriteFile(file, []byte(r.Stdout), 0o600))
	apply := exec.CommandContext(t.Context(), e.Cluster.Kubectl(), "apply", "--server-side", "--force-conflicts", "-f", file)
	apply.Env = e.Env
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, kind := range []string{"clusterrole", "clusterrolebinding"} {
		t.Cleanup(func() { _, _ = e.Kubectl(t, "delete", kind, "helm-controller-"+e.system) })
	}
	definitions := e.Client.Resource(harness.GuessResource("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
	if _, err := harness.AwaitState(t.Context(), definitions, "helmrequests.helm.sh", harness.HasCondition("Established", "True", "")); err != nil {
		t.Fatal(err)
	}
	e.kubeconfig = e.writeKubeconfig(t)
}

// writeKubeconfig writes a kubeconfig for the service account of the controller.
func (e *env) writeKubeconfig(t *testing.T) string {
	t.Helper()
	token, err := e.Cluster.Client().CoreV1().ServiceAccounts(e.system).CreateToken(t.Context(), "helm-controller", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	harness.NoError(t, err)
	config, cluster := clientcmdapi.NewConfig(), e.Cluster.Config()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: cluster.Host, CertificateAuthorityData: cluster.CAData, CertificateAuthority: cluster.CAFile}
	config.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c", Namespace: e.system}
	config.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	harness.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// startController starts a controller. It is killed at the end of the test.
func (e *env) startController(t *testing.T, flags ...string) *harness.Process {
	t.Helper()
	args := append([]string{"--kubeconfig", e.kubeconfig, "--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--allow-local-chart-sources"}, flags...)
	p := e.StartBinary(t, binaries.Get(t).Controller, e.Namespace, args...)
	t.Cleanup(func() {
		if t.Failed() {
			p.Kill()
			t.Logf("log of the controller:\n%s", p.Wait(t).Stderr)
		}
	})
	return p
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	harness.NoError(t, err)
	defer func() { harness.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// requests returns a client for the HelmRequests of the namespace.
func (e *env) requests() dynamic.ResourceInterface { return e.Resource(requestAPI, "HelmRequest") }

// request creates a HelmRequest with a spec in YAML, which is indented by two spaces.
func (e *env) request(t *testing.T, name, spec string) {
	t.Helper()
	harness.NoError(t, e.Create(t.Context(), requestOf(name, spec)))
}

func requestOf(name, spec string) string {
	return "apiVersion: " + requestAPI + "\nkind: HelmRequest\nmetadata: {name: " + name + "}\nspec:\n  serviceAccountName: deployer\n" + spec + "\n"
}

// change changes a HelmRequest with a JSON merge patch of its spec.
func (e *env) change(t *testing.T, name, spec string) {
	t.Helper()
	harness.NoError(t, harness.MergePatch(t.Context(), e.requests(), name, `{"spec":`+spec+`}`))
}

// await waits until a HelmRequest is in a state for its current generation.
func (e *env) await(t *testing.T, name string, reached harness.State) *unstructured.Unstructured {
	t.Helper()
	var last *unstructured.Unstructured
	harness.Eventually(t, name+" is in the state", func() bool {
		o, err := e.requests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		last = o
		return harness.IntAt(o, "status.observedGeneration") == o.GetGeneration() && reached(o)
	})
	return last
}

// awaitReady waits until a HelmRequest is ready, for a reason if it is not empty.
func (e *env) awaitReady(t *testing.T, name, reason string) *unstructured.Unstructured {
	t.Helper()
	return e.await(t, name, func(o *unstructured.Unstructured) bool {
		return harness.HasCondition("Ready", "True", reason)(o) && !harness.HasCondition("Reconciling", "", "")(o)
	})
}

// awaitNotReady waits until a HelmRequest is not ready for a reason, with a message that contains want: on a busy
// machine, an earlier attempt may have failed in another way. stalled says whether it must be changed.
func (e *env) awaitNotReady(t *testing.T, name, reason string, stalled bool, want ...string) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Logf("the last message with the reason %s is: %s", reason, last)
		}
	}()
	o := e.await(t, name, func(o *unstructured.Unstructured) bool {
		if !harness.HasCondition("Ready", "False", reason)(o) {
			return false
		}
		last = messageOf(o)
		return containsAll(last, want)
	})
	if got := harness.HasCondition("Stalled", "True", "")(o); got != stalled {
		t.Errorf("%s: stalled is %t, want %t", reason, got, stalled)
	}
}

func containsAll(text string, want []string) bool {
	return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(text, part) })
}

// messageOf returns the message of the condition Ready.
func messageOf(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, ok := entry.(map[string]any); ok && c["type"] == "Ready" {
			message, _ := c["message"].(string)
			return message
		}
	}
	return ""
}

// delete deletes a HelmRequest, and waits until it is gone.
func (e *env) delete(t *testing.T, name string) {
	t.Helper()
	harness.NoError(t, e.requests().Delete(t.Context(), name, metav1.DeleteOptions{}))
	e.awaitGone(t, name)
}

func (e *env) awaitGone(t *testing.T, name string) {
	t.Helper()
	harness.Eventually(t, name+" is deleted", func() bool {
		_, err := e.requests().Get(t.Context(), name, metav1.GetOptions{})
		return err != nil
	})
}

// annotate sets the annotation helm.sh/reconcile of a HelmRequest.
func (e *env) annotate(t *testing.T, name, value string) {
	t.Helper()
	harness.NoError(t, harness.MergePatch(t.Context(), e.requests(), name, `{"metadata":{"annotations":{"helm.sh/reconcile":"`+value+`"}}}`))
}

// awaitEvent waits for an event of a HelmRequest. kind is Normal or Warning.
func (e *env) awaitEvent(t *testing.T, name, kind, reason, text string) {
	t.Helper()
	harness.Eventually(t, "an event "+reason+" of "+name, func() bool {
		events, err := e.Cluster.Client().CoreV1().Events(e.Namespace).List(t.Context(), metav1.ListOptions{})
		harness.NoError(t, err)
		return slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
			return event.InvolvedObject.Name == name && event.Type == kind && event.Reason == reason && strings.Contains(event.Message, text)
		})
	})
}

// chartFiles returns a chart with a ConfigMap "own", whose value is the value v, and more templates.
func chartFiles(version, more string) map[string]string {
	return map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: app\nversion: " + version + "\nannotations: {helm.sh/sequencing: enabled}\n",
		"values.yaml":        "v: default\n",
		"templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-own}\ndata: {v: {{ .Values.v | quote }}}\n" + more,
	}
}

// pack returns the package of the chart in a directory.
func pack(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := chartserver.Pack(dir)
	harness.NoError(t, err)
	return data
}

// storeChart stores the package of a chart in a ConfigMap, and returns the line of a spec that names it.
func (e *env) storeChart(t *testing.T, name string, files map[string]string) (line string) {
	t.Helper()
	return e.storePackage(t, name, pack(t, charts.WriteFiles(t, files)))
}

func (e *env) storePackage(t *testing.T, name string, data []byte) (line string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, BinaryData: map[string][]byte{"chart.tgz": data}}
	api := e.Cluster.Client().CoreV1().ConfigMaps(e.Namespace)
	_ = api.Delete(t.Context(), name, metav1.DeleteOptions{})
	_, err := api.Create(t.Context(), object, metav1.CreateOptions{})
	harness.NoError(t, err)
	return "  chart: {configMap: {name: " + name + ", key: chart.tgz}}\n"
}

// value returns the value v of the ConfigMap of a release; empty if it does not exist.
func (e *env) value(t *testing.T, release string) string {
	t.Helper()
	o, err := e.Cluster.Client().CoreV1().ConfigMaps(e.Namespace).Get(t.Context(), release+"-own", metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return o.Data["v"]
}

// history returns the statuses of the revisions of a release, as the command prints them.
func (e *env) history(t *testing.T, release string) string {
	t.Helper()
	var revisions []struct {
		Revision int
		Status   string
	}
	r := e.Run("history", release, "-o", "json")
	if r.ExitCode != 0 {
		return strings.TrimSpace(r.Stderr)
	}
	harness.NoError(t, json.Unmarshal([]byte(r.Stdout), &revisions))
	var statuses []string
	for _, revision := range revisions {
		statuses = append(statuses, revision.Status)
	}
	return strings.Join(statuses, " ")
}

func (e *env) expectHistory(t *testing.T, release, want string) {
	t.Helper()
	if got := e.history(t, release); got != want {
		t.Errorf("release %s has the revisions %q, want %q", release, got, want)
	}
}
