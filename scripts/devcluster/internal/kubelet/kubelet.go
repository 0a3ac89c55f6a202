// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubelet simulates the kubelets of a cluster, without running containers. It writes
// the status of every pod as a kubelet would if its containers behaved as the annotations of
// the pod define, and serves logs.
package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/reconcile"
)

const workers = 16

// Kubelet simulates all kubelets of a cluster.
type Kubelet struct {
	client   kubernetes.Interface
	loop     *reconcile.Loop
	pods     corelisters.PodLister
	cached   source
	live     source
	recorder record.EventRecorder
	ips      *addresses

	mu sync.Mutex
	// runs contains the states of the existing pods, by name.
	runs map[types.NamespacedName]*liveRun
	// held contains the names of the pods that wait for a missing object, by namespace.
	held map[string]map[types.NamespacedName]bool
}

// liveRun is a podRun with the UID of its pod, because another pod can have the same name
// later.
type liveRun struct {
	uid types.UID
	run *podRun
}

// New returns a Kubelet, which does nothing before Run is called.
func New(client kubernetes.Interface, log *slog.Logger) (*Kubelet, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutContents))
	core := factory.Core().V1()
	k := &Kubelet{
		client: client,
		pods:   core.Pods().Lister(),
		cached: cached{
			configMaps: core.ConfigMaps().Lister(),
			secrets:    core.Secrets().Lister(),
			claims:     core.PersistentVolumeClaims().Lister(),
		},
		live: live{client: client},
		ips:  newAddresses(),
		runs: map[types.NamespacedName]*liveRun{},
		held: map[string]map[types.NamespacedName]bool{},
	}
	k.loop = reconcile.New(factory, workers, log, k.sync)
	err := errors.Join(
		k.loop.Watch(core.Pods().Informer()),
		reconcile.OnChange(core.ConfigMaps().Informer(), k.enqueueHeld),
		reconcile.OnChange(core.Secrets().Informer(), k.enqueueHeld),
		reconcile.OnChange(core.PersistentVolumeClaims().Informer(), k.enqueueHeld),
	)
	return k, err
}

// withoutContents removes the values from ConfigMaps and Secrets, to save memory: only their
// keys are needed.
func withoutContents(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.ConfigMap:
		for key := range o.Data {
			o.Data[key] = ""
		}
		for key := range o.BinaryData {
			o.BinaryData[key] = nil
		}
		o.ManagedFields = nil
	case *corev1.Secret:
		for key := range o.Data {
			o.Data[key] = nil
		}
		o.ManagedFields = nil
	}
	return object, nil
}

// Run simulates the pods of the cluster until ctx ends.
func (k *Kubelet) Run(ctx context.Context) error {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: k.client.CoreV1().Events("")})
	k.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"})
	return k.loop.Run(ctx)
}

// sync updates the state of a pod, and writes its status. It is a reconcile.Sync.
func (k *Kubelet) sync(ctx context.Context, name types.NamespacedName) (time.Time, error) {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		k.forget(name)
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look up pod: %w", err)
	}
	if pod.Spec.NodeName == "" {
		return time.Time{}, nil
	}
	now := time.Now()
	run := k.runOf(name, pod, now)
	if pod.DeletionTimestamp != nil {
		return k.stop(ctx, pod, run, now)
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return time.Time{}, nil
	}
	missing, err := k.missing(ctx, name, pod, run)
	if err != nil {
		return time.Time{}, err
	}
	wake, events := run.advance(now, pod, missing)
	for _, e := range events {
		about, err := reference.GetPartialReference(scheme.Scheme, pod, e.field)
		if err != nil {
			return time.Time{}, fmt.Errorf("refer to pod: %w", err)
		}
		k.recorder.Event(about, e.kind, e.reason, e.message)
	}
	return wake, k.report(ctx, pod, run.status(now, pod, false))
}

// stop simulates the end of a pod that is being deleted.
func (k *Kubelet) stop(ctx context.Context, pod *corev1.Pod, run *podRun, now time.Time) (time.Time, error) {
	if run.stopping.IsZero() {
		run.stopping = now
	}
	if due := run.stopping.Add(stopAfter(pod)); now.Before(due) {
		return due, nil
	}
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		run.kill(now)
		if err := k.report(ctx, pod, run.status(now, pod, true)); err != nil {
			return time.Time{}, err
		}
	}
	if pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		// The pod has ended, and only finalizers keep it.
		return time.Time{}, nil
	}
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("delete pod: %w", err)
	}
	return time.Time{}, nil
}

// stopAfter returns how long a pod takes to stop: the time from its annotation, but at most
// its grace period.
func stopAfter(pod *corev1.Pod) time.Duration {
	after, err := durationAnnotation(pod, AnnotationStopAfter)
	if err != nil || pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return min(after, time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second)
}

// report writes the pod's status if it has changed.
func (k *Kubelet) report(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	if equality.Semantic.DeepEqual(pod.Status, status) {
		return nil
	}
	fresh := pod.DeepCopy()
	fresh.Status = status
	if _, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, fresh, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("report status of pod: %w", err)
	}
	return nil
}
