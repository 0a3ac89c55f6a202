// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

// diagnoseJob adds findings about a Job and its pods.
func diagnoseJob(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef, job *batchv1.Job) {
	if valueOr(job.Spec.Suspend, false) {
		w.findings.add(at, finding{rank: rankCause, Cause: Cause{
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
			f.rank = rankCause // the pods may have no problem
		}
		w.findings.add(at, f)
	}
	load := workload{ObjectRef: at, selector: job.Spec.Selector, template: &job.Spec.Template, desired: valueOr(job.Spec.Parallelism, 1)}
	if isFinished(job) {
		load.desired = 0
	}
	diagnoseWorkload(ctx, w, load)
}

func isFinished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) && c.Status == corev1.ConditionTrue
	})
}
