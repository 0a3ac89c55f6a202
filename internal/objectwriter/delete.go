// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"encoding/json"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/ordered-helm/helm/internal/object"
)

// DeleteOptions are the options of Writer.Delete.
type DeleteOptions struct {
	Propagation metav1.DeletionPropagation
	// IfUnchanged prevents the deletion of objects that were changed after they were read,
	// that is, whose resource version is no longer the one in the list. A custom Kubernetes
	// client ignores it.
	IfUnchanged bool
}

// DeleteResult is the result of Writer.Delete. The objects are in the order of the list.
type DeleteResult struct {
	// Deleted contains the objects that existed, and whose deletion the server accepted.
	Deleted kube.ResourceList
	// Terminating contains those of the deleted objects that may still exist, for example
	// because of finalizers.
	Terminating kube.ResourceList
	// Changed contains the objects that were not deleted because of the option IfUnchanged.
	Changed kube.ResourceList
}

type deleteOutcome int

const (
	// absent means that the object did not exist, or that another one has its name.
	absent deleteOutcome = iota
	// gone means that the object existed, and no longer exists.
	gone
	terminating
	changed
)

func (w *requestWriter) Delete(ctx context.Context, list kube.ResourceList, o DeleteOptions) (*DeleteResult, []error) {
	result := &DeleteResult{}
	if len(list) == 0 {
		return result, nil
	}
	if err := ctx.Err(); err != nil {
		return result, []error{err}
	}
	client, err := w.cluster.REST()
	if err != nil {
		return result, []error{err}
	}
	failures, outcomes := make([]error, len(list)), make([]deleteOutcome, len(list))
	options := metav1.DeleteOptions{PropagationPolicy: &o.Propagation}
	forEachByKind(list, func(i int) {
		request := deleteRequest{writer: w, client: client, info: list[i], options: options}
		request.setPreconditions(o.IfUnchanged)
		outcomes[i], failures[i] = request.send(ctx)
	})
	var errs []error
	for i, info := range list {
		switch {
		case failures[i] != nil:
			errs = append(errs, failures[i])
		case outcomes[i] == changed:
			result.Changed.Append(info)
		case outcomes[i] == terminating:
			result.Terminating.Append(info)
			result.Deleted.Append(info)
		case outcomes[i] == gone:
			result.Deleted.Append(info)
		}
	}
	return result, errs
}

func (w *requestWriter) DryRunDelete(ctx context.Context, info *object.Info, policy metav1.DeletionPropagation) error {
	client, err := w.cluster.REST()
	if err != nil {
		return err
	}
	request := deleteRequest{writer: w, client: client, info: info, options: metav1.DeleteOptions{PropagationPolicy: &policy, DryRun: []string{metav1.DryRunAll}}}
	request.setPreconditions(false)
	_, err = request.send(ctx)
	return err
}

// deleteRequest is the request to delete an object.
type deleteRequest struct {
	writer  *requestWriter
	client  rest.Interface
	info    *object.Info
	options metav1.DeleteOptions
}

// setPreconditions makes the server reject the request if another object has the name of the
// object or, if ifUnchanged is true, if the object was changed after it was read.
func (r *deleteRequest) setPreconditions(ifUnchanged bool) {
	uid := object.UID(r.info)
	if uid == "" {
		return
	}
	r.options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	if version := r.info.ResourceVersion; ifUnchanged && version != "" {
		r.options.Preconditions.ResourceVersion = &version
	}
}

// send sends the request. It repeats it after a conflict that can pass.
func (r *deleteRequest) send(ctx context.Context) (outcome deleteOutcome, err error) {
	if err := ctx.Err(); err != nil {
		return absent, err
	}
	kind := r.info.Mapping.GroupVersionKind.Kind
	r.writer.cluster.Log("Starting delete for %q %s", r.info.Name, kind)
	onlyIfUnchanged := r.options.Preconditions != nil && r.options.Preconditions.ResourceVersion != nil
	if onlyIfUnchanged {
		outcome, err = r.sendOnce(ctx)
	} else {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			outcome, err = r.sendOnce(ctx)
			return err
		})
	}
	switch {
	case apierrors.IsConflict(err) && onlyIfUnchanged:
		return changed, nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err) && r.isGone(ctx):
		r.writer.cluster.Log("Ignoring delete failure for %q %s: %v", r.info.Name, kind, err)
		return absent, nil
	}
	return outcome, err
}

func (r *deleteRequest) sendOnce(ctx context.Context) (deleteOutcome, error) {
	options := r.options
	options.APIVersion, options.Kind = "v1", "DeleteOptions"
	body, err := json.Marshal(&options)
	if err != nil {
		return absent, err
	}
	result := r.client.Delete().AbsPath(object.Path(r.info)...).SetHeader("Content-Type", "application/json").Body(body).Do(ctx)
	if err := result.Error(); err != nil {
		return absent, err
	}
	response, err := result.Raw()
	if err != nil {
		return absent, err
	}
	if r.confirmsDeletion(response) {
		return gone, nil
	}
	return terminating, nil
}

// confirmsDeletion reports whether the response to the request says that the object no longer exists.
// For an object that remains until its finalizers or its containers have ended, the server
// returns the object instead of a Status. confirmsDeletion returns false if the state of the object was
// not read, or if the object had already been deleted then: the server may return a Status
// although such an object still exists.
func (r *deleteRequest) confirmsDeletion(response []byte) bool {
	live, err := meta.Accessor(r.info.Object)
	if err != nil || live.GetUID() == "" || live.GetDeletionTimestamp() != nil {
		return false
	}
	var status metav1.Status
	return json.Unmarshal(response, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusSuccess &&
		status.Details != nil && status.Details.UID == live.GetUID()
}

// isGone reports whether the object with the UID of the request no longer exists, even if
// another object now has the same name. It returns false if the UID is not known.
func (r *deleteRequest) isGone(ctx context.Context) bool {
	uid := object.UID(r.info)
	if uid == "" {
		return false
	}
	live, err := r.writer.cluster.Get(ctx, r.info)
	return apierrors.IsNotFound(err) || err == nil && live.GetUID() != uid
}
