// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/readiness"
)

// mostExplained is how many of the resources that fail together are looked
// into; of the others only their own status is told.
const mostExplained = 10

// explainer finds out why resources are not ready. Its zero value finds nothing.
type explainer struct {
	// diagnoser returns the one of the operation; nil if the cluster cannot be
	// reached in the ways that it needs.
	diagnoser func() *diagnosis.Diagnoser
	// during calls a function with the context of the operation without its
	// timeout: what was too slow is still looked into, but not what was
	// cancelled.
	during func(func(context.Context))
	masker *diagnosis.Masker
}

// explain adds the causes to failures, of which each has its report.
func (x explainer) explain(failures []*ResourceFailure, reports []readiness.Report) {
	for _, f := range failures {
		f.Message = x.masker.Mask(f.Message)
	}
	if x.during == nil || len(failures) == 0 {
		return
	}
	x.during(func(ctx context.Context) {
		d := x.diagnoser()
		if d == nil || ctx.Err() != nil {
			return
		}
		var subjects []diagnosis.Subject
		var of []*ResourceFailure
		for i, report := range reports {
			// Of what is gone, or cannot be observed, there is no more to tell.
			if !report.Deleted && report.Trouble == nil && report.Denied == nil && len(subjects) < mostExplained {
				subjects, of = append(subjects, subjectOf(report)), append(of, failures[i])
			}
		}
		for i, causes := range d.Explain(ctx, subjects) {
			of[i].Causes = causes
		}
	})
}

func newDiagnoser(c *cluster.Client, masker *diagnosis.Masker, later func(kind schema.GroupKind, namespace, name string) string) *diagnosis.Diagnoser {
	if !c.Real() {
		return nil
	}
	dynamic, err := c.Dynamic()
	if err != nil {
		return nil
	}
	metadata, err := c.Metadata()
	if err != nil {
		return nil
	}
	clientset, err := c.Clientset()
	if err != nil {
		return nil
	}
	return diagnosis.New(diagnosis.Config{
		Dynamic: dynamic, Metadata: metadata, Clientset: clientset, Later: later, Masker: masker,
	})
}

func subjectOf(r readiness.Report) diagnosis.Subject {
	return diagnosis.Subject{
		GVK: r.Target.GVK, GVR: r.Target.GVR, Namespace: r.Target.Namespace, Name: r.Target.Name, Object: r.Object,
	}
}

// failureOf puts a report into the words of a failure; how the waiting ended is
// for the caller to say, unless the resource has failed for good.
func failureOf(r readiness.Report, err *readiness.NotReadyError, waited time.Duration) *ResourceFailure {
	f := &ResourceFailure{
		Resource: r.Target.GVK.Kind + "/" + r.Target.Name, Namespace: r.Target.Namespace,
		State: string(r.Status.State), Reason: r.Status.Reason, Message: r.Status.Message,
		Waited: waited, Err: err, ending: "was not ready when the operation ended",
	}
	switch {
	case r.Status.State == readiness.Failed:
		f.ending = "failed"
	case r.Denied != nil:
		f.ending, f.Reason, f.Message = "cannot be followed", "Forbidden", r.Denied.Error()
	case r.Deleted:
		f.ending = "is gone"
	}
	if r.Replaced {
		f.Message = strings.TrimPrefix(f.Message+"; another object took its name meanwhile", "; ")
	}
	if r.Trouble != nil {
		f.Message = strings.TrimPrefix(f.Message+"; it cannot be observed at the moment: "+r.Trouble.Error(), "; ")
	}
	return f
}

// secretTexts lists what the Secrets among objects hold, without what occurs in
// the name of an object: names are no secrets, and must stay readable.
func secretTexts(objects []map[string]any) []string {
	var names, texts []string
	for _, object := range objects {
		name, _, _ := unstructured.NestedString(object, "metadata", "name")
		names = append(names, name)
	}
	add := func(text string) {
		for _, name := range names {
			if strings.Contains(name, text) {
				return
			}
		}
		texts = append(texts, text)
	}
	for _, object := range objects {
		if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
			continue
		}
		for _, text := range entries(object, "stringData") {
			add(text)
			add(base64.StdEncoding.EncodeToString([]byte(text)))
		}
		for _, text := range entries(object, "data") {
			add(text)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
				add(string(decoded))
			}
		}
	}
	return texts
}

// entries are the texts in a map of an object; other values are left out.
func entries(object map[string]any, field string) []string {
	var texts []string
	values, _ := object[field].(map[string]any)
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// contents are the objects of a release, what was there before and its hooks
// too, for what they hold.
func (d *deployment) contents() []map[string]any {
	objects := contentsOf(d.rollout.all)
	if d.prior != nil {
		objects = append(objects, contentsOf(d.prior.objects)...)
	}
	for _, hook := range d.release().Hooks {
		var object map[string]any
		if yaml.Unmarshal([]byte(hook.Manifest), &object) == nil {
			objects = append(objects, object)
		}
	}
	return objects
}

func contentsOf(list kube.ResourceList) []map[string]any {
	var objects []map[string]any
	for _, info := range list {
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			objects = append(objects, object.Object)
		}
	}
	return objects
}
