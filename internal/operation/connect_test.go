// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"io"
	"testing"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

// TestConnect checks, for each kind of Kubernetes client, whether objects are read from the
// cluster, and whether the operation or the client changes them.
func TestConnect(t *testing.T) {
	custom := &kubefake.PrintingKubeClient{Out: io.Discard}
	for _, c := range []struct {
		name              string
		client            kube.Interface
		getter, noCluster bool
		reads, changes    bool
		existing          int
	}{
		{name: "Helm's own", client: &kube.Client{}, getter: true, reads: true, changes: true, existing: 1},
		{name: "a custom client", client: custom, getter: true, reads: true, existing: 1},
		{name: "a custom client without a cluster", client: custom, existing: 2},
		{name: "a custom client that is used without its cluster", client: custom, getter: true, noCluster: true, existing: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := fakeapi.NewWritableAPI(t)
			api.Have(fakeapi.ConfigMap("a", ""))
			config := &helmaction.Configuration{Releases: historytest.MemoryStorage(t), KubeClient: c.client, Log: t.Logf}
			if c.getter {
				config.RESTClientGetter = api.Getter()
			}
			op, ctx, end := Start(t.Context(), config, StartOptions{NoCluster: c.noCluster})
			defer end()
			if op.Delegates() == c.changes {
				t.Errorf("it delegates: %v", op.Delegates())
			}
			list := fakeapi.Infos(t, fakeapi.ConfigMap("a", ""), fakeapi.ConfigMap("b", ""))
			existing, err := op.Cluster.Existing(ctx, list)
			if err != nil || len(existing) != c.existing || (existing[list[0]] != nil) != c.reads {
				t.Errorf("found %v, %v", existing, err)
			}
			if _, errs := op.Writer.Delete(ctx, list[:1], objectwriter.DeleteOptions{Propagation: metav1.DeletePropagationBackground}); len(errs) > 0 {
				t.Error(errs)
			}
			if (api.Count("delete") > 0) != c.changes || !c.reads && len(api.Calls()) > 0 {
				t.Errorf("requests %q", api.Requests())
			}
		})
	}
}
