// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/certificates"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// webhook is an admission webhook of another client, which is called for writes in the
// namespace of the test.
type webhook struct {
	// answer returns the response to a request, or nil to allow it.
	answer func(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	fails  registration.FailurePolicyType
	// mutates is true for a mutating webhook, false for a validating one.
	mutates bool
}

// denyRequest returns an answer function that denies an operation on objects with a name.
func denyRequest(operation admissionv1.Operation, name string) func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Operation != operation || r.Name != name {
			return nil
		}
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "the policy of the house does not like " + name, Code: http.StatusForbidden}}
	}
}

// hangRequest returns an answer function that never answers requests for objects with a name.
func hangRequest(name string) func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return func(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Name == name {
			<-ctx.Done()
		}
		return nil
	}
}

// mutateObject is an answer function that adds a label to all objects, and a sidecar to
// Deployments.
func mutateObject(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if r.Operation == admissionv1.Delete {
		return nil
	}
	patch := `[{"op":"add","path":"/metadata/labels/house","value":"ours"}`
	if r.Kind.Kind == "Deployment" && !strings.Contains(string(r.Object.Raw), "sidecar") {
		patch += `,{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"sidecar","image":"s"}}`
	}
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind, Patch: []byte(patch + "]")}
}

// serve registers the webhook and returns a function that removes it.
func (w webhook) serve(tb testing.TB, h *harness.Helm) (remove func()) {
	tb.Helper()
	config, files, err := certificates.Make(tb.TempDir(), false)
	harness.NoError(tb, err)
	ca, err := os.ReadFile(files.CA)
	harness.NoError(tb, err)
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	harness.NoError(tb, err)
	server := &http.Server{TLSConfig: config, Handler: w, ReadHeaderTimeout: time.Minute}
	over := make(chan struct{})
	go func() { defer close(over); _ = server.ServeTLS(listener, "", "") }()
	tb.Cleanup(func() { _ = server.Close(); <-over })

	url := "https://" + listener.Addr().String() + "/admit"
	client := registration.WebhookClientConfig{URL: &url, CABundle: ca}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": h.Namespace}}
	none, timeout := registration.SideEffectClassNone, int32(1)
	rules := []registration.RuleWithOperations{{
		Operations: []registration.OperationType{registration.Create, registration.Update, registration.Delete},
		Rule:       registration.Rule{APIGroups: []string{"", "apps"}, APIVersions: []string{"v1"}, Resources: []string{"configmaps", "deployments"}},
	}}
	api := h.Cluster.Client().AdmissionregistrationV1()
	meta := metav1.ObjectMeta{Name: h.Namespace + ".people.example"}
	ctx := context.WithoutCancel(tb.Context())
	if w.mutates {
		_, err = api.MutatingWebhookConfigurations().Create(ctx, &registration.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []registration.MutatingWebhook{{
			Name: "house.people.example", ClientConfig: client, Rules: rules, FailurePolicy: &w.fails, NamespaceSelector: here,
			SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		}}}, metav1.CreateOptions{})
	} else {
		_, err = api.ValidatingWebhookConfigurations().Create(ctx, &registration.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []registration.ValidatingWebhook{{
			Name: "house.people.example", ClientConfig: client, Rules: rules, FailurePolicy: &w.fails, NamespaceSelector: here,
			SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		}}}, metav1.CreateOptions{})
	}
	harness.NoError(tb, err)
	var once sync.Once
	unregister := func() {
		once.Do(func() {
			var err error
			if w.mutates {
				err = api.MutatingWebhookConfigurations().Delete(ctx, meta.Name, metav1.DeleteOptions{})
			} else {
				err = api.ValidatingWebhookConfigurations().Delete(ctx, meta.Name, metav1.DeleteOptions{})
			}
			if err != nil {
				tb.Error(err)
			}
		})
	}
	tb.Cleanup(unregister)
	awaitWebhook(tb, h, true)
	return func() { unregister(); awaitWebhook(tb, h, false) }
}

func (w webhook) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(out, "no review", http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{Allowed: true}
	if review.Request.Name == "probe" {
		response = &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "it is asked"}}
	} else if answer := w.answer(in.Context(), review.Request); answer != nil {
		response = answer
	}
	response.UID = review.Request.UID
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(out).Encode(review)
}

// awaitWebhook waits until the API server calls the webhook, or if there is false, until it no
// longer does.
func awaitWebhook(tb testing.TB, h *harness.Helm, there bool) {
	tb.Helper()
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	harness.Eventually(tb, "the notice of the webhook", func() bool {
		_, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Create(tb.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		asked := err != nil && strings.Contains(err.Error(), "it is asked")
		return asked == there
	})
}

// TestAdmissionWebhooks checks operations whose objects an admission webhook denies, delays or
// changes.
func TestAdmissionWebhooks(t *testing.T) {
	t.Parallel()
	house := []string{`admission webhook "house.people.example" denied the request: the policy of the house does not like `}
	upgrade := func(dir string) []string { return []string{"upgrade", "rel", dir, "--wait=ordered"} }
	more := charts.Object{Name: "top", Layer: "top", DependsOn: "last"}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"denies, install": func(t *testing.T, h *harness.Helm) {
			remove := webhook{answer: denyRequest(admissionv1.Create, "last"), fails: registration.Fail}.serve(t, h)
			h.ExpectFailure(t, []string{"install", "rel", charts.ThreeLayers(t, "1", more), "--wait=ordered"}, append(house, "ConfigMap/last", "could not be applied", "app:top")...)
			expectFailed(t, h, "failed", house[0]+"last")
			h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app")
			remove()
			h.Repair(t, append(upgrade(charts.ThreeLayers(t, "1", more)), "--install")...)
			h.CheckOrder(t, "rel", h.ReadTrace(t))
		},
		"denies, upgrade that is atomic": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			webhook{answer: denyRequest(admissionv1.Create, "top"), fails: registration.Fail}.serve(t, h)
			h.ExpectFailure(t, append(upgrade(charts.ThreeLayers(t, "2", more)), "--atomic"), append(house, "ConfigMap/top", "has been rolled back")...)
			h.ExpectDeployed(t)
			h.ExpectValues(t, "1")
		},
		"denies, rollback": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.MustRun(upgrade(charts.ThreeLayers(t, "2"))...)
			remove := webhook{answer: denyRequest(admissionv1.Update, "last"), fails: registration.Fail}.serve(t, h)
			h.ExpectFailure(t, []string{"rollback", "rel"}, append(house, "last")...)
			expectFailed(t, h, "superseded deployed failed", house[0]+"last")
			remove()
			h.Repair(t, "rollback", "rel", "1")
			h.ExpectValues(t, "1")
		},
		"denies deletion, uninstall": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1", more), "--wait=ordered")
			remove := webhook{answer: denyRequest(admissionv1.Delete, "last"), fails: registration.Fail}.serve(t, h)
			h.ExpectFailure(t, []string{"uninstall", "rel"}, append(house, "last", "not deleted (blocked by this failure): ")...)
			expectFailed(t, h, "failed", house[0]+"last")
			h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last")
			remove()
			h.Repair(t, "uninstall", "rel")
		},
		"denies deletion, upgrade": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1", more), "--wait=ordered")
			remove := webhook{answer: denyRequest(admissionv1.Delete, "top"), fails: registration.Fail}.serve(t, h)
			h.ExpectFailure(t, upgrade(charts.ThreeLayers(t, "2")), append(house, "top", "prune resources no longer in the chart")...)
			expectFailed(t, h, "deployed failed", house[0]+"top")
			remove()
			h.Repair(t, upgrade(charts.ThreeLayers(t, "2"))...)
		},
		"mutates": func(t *testing.T, h *harness.Helm) {
			webhook{answer: mutateObject, fails: registration.Fail, mutates: true}.serve(t, h)
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			for _, id := range []string{"ConfigMap/first", "Deployment/app"} {
				if o := h.Get(t, id); o.GetLabels()["house"] != "ours" {
					t.Fatalf("%s was not mutated: %v", id, o.Object)
				}
			}
			for _, args := range [][]string{upgrade(charts.ThreeLayers(t, "1")), {"rollback", "rel", "1"}} {
				h.Started = harness.Now()
				h.MustRun(args...)
				if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(harness.ChangeVerbs...); len(list) > 0 {
					t.Errorf("%v changed %q", args, list)
				}
			}
			h.Repair(t, upgrade(charts.ThreeLayers(t, "2"))...)
			h.ExpectValues(t, "2")
			h.Repair(t, "uninstall", "rel")
		},
		"does not answer, and that counts": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			remove := webhook{answer: hangRequest("last"), fails: registration.Fail}.serve(t, h)
			h.ExpectFailure(t, append(upgrade(charts.ThreeLayers(t, "2")), "--timeout", "40s"), "ConfigMap/last", `failed calling webhook "house.people.example"`)
			expectFailed(t, h, "deployed failed", "last", "house.people.example")
			remove()
			h.Repair(t, upgrade(charts.ThreeLayers(t, "2"))...)
			h.ExpectValues(t, "2")
		},
		"does not answer, and that does not count": func(t *testing.T, h *harness.Helm) {
			webhook{answer: hangRequest("last"), fails: registration.Ignore}.serve(t, h)
			h.Repair(t, "install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.CheckOrder(t, "rel", h.ReadTrace(t))
		},
		"does not answer, uninstall": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			remove := webhook{answer: hangRequest("last"), fails: registration.Fail}.serve(t, h)
			h.ExpectFailure(t, []string{"uninstall", "rel", "--timeout", "40s"}, `failed calling webhook "house.people.example"`, "last")
			remove()
			h.Repair(t, "uninstall", "rel")
		},
	})
}
