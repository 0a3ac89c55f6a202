// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/pkg/hookrunner"
)

// hookRun runs the hooks of one release. It is a hookrunner.Runner.
type hookRun struct {
	cfg     *Configuration
	cluster *cluster.Client
	events  *events
	ledger  *ledger
	timeout time.Duration
	event   release.HookEvent
	// created are the objects of the hooks that were created.
	created map[*release.Hook]kube.ResourceList
}

var _ hookrunner.Runner = (*hookRun)(nil)

func (r *hookRun) run(ctx context.Context, event release.HookEvent) error {
	r.event, r.created = event, map[*release.Hook]kube.ResourceList{}
	return hookrunner.Run(ctx, hookrunner.ForEvent(r.ledger.rel.Hooks, event), r)
}

// Create deletes what is in the hook's way, notes in the release that the hook
// runs, and creates it.
func (r *hookRun) Create(ctx context.Context, h *release.Hook) error {
	if len(h.DeletePolicies) == 0 {
		h.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation}
	}
	if err := r.Delete(ctx, h, release.HookBeforeHookCreation); err != nil {
		return err
	}
	list, err := r.cluster.Build([]byte(h.Manifest), true)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes object for %s hook %s: %w", r.event, h.Path, err)
	}
	r.events.emit(Event{Type: EventHookStarted, Hook: h.Kind + "/" + h.Name})
	r.ledger.try(func(*release.Release) {
		h.LastRun = release.HookExecution{StartedAt: helmtime.Now(), Phase: release.HookPhaseRunning}
	})
	r.ledger.change(func(*release.Release) { h.LastRun.Phase = release.HookPhaseUnknown })
	if err := r.cluster.Create(ctx, list); err != nil {
		r.completed(h, err)
		return fmt.Errorf("warning: Hook %s %s failed: %w", r.event, h.Path, err)
	}
	r.created[h] = list
	return nil
}

func (r *hookRun) completed(h *release.Hook, err error) {
	done := Event{Type: EventHookDone, Hook: h.Kind + "/" + h.Name, Err: err}
	phase := release.HookPhaseSucceeded
	if err != nil {
		phase, done.Message = release.HookPhaseFailed, err.Error()
	}
	r.ledger.change(func(*release.Release) { h.LastRun.CompletedAt, h.LastRun.Phase = helmtime.Now(), phase })
	r.events.emit(done)
}

// Wait waits until the hook has completed.
func (r *hookRun) Wait(ctx context.Context, h *release.Hook) error {
	err := r.cluster.WaitCompleted(ctx, r.created[h], r.timeout)
	r.completed(h, err)
	return err
}

// Delete deletes the hook's objects if its policy says so, and waits until they
// are gone. Definitions are never deleted: that would delete every object of
// their kinds.
func (r *hookRun) Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error {
	if h.Kind == "CustomResourceDefinition" || !slices.Contains(h.DeletePolicies, policy) {
		return nil
	}
	list, err := r.cluster.Build([]byte(h.Manifest), false)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes object for deleting hook %s: %w", h.Path, err)
	}
	if errs := r.cluster.Delete(ctx, list, metav1.DeletePropagationBackground); len(errs) > 0 {
		return errors.New(joined(errs))
	}
	return awaitDeleted(ctx, r.cluster, list, r.timeout)
}

// Logs writes the logs of a hook's pods if its policy says so.
func (r *hookRun) Logs(_ context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error {
	if !slices.Contains(h.OutputLogPolicies, policy) {
		return nil
	}
	namespace, err := namespaceOf(h, r.ledger.rel.Namespace)
	if err != nil {
		return err
	}
	var pods metav1.ListOptions
	switch h.Kind {
	case "Job":
		pods.LabelSelector = "job-name=" + h.Name
	case "Pod":
		pods.FieldSelector = "metadata.name=" + h.Name
	default:
		return nil
	}
	client, ok := r.cfg.KubeClient.(kube.InterfaceLogs)
	if !ok {
		return nil
	}
	list, err := client.GetPodList(namespace, pods)
	if err != nil {
		return err
	}
	return client.OutputContainerLogsForPodList(list, namespace, r.cfg.HookOutputFunc)
}

// Warn reports, where Helm does, what went wrong in cleaning up.
func (r *hookRun) Warn(h *release.Hook, err error) {
	log.Printf("error cleaning up the hook %s: %v", h.Path, r.events.conceal(err))
}

func namespaceOf(h *release.Hook, fallback string) (string, error) {
	var object struct {
		Metadata struct{ Namespace string }
	}
	if err := yaml.Unmarshal([]byte(h.Manifest), &object); err != nil {
		return "", fmt.Errorf("unable to parse metadata.namespace from kubernetes manifest for output logs hook %s: %w", h.Path, err)
	}
	if object.Metadata.Namespace == "" {
		return fallback, nil
	}
	return object.Metadata.Namespace, nil
}

func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
