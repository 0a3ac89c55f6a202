// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// NodeNames are the names of the nodes of a cluster.
func NodeNames() []string { return []string{"node-1", "node-2", "node-3"} }

// nodeAddress is the internal address of a node. Nothing listens there.
func nodeAddress(name string) string {
	for i, known := range NodeNames() {
		if known == name {
			return fmt.Sprintf("172.30.0.%d", i+2)
		}
	}
	return "172.30.0.1"
}

// RegisterNodes creates the nodes. logPort is the port on this machine from which the API
// server reads their logs. version is their kubelet version.
func RegisterNodes(ctx context.Context, client kubernetes.Interface, logPort int32, version string) error {
	for _, name := range NodeNames() {
		_, err := client.CoreV1().Nodes().Create(ctx, node(name, logPort, version), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("register %s: %w", name, err)
		}
	}
	return nil
}

func node(name string, logPort int32, version string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("2000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:       name,
				corev1.LabelOSStable:       "linux",
				corev1.LabelArchStable:     runtime.GOARCH,
				corev1.LabelTopologyZone:   "zone-" + name,
				corev1.LabelTopologyRegion: "devcluster",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: nodeAddress(name)},
				{Type: corev1.NodeExternalIP, Address: "127.0.0.1"},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: logPort}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:            runtime.GOARCH,
				OperatingSystem:         "linux",
				OSImage:                 "devcluster",
				KernelVersion:           "devcluster",
				ContainerRuntimeVersion: "devcluster://1",
				KubeletVersion:          version,
			},
		},
	}
}
