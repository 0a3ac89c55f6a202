// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package kind contains what is known about the kinds of Kubernetes objects without asking a
// cluster: whether they are built into Kubernetes, their API group and scope, their position
// in Helm's install order, and the items of a List.
package kind

import (
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/releaseutil"
)

// clusterScoped lists the cluster-scoped kinds of Kubernetes that occur in charts,
// separated by spaces.
const clusterScoped = " Namespace ClusterRole ClusterRoleBinding CustomResourceDefinition PriorityClass " +
	"StorageClass PersistentVolume IngressClass RuntimeClass ValidatingWebhookConfiguration " +
	"MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding " +
	"MutatingAdmissionPolicy MutatingAdmissionPolicyBinding APIService CSIDriver Node VolumeSnapshotClass " +
	"VolumeAttributesClass FlowSchema PriorityLevelConfiguration CertificateSigningRequest DeviceClass PodSecurityPolicy "

// Group returns the API group in an apiVersion. It is empty for the core group.
func Group(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// IsBuiltIn reports whether an API group belongs to Kubernetes, judging by its name.
func IsBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// IsClusterScoped reports whether a kind that is built into Kubernetes is cluster-scoped.
func IsClusterScoped(group, kind string) bool {
	return IsBuiltIn(group) && strings.Contains(clusterScoped, " "+kind+" ")
}

// neverRecreated lists the kinds, with their groups, that are never deleted and created again, because other objects
// or data would be lost with them.
const neverRecreated = " /Namespace /PersistentVolumeClaim /PersistentVolume apiextensions.k8s.io/CustomResourceDefinition "

// IsNeverRecreated reports whether a kind is Namespace, PersistentVolumeClaim, PersistentVolume or
// CustomResourceDefinition, whose objects are never deleted and created again.
func IsNeverRecreated(group, kind string) bool {
	return strings.Contains(neverRecreated, " "+group+"/"+kind+" ")
}

// NeverRecreated returns the names of the kinds for which IsNeverRecreated returns true.
func NeverRecreated() []string {
	return []string{"Namespace", "PersistentVolumeClaim", "PersistentVolume", "CustomResourceDefinition"}
}

// workloads lists the kinds that run pods, separated by spaces.
const workloads = " Deployment StatefulSet DaemonSet Job CronJob Pod ReplicaSet ReplicationController "

// IsWorkload reports whether a kind that is built into Kubernetes runs pods, or is Pod.
func IsWorkload(kind string) bool { return strings.Contains(workloads, " "+kind+" ") }

// WorkloadsFirst returns a copy of items in which workloads precede all other kinds, and which is
// otherwise in the same order. It is for lists of which only the beginning is shown. kindOf
// returns the kind of an item.
func WorkloadsFirst[T any](items []T, kindOf func(T) string) []T {
	rank := func(item T) int {
		if IsWorkload(kindOf(item)) {
			return 0
		}
		return 1
	}
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b T) int { return rank(a) - rank(b) })
	return sorted
}

// InstallRank returns the position of a kind in Helm's install order. All kinds that are
// not in it have the last position.
func InstallRank(kind string) int {
	if rank := slices.Index(releaseutil.InstallOrder, kind); rank >= 0 {
		return rank
	}
	return len(releaseutil.InstallOrder)
}
