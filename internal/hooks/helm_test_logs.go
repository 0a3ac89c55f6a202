// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// WriteTestLogs writes the log of h, a test that has run, to out. If the test is a Job, it
// writes the logs of all containers in the pods of the Job.
func WriteTestLogs(ctx context.Context, out io.Writer, client typedcorev1.PodInterface, h *release.Hook) (err error) {
	logs := []ContainerLog{{Pod: h.Name}}
	if h.Kind == "Job" {
		pods, _ := PodsOf(h)
		if logs, err = ListLogs(ctx, client, pods); err != nil {
			return fmt.Errorf("unable to list the pods of the test %s: %w", h.Name, err)
		}
	}
	return writeTestLogs(out, h, logs, func(log ContainerLog) (io.ReadCloser, error) { return log.Open(ctx, client) })
}

func writeTestLogs(out io.Writer, h *release.Hook, logs []ContainerLog, fetch func(ContainerLog) (io.ReadCloser, error)) error {
	titled := false
	for _, log := range logs {
		stream, err := fetch(log)
		if h.Kind == "Job" && apierrors.IsNotFound(err) {
			continue // the pod was deleted with its Job
		}
		if err != nil {
			return fmt.Errorf("unable to get pod logs for %s: %w", h.Name, err)
		}
		if !titled {
			titled = true
			fmt.Fprintf(out, "POD LOGS: %s\n", h.Name)
		}
		_, err = io.Copy(out, stream)
		err = errors.Join(err, stream.Close())
		fmt.Fprintln(out)
		if err != nil {
			return fmt.Errorf("unable to write pod logs for %s: %w", h.Name, err)
		}
	}
	return nil
}
