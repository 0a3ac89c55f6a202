// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package earlierjobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
)

// PodReader reads the pods of Jobs. NewPodReader returns the implementation.
type PodReader interface {
	// PodsOf returns the pods of the Jobs with the given names, even of those that no longer
	// exist.
	PodsOf(ctx context.Context, namespace string, jobs []string) ([]unstructured.Unstructured, error)
}

type podReader struct{ cluster *cluster.Connection }

// NewPodReader returns the PodReader for a cluster.
func NewPodReader(c *cluster.Connection) PodReader { return podReader{c} }

func (r podReader) PodsOf(ctx context.Context, namespace string, jobs []string) ([]unstructured.Unstructured, error) {
	selector := podSelector(jobs)
	if selector == "" {
		return nil, nil
	}
	client, err := r.cluster.Dynamic()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(object.PodResource()).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list the pods of Jobs in namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// podSelector returns the label selector of the pods of the Jobs with the given names, or "" if
// there can be none. The server rejects a Job whose name is not a valid value of a label, for
// example because it is too long, so such a Job has no pods.
func podSelector(jobs []string) string {
	var valid []string
	for _, name := range jobs {
		if len(validation.IsValidLabelValue(name)) == 0 {
			valid = append(valid, name)
		}
	}
	if len(valid) == 0 {
		return ""
	}
	// Every version of Kubernetes sets this label on the pods of a Job.
	return "job-name in (" + strings.Join(valid, ",") + ")"
}

// unfinishedJob is a Job of an earlier revision that has not finished.
type unfinishedJob struct {
	*earlierJob
	// live is the Job in the cluster. It is nil if the Job was deleted while a container of
	// one of its pods still runs.
	live *object.Info
	// running says whether a container of the Job runs.
	running bool
	// kept says whether the Job must not be deleted, because of its resource policy.
	kept bool
}

// unfinished returns those of the given Jobs that have not finished.
func (g *Guard) unfinished(ctx context.Context, jobs []*earlierJob) ([]*unfinishedJob, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	var list kube.ResourceList
	for _, e := range jobs {
		list.Append(e.info)
	}
	live, err := g.Cluster.Live(ctx, list)
	if err != nil {
		return nil, err
	}
	var candidates []*unfinishedJob
	for _, e := range jobs {
		if job := g.candidate(e, live[e.info]); job != nil {
			candidates = append(candidates, job)
		} else {
			g.setEnded(e)
		}
	}
	if err := g.findRunning(ctx, candidates); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(candidates, func(job *unfinishedJob) bool {
		ended := !job.running && (job.live == nil || job.kept)
		if ended {
			g.setEnded(job.earlierJob)
		}
		return ended
	}), nil
}

// candidate returns a Job that may still run; nil if it has finished or does not belong to the
// release. live is its state in the cluster, or nil if it does not exist.
func (g *Guard) candidate(e *earlierJob, live *unstructured.Unstructured) *unfinishedJob {
	job := &unfinishedJob{earlierJob: e}
	if live == nil {
		if e.id.Kind == object.PodKind().Kind {
			return nil
		}
		return job
	}
	switch g.Inventory.WhyKeep(live, g.policies, false) {
	case "":
	case inventory.KeptByPolicy:
		job.kept = true
	default:
		return nil
	}
	state := readiness.ComputeCompletion(live).State
	if state == readiness.Ready || state == readiness.Failed || alwaysRestarts(live) {
		return nil
	}
	job.live = object.WithState(e.info, live)
	return job
}

// findRunning finds out which of the Jobs have a container that runs.
func (g *Guard) findRunning(ctx context.Context, jobs []*unfinishedJob) error {
	names := map[string][]string{}
	for _, job := range jobs {
		if job.id.Kind == object.PodKind().Kind {
			job.running = hasRunningContainer(contentOf(job.live))
			continue
		}
		names[job.info.Namespace] = append(names[job.info.Namespace], job.info.Name)
	}
	for _, namespace := range slices.Sorted(maps.Keys(names)) {
		pods, err := g.Pods.PodsOf(ctx, namespace, names[namespace])
		readable := !apierrors.IsForbidden(err)
		if err != nil && readable {
			return err
		}
		for _, job := range jobs {
			if job.id.Kind == object.PodKind().Kind || job.info.Namespace != namespace {
				continue
			}
			// Without the permission to list pods, only the number of pods is known.
			job.running = !readable && job.live != nil && field.Int(contentOf(job.live).Object, 0, "status", "active") > 0 ||
				slices.ContainsFunc(pods, func(pod unstructured.Unstructured) bool { return job.owns(&pod) && hasRunningContainer(&pod) })
		}
	}
	return nil
}

func contentOf(info *object.Info) *unstructured.Unstructured {
	content, _ := info.Object.(*unstructured.Unstructured) // the cluster returned it
	return content
}

// owns reports whether a pod belongs to the Job.
func (job *unfinishedJob) owns(pod *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" || !strings.HasPrefix(owner.APIVersion, batchv1.GroupName+"/") || owner.Name != job.info.Name {
		return false
	}
	return job.live == nil || owner.UID == object.UID(job.live)
}

// hasRunningContainer reports whether any container of a pod runs, even if the pod is being
// deleted.
func hasRunningContainer(pod *unstructured.Unstructured) bool {
	if phase := corev1.PodPhase(field.String(pod.Object, "status", "phase")); phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return false
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", list)
		for _, s := range statuses {
			status, _ := s.(map[string]any)
			if _, running, _ := unstructured.NestedMap(status, "state", "running"); running {
				return true
			}
		}
	}
	return false
}
