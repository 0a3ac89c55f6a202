// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net/http"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
)

const (
	// pollInterval is how often Helm looks.
	pollInterval = 2 * time.Second
	// maxRetries is how many failing looks at one object in a row Helm bears.
	maxRetries = 30
)

// WaitReady waits as Helm's --wait does: until all objects are ready by Helm's
// own rules, Jobs only if jobs is set. It takes no longer than timeout.
func (c *Client) WaitReady(ctx context.Context, list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if c.getter == nil {
		if jobs {
			return c.kube.WaitWithJobs(list, timeout)
		}
		return c.kube.Wait(list, timeout)
	}
	cs, err := c.Clientset()
	if err != nil {
		return err
	}
	w := readyWait{
		checker: kube.NewReadyChecker(cs, c.log, kube.PausedAsReady(true), kube.CheckJobs(jobs)),
		list:    list, failures: make([]int, len(list)),
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, pollInterval, true, w.look)
}

// readyWait is the state of one wait.
type readyWait struct {
	checker  kube.ReadyChecker
	list     kube.ResourceList
	failures []int
}

// look asks for one object after the other until one is not ready.
func (w *readyWait) look(ctx context.Context) (bool, error) {
	for i, info := range w.list {
		ready, err := w.checker.IsReady(ctx, info)
		if err != nil && passing(err) {
			if w.failures[i]++; w.failures[i] > maxRetries {
				return false, err
			}
			return false, nil
		}
		w.failures[i] = 0
		if !ready {
			return false, err
		}
	}
	return true, nil
}

// passing reports whether asking again may help.
func passing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented
}

// WaitDeleted waits until all objects are gone, no longer than timeout.
func (c *Client) WaitDeleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error {
	if c.getter == nil {
		if kc, ok := c.kube.(kube.InterfaceExt); ok {
			return kc.WaitForDelete(list, timeout)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		for _, info := range list {
			if _, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name); err == nil || !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return true, nil
	})
}
