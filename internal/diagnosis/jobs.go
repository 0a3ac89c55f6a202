// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

// diagnoseJob adds findings about a Job and its pods.
func (w *walk) diagnoseJob(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	job, err := clusterreader.Convert[batchv1.Job](obj)
	if err != nil {
		w.diagnoseByConditions(ctx, at, obj)
		return
	}
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		w.add(at, finding{rank: rankCause, Cause: Cause{
			Reason: "Suspended", Message: "suspended (spec.suspend): it runs no pods until it is resumed",
		}})
		return
	}
	for _, c := range job.Status.Conditions {
		failing := c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget
		if !failing || c.Status != corev1.ConditionTrue {
			continue
		}
		f := finding{rank: rankSymptom, Cause: Cause{Reason: c.Reason, Message: c.Message}}
		if c.Reason == batchv1.JobReasonDeadlineExceeded {
			f.rank = rankCause // its pods may have been fine
		}
		w.add(at, f)
	}
	load := workload{ref: at, selector: job.Spec.Selector, template: &job.Spec.Template, desired: oneIfNil(job.Spec.Parallelism)}
	if isFinished(job) {
		load.desired = 0
	}
	w.diagnoseWorkload(ctx, load)
}

func isFinished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
