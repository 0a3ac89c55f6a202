// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookobjects

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestWhyKeep checks which objects are deleted, given the UIDs that are recorded.
func TestWhyKeep(t *testing.T) {
	const name, uid = "a", "1"
	id := sequencer.ID{Kind: "ConfigMap", Namespace: "test", Name: name}
	marks := map[string]string{"meta.helm.sh/release-name": "rel", "meta.helm.sh/release-namespace": "test"}
	otherMarks := map[string]string{"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": "test"}
	keep := map[string]string{kube.ResourcePolicyAnno: "keep"}
	for _, tt := range []struct {
		name        string
		uids        []string
		annotations map[string]string
		kept        bool
		want        string // a part of the reason
	}{
		{name: "the recorded UID", uids: []string{uid}},
		{name: "one of the recorded UIDs", uids: []string{"0", uid}},
		{name: "another UID", uids: []string{"0"}, annotations: marks, want: "its UID differs"},
		{name: "no UID is recorded, but it is marked", uids: []string{""}, annotations: marks},
		{name: "no UID is recorded, and it is not marked", uids: []string{""}, want: "its UID differs"},
		{name: "another release has adopted it", uids: []string{uid}, annotations: otherMarks, want: "it now belongs to release other"},
		{name: "it has a resource policy", uids: []string{uid}, annotations: keep, want: "resource policy"},
		{name: "the hook has a resource policy", uids: []string{uid}, kept: true, want: "resource policy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: object.Reference("v1", "ConfigMap", "test", name)}
			live.SetUID(types.UID(uid))
			live.SetAnnotations(tt.annotations)
			live.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
			w := history.NewStore(nil, t.Logf).NewWriter(&release.Release{Name: "rel", Namespace: "test"})
			r := &Removal{writer: w, uids: map[sequencer.ID][]string{id: tt.uids}, kept: map[sequencer.ID]bool{id: tt.kept}}
			if got := r.whyKeep(live); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
