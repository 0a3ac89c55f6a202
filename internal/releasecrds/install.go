// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasecrds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// pollInterval is the time between two reads of a definition that is not served yet.
const pollInterval = 100 * time.Millisecond

// Outcome is what Install has done with a definition.
type Outcome string

// The outcomes. Newer means that the definition was left alone, because a newer version of Helm
// has installed it.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Newer     Outcome = "newer"
)

// Result is what Install has done with one definition.
type Result struct {
	Name    string
	Outcome Outcome
	// Before is the version of the definition before Install, unless it was created.
	Before int
	// ManagedBy is the release, as NAMESPACE/NAME, that contains the definition; empty if none
	// does.
	ManagedBy string
}

// InstallError reports that a definition could not be installed or updated.
type InstallError struct {
	Name string
	Err  error
}

func (e *InstallError) Error() string {
	text := fmt.Sprintf("install the definition of %s: %v", e.Name, e.Err)
	if apierrors.IsForbidden(e.Err) {
		text += `: ask an administrator of the cluster to run "helm state init", or to install the chart that "helm state init --chart DIRECTORY" writes`
	}
	return text
}

func (e *InstallError) Unwrap() error { return e.Err }

// foreignError reports a definition that Helm has not written.
type foreignError struct{ name string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("the cluster has another definition of this name, without the annotation %[1]s: delete it with \"kubectl delete customresourcedefinition %[2]s\" "+
		"if nobody needs it, or annotate it with %[1]s=0 to let helm replace it", releaseapi.DefinitionsVersionAnnotation, e.name)
}

// Install creates the definitions that do not exist, and updates those that are not newer than
// this program. Then it waits until the cluster serves all of them, or ctx is done. Several
// callers can do this at the same time. Errors are of the type *InstallError.
func Install(ctx context.Context, client dynamic.Interface) ([]Result, error) {
	all, err := definitions()
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, definition := range all {
		i := &installer{client: client, crds: client.Resource(definitionResource()), definition: definition}
		result, err := i.write(ctx)
		if err == nil && result.Outcome != Newer { // a newer one need not serve this version
			err = i.awaitServed(ctx)
		}
		if err != nil {
			return results, &InstallError{Name: definition.GetName(), Err: err}
		}
		results = append(results, result)
	}
	return results, nil
}

func definitionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// installer installs one definition.
type installer struct {
	client     dynamic.Interface
	crds       dynamic.ResourceInterface
	definition *unstructured.Unstructured
}

// write creates or updates the definition. If somebody else changes or deletes it at the same
// time, it tries again.
func (i *installer) write(ctx context.Context) (Result, error) {
	for {
		result, err := i.tryWrite(ctx)
		isTransient := errors.Is(err, errDeleting) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
		if !isTransient {
			return result, err
		}
		select {
		case <-ctx.Done():
			return Result{}, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}

// tryWrite creates or updates the definition. The error is errDeleting if it is being deleted.
func (i *installer) tryWrite(ctx context.Context) (Result, error) {
	name := i.definition.GetName()
	live, err := i.crds.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = i.crds.Create(ctx, i.definition, metav1.CreateOptions{})
		return Result{Name: name, Outcome: Created}, err
	}
	if err != nil {
		return Result{}, err
	}
	version, isOurs := versionOf(live)
	result := Result{Name: name, Before: version, ManagedBy: managedBy(live)}
	switch {
	case live.GetDeletionTimestamp() != nil:
		return Result{}, errDeleting
	case !isOurs:
		return Result{}, &foreignError{name}
	case version > releaseapi.DefinitionsVersion:
		result.Outcome = Newer
		return result, nil
	}
	// If the definition does not change, the API server stores nothing. Otherwise, this also
	// repairs one that was changed by hand.
	updated, err := i.crds.Update(ctx, withSpecOf(live, i.definition), metav1.UpdateOptions{})
	if err != nil {
		return Result{}, err
	}
	result.Outcome = Updated
	if updated.GetResourceVersion() == live.GetResourceVersion() {
		result.Outcome = Unchanged
	}
	return result, nil
}

// withSpecOf returns live with the spec and the annotations of definition. It keeps the other
// metadata, for example of a release that contains the definition.
func withSpecOf(live, definition *unstructured.Unstructured) *unstructured.Unstructured {
	merged, spec := live.DeepCopy(), definition.DeepCopy()
	merged.Object["spec"] = spec.Object["spec"]
	annotations := merged.GetAnnotations()
	maps.Copy(annotations, spec.GetAnnotations())
	merged.SetAnnotations(annotations)
	return merged
}

// managedBy returns the release that contains an object.
func managedBy(live metav1.Object) string {
	if name := live.GetAnnotations()[annotation.ReleaseName]; name != "" {
		return live.GetAnnotations()[annotation.ReleaseNamespace] + "/" + name
	}
	return ""
}

// awaitServed waits until the API server serves the resource.
func (i *installer) awaitServed(ctx context.Context) error {
	var state error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		live, err := i.crds.Get(ctx, i.definition.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if state = notEstablished(live); state != nil {
			return false, nil
		}
		served, err := i.isServed(ctx)
		if err == nil && !served {
			state = errNotServed
		}
		return served, err
	})
	if ctx.Err() != nil && state != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), state)
	}
	return err
}

// isServed reports whether the API server responds to requests for the resource, which can be
// slightly later than it says so in the definition.
func (i *installer) isServed(ctx context.Context) (bool, error) {
	resource, _, _ := unstructured.NestedString(i.definition.Object, "spec", "names", "plural")
	gvr := schema.GroupVersionResource{Group: releaseapi.Group, Version: releaseapi.Version, Resource: resource}
	_, err := i.client.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case err == nil, apierrors.IsForbidden(err): // whoever may define resources may not be allowed to read them
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	}
	return false, err
}

// notEstablished returns why the API server does not serve a definition, or nil if it does.
func notEstablished(live *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	why := errNotServed
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		switch typ, status := condition["type"], condition["status"]; {
		case typ == "Established" && status == "True":
			why = nil
		case typ == "NamesAccepted" && status == "False":
			return fmt.Errorf("%w: its names are not accepted: %v", errNotServed, condition["message"])
		}
	}
	return why
}

var (
	errNotServed = errors.New("the API server does not serve it yet")
	errDeleting  = errors.New("it is being deleted")
)
