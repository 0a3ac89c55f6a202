// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply checks that internal/cluster changes objects on an API server in the same way
// as Helm's client, kube.Client.
package apply

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/objectwriter"
	testcluster "github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// TestApplyMatchesHelmUpdate checks that Apply leads to the same objects on the API server as
// the method Update of Helm's client, or to the same error.
func TestApplyMatchesHelmUpdate(t *testing.T) {
	group := defined(t)
	for _, c := range parityCases() {
		t.Run(c.name, func(t *testing.T) {
			helms, ours := newSite(t, group), newSite(t, group)
			if strings.Contains(c.after, "CustomResourceDefinition") {
				helms, ours = newSite(t, ""), newSite(t, "")
			}
			helms.prepare(c)
			ours.prepare(c)
			original, target := helms.lists(c)
			update := helms.kube.Update
			if c.threeWay {
				update = helms.kube.UpdateThreeWayMerge
			}
			// Unlike Apply, Helm's client does not retry after a conflict with a controller.
			helmsErr := retry.RetryOnConflict(retry.DefaultRetry, func() error {
				_, err := update(original, target, c.force)
				return err
			})
			helmsHeld := helms.clean(target[0].Object)

			original, target = ours.lists(c)
			applied, oursErr := objectwriter.NewRequestWriter(cluster.Connect(ours.getter, t.Logf)).
				Apply(t.Context(), target, objectwriter.ApplyOptions{Originals: original, Force: c.force, ThreeWay: c.threeWay})
			oursHeld := ours.clean(applied.States.Of(target[0]).Object)

			if want, got := helms.text(helmsErr), ours.text(oursErr); got != want {
				t.Errorf("error\n%s\nwant\n%s", got, want)
			}
			if helmsErr == nil && oursHeld != helmsHeld {
				t.Errorf("held after it:\n%s\nwant\n%s", oursHeld, helmsHeld)
			}
			if want, got := helms.live(c), ours.live(c); got != want {
				t.Errorf("on the server:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// defined creates the CRD of the kind Widget in a new group, and returns the group.
func defined(t *testing.T) string {
	s := newSite(t, "")
	s.create(definition)
	s.await()
	return s.group
}

// site is a namespace with Helm's client for it, and with the group of the kind Widget.
type site struct {
	testing.TB
	namespace string
	group     string
	getter    *genericclioptions.ConfigFlags
	kube      *kube.Client
}

// newSite creates a namespace and returns its site. If group is empty, it creates a CRD too.
func newSite(t testing.TB, group string) *site {
	shared := testcluster.Shared(t)
	namespace, kubeconfig, cache := shared.Namespace(t), shared.Kubeconfig(), t.TempDir()
	getter := genericclioptions.NewConfigFlags(true)
	getter.KubeConfig, getter.Namespace, getter.CacheDir = &kubeconfig, &namespace, &cache
	client := kube.New(getter)
	client.Namespace = namespace
	if group == "" {
		group = namespace + ".example.com"
	}
	return &site{TB: t, namespace: namespace, group: group, getter: getter, kube: client}
}

func (s *site) build(manifest string) kube.ResourceList {
	s.Helper()
	list, err := s.kube.Build(strings.NewReader(s.fill(manifest)), false)
	if err != nil {
		s.Fatal(err)
	}
	return list
}

func (s *site) fill(manifest string) string {
	return strings.NewReplacer("NS", s.namespace, "GROUP", s.group).Replace(manifest)
}

// empty is the inverse of fill: it replaces the namespace and the group in a text by NS and
// GROUP.
func (s *site) empty(text string) string {
	return strings.NewReplacer(s.group, "GROUP", s.namespace, "NS").Replace(text)
}

// prepare deploys the state before the change.
func (s *site) prepare(c parityCase) {
	s.Helper()
	if c.before == "" {
		return
	}
	s.create(c.before)
	if c.foreign == "" {
		return
	}
	for _, info := range s.build(c.before) {
		helper := resource.NewHelper(info.Client, info.Mapping).WithFieldManager("somebody")
		if _, err := helper.Patch(info.Namespace, info.Name, types.MergePatchType, []byte(c.foreign), nil); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *site) create(manifest string) {
	s.Helper()
	list := s.build(manifest)
	if _, err := s.kube.Create(list); err != nil {
		s.Fatal(err)
	}
	if !list[0].Namespaced() {
		s.Cleanup(func() {
			if _, errs := s.kube.Delete(list); errs != nil {
				s.Error(errs)
			}
		})
	}
}

// await waits until the API server serves the kind Widget.
func (s *site) await() {
	s.Helper()
	dc, err := s.getter.ToDiscoveryClient()
	if err != nil {
		s.Fatal(err)
	}
	mapper, err := s.getter.ToRESTMapper()
	if err != nil {
		s.Fatal(err)
	}
	for s.Context().Err() == nil {
		dc.Invalidate()
		meta.MaybeResetRESTMapper(mapper)
		list, err := s.kube.Build(strings.NewReader(s.fill(widget)), false)
		if err == nil {
			if _, err = resource.NewHelper(list[0].Client, list[0].Mapping).List(s.namespace, "", &metav1.ListOptions{}); err == nil {
				return
			}
		}
	}
	s.Fatal("the kind is not served")
}

func (s *site) lists(c parityCase) (original, target kube.ResourceList) {
	s.Helper()
	if c.before != "" && !c.adopted {
		original = s.build(c.before)
	}
	return original, s.build(c.after)
}

func (s *site) live(c parityCase) string {
	s.Helper()
	info := s.build(c.after)[0]
	if err := info.Get(); err != nil {
		return s.text(err)
	}
	return s.clean(info.Object)
}

// quotedObject matches the whole object that the server quotes in some error messages.
var quotedObject = regexp.MustCompile(`Invalid value: "\{.*\}"`)

func (s *site) text(err error) string {
	if err == nil {
		return ""
	}
	return s.empty(quotedObject.ReplaceAllString(err.Error(), `Invalid value: ...`))
}

// clean returns an object as text, without the parts that differ between sites or depend on
// the timing of controllers.
func (s *site) clean(object any) string {
	s.Helper()
	u := object.(*unstructured.Unstructured).DeepCopy()
	delete(u.Object, "status")
	annotations := u.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	if len(annotations) == 0 {
		annotations = nil
	}
	u.SetAnnotations(annotations)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(u.Object, "spec", "clusterIP")
	unstructured.RemoveNestedField(u.Object, "spec", "clusterIPs")
	fields := slices.DeleteFunc(u.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager != filepath.Base(os.Args[0]) // the order of the other managers is random
	})
	for i := range fields {
		fields[i].Time = nil
	}
	u.SetManagedFields(fields)
	data, err := json.Marshal(u.Object)
	if err == nil {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		s.Fatal(err)
	}
	return s.empty(string(data))
}
