// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestSummarizedWorkloads checks that the names of objects are in the order of the objects, and
// that a shortened list begins with workloads.
func TestSummarizedWorkloads(t *testing.T) {
	long := []string{"NetworkPolicy", "NetworkPolicy", "Secret", "ConfigMap", "Service", "Deployment", "StatefulSet", "Ingress"}
	for _, tt := range []struct {
		name  string
		kinds []string
		want  string
	}{
		{"short", long[4:], "Service/0, Deployment/1, StatefulSet/2, Ingress/3"},
		{"shortened", long, "Deployment/5, StatefulSet/6, NetworkPolicy/0, NetworkPolicy/1, Secret/2, ConfigMap/3 and 2 more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var planned []*sequencer.PlannedResource
			var list kube.ResourceList
			for i, kind := range tt.kinds {
				name := fmt.Sprint(i)
				planned = append(planned, &sequencer.PlannedResource{ID: sequencer.ID{Kind: kind, Name: name}})
				list = append(list, &Info{Name: name, Object: &unstructured.Unstructured{Object: map[string]any{"kind": kind}}})
			}
			if got := SummarizeResources(planned); got != tt.want {
				t.Errorf("resources: %s, want %s", got, tt.want)
			}
			if got := Summarize(list); got != tt.want {
				t.Errorf("objects: %s, want %s", got, tt.want)
			}
		})
	}
}
