// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package loadbalancer assigns addresses to Services of type LoadBalancer. Nothing listens
// there.
package loadbalancer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/reconcile"
)

const (
	// Annotation is set to Pending on Services that must not get an address.
	Annotation = "devcluster/load-balancer"
	// Pending is the value of Annotation.
	Pending = "pending"
)

// Balancer assigns addresses to Services.
type Balancer struct {
	client   kubernetes.Interface
	loop     *reconcile.Loop
	services corelisters.ServiceLister
	// given is the number of addresses that were assigned. Only the worker of the loop, of
	// which there is one, uses it.
	given int
}

// New returns a Balancer, which does nothing before Run is called.
func New(client kubernetes.Interface, log *slog.Logger) (*Balancer, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services()
	b := &Balancer{client: client, services: services.Lister()}
	b.loop = reconcile.New(factory, 1, log, b.sync)
	return b, b.loop.Watch(services.Informer())
}

// Run assigns addresses until ctx ends.
func (b *Balancer) Run(ctx context.Context) error { return b.loop.Run(ctx) }

func (b *Balancer) sync(ctx context.Context, name types.NamespacedName) (time.Time, error) {
	service, err := b.services.Services(name.Namespace).Get(name.Name)
	if err != nil {
		return time.Time{}, reconcile.Found(err)
	}
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.DeletionTimestamp != nil ||
		service.Annotations[Annotation] == Pending || len(service.Status.LoadBalancer.Ingress) > 0 {
		return time.Time{}, nil
	}
	mode := corev1.LoadBalancerIPModeVIP
	fresh := service.DeepCopy()
	fresh.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address(b.given), IPMode: &mode}}
	if _, err := b.client.CoreV1().Services(name.Namespace).UpdateStatus(ctx, fresh, metav1.UpdateOptions{}); err != nil {
		return time.Time{}, fmt.Errorf("give service an address: %w", err)
	}
	b.given++
	return time.Time{}, nil
}

// address returns the n-th address in 198.18.0.0/15, which is reserved for tests. The first
// address follows the last one.
func address(n int) string {
	n = n%(1<<17-2) + 1
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16, n>>8&0xff, n&0xff)
}
