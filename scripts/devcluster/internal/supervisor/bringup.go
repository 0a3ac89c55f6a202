// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/binaries"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/controlplane"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/kubelet"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/volumes"
)

// bringUp creates the objects that a cluster needs when its API server responds, and waits
// until the cluster is ready.
type bringUp struct {
	client  kubernetes.Interface
	plane   *controlplane.ControlPlane
	logPort int32
}

const (
	canary          = "devcluster-canary"
	canaryNamespace = metav1.NamespaceSystem
)

func (s *supervisor) bringUp(ctx context.Context, b bringUp) error {
	if err := b.createObjects(ctx); err != nil {
		return fmt.Errorf("set up the cluster: %w", err)
	}
	for _, check := range b.checks() {
		if err := s.await(ctx, check); err != nil {
			return err
		}
	}
	if err := b.plane.WriteAdminKubeconfig(s.opts.Dir.Kubeconfig()); err != nil {
		return err
	}
	s.ready(Facts{
		Kubeconfig: s.opts.Dir.Kubeconfig(),
		Server:     b.plane.Server(),
		AuditLog:   s.opts.Dir.AuditLog(),
		BinDir:     s.opts.BinDir,
		StartTime:  time.Since(s.began),
	})
	return nil
}

func (b bringUp) createObjects(ctx context.Context) error {
	version, err := b.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("read the version of the server: %w", err)
	}
	if err := kubelet.RegisterNodes(ctx, b.client, b.logPort, version.GitVersion); err != nil {
		return err
	}
	if err := volumes.CreateClasses(ctx, b.client); err != nil {
		return err
	}
	_, err = b.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: controlplane.AdminGroup},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: controlplane.AdminGroup}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the user of the cluster an administrator: %w", err)
	}
	return nil
}

// check is a condition that must hold before the cluster is ready, with the name of the
// process that is responsible for it.
type check struct {
	process string
	holds   func(context.Context) error
}

// checks returns the checks in the order in which they are expected to hold. The last ones
// create a Deployment, wait until it is available, and delete it.
func (b bringUp) checks() []check {
	return []check{
		{binaries.ControllerManager, b.defaultsExist},
		{binaries.Kwok, b.nodesReady},
		{binaries.ControllerManager, b.canaryCreated},
		{binaries.ControllerManager, b.canaryHasPod},
		{binaries.Scheduler, b.canaryScheduled},
		{binaries.ControllerManager, b.canaryAvailable},
		{binaries.ControllerManager, b.canaryGone},
	}
}

func (s *supervisor) await(ctx context.Context, c check) error {
	var last error
	for {
		err := c.holds(ctx)
		if err == nil {
			return nil
		}
		// The error of a request that ctx has canceled does not describe the cluster.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return ctx.Err()
			}
			logPath := s.opts.Dir.Log(c.process)
			return fmt.Errorf("start the cluster: not ready after %s: %w; look at %s, whose log %s ends:\n%s",
				s.opts.StartTimeout, last, c.process, logPath, process.Tail(logPath))
		}
	}
}

func (b bringUp) defaultsExist(ctx context.Context) error {
	if _, err := b.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	_, err := b.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	return err
}

func (b bringUp) nodesReady(ctx context.Context) error {
	for _, name := range kubelet.NodeNames() {
		node, err := b.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s is tainted %s", name, node.Spec.Taints[0].Key)
		}
		ready := false
		for _, c := range node.Status.Conditions {
			ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		if !ready {
			return fmt.Errorf("node %s is not ready", name)
		}
	}
	return nil
}

func (b bringUp) canaryCreated(ctx context.Context) error {
	labels := map[string]string{"app": canary}
	_, err := b.client.AppsV1().Deployments(canaryNamespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: canary},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "canary", Image: "canary"}}},
			},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (b bringUp) canaryPods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := b.client.CoreV1().Pods(canaryNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + canary})
	if err != nil {
		return nil, fmt.Errorf("list the pods of the first Deployment: %w", err)
	}
	return list.Items, nil
}

func (b bringUp) canaryHasPod(ctx context.Context) error {
	pods, err := b.canaryPods(ctx)
	if err == nil && len(pods) == 0 {
		return errors.New("a Deployment has no pod")
	}
	return err
}

func (b bringUp) canaryScheduled(ctx context.Context) error {
	pods, err := b.canaryPods(ctx)
	if err == nil && (len(pods) == 0 || pods[0].Spec.NodeName == "") {
		return errors.New("a pod is not scheduled")
	}
	return err
}

func (b bringUp) canaryAvailable(ctx context.Context) error {
	deployment, err := b.client.AppsV1().Deployments(canaryNamespace).Get(ctx, canary, metav1.GetOptions{})
	if err == nil && deployment.Status.AvailableReplicas == 0 {
		return errors.New("a Deployment does not become available")
	}
	return err
}

func (b bringUp) canaryGone(ctx context.Context) error {
	err := b.client.AppsV1().Deployments(canaryNamespace).Delete(ctx, canary, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	pods, err := b.canaryPods(ctx)
	if err == nil && len(pods) > 0 {
		return errors.New("the pod of a deleted Deployment still exists")
	}
	return err
}
