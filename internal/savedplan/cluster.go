// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package savedplan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	helmaction "helm.sh/helm/v3/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Cluster identifies a cluster.
type Cluster struct {
	// UID is that of the namespace kube-system; empty if it may not be read.
	UID string `json:"uid,omitempty"`
	// Server is the address of the API server, and Authority the SHA-256 digest of the certificates of its
	// certificate authority; empty if they are those of the system. They count if the UID is not known.
	Server    string `json:"server"`
	Authority string `json:"authority,omitempty"`
}

// IdentifyCluster returns what identifies the cluster of cfg.
func IdentifyCluster(ctx context.Context, cfg *helmaction.Configuration) (Cluster, error) {
	config, err := cfg.RESTClientGetter.ToRESTConfig()
	if err != nil {
		return Cluster{}, err
	}
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return Cluster{}, err
	}
	c := Cluster{Server: config.Host}
	if len(config.CAData) > 0 {
		digest := sha256.Sum256(config.CAData)
		c.Authority = hex.EncodeToString(digest[:])
	}
	client, err := cfg.KubernetesClientSet()
	if err != nil {
		return c, err
	}
	namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
	case err != nil:
		return c, fmt.Errorf("identify the cluster: %w", err)
	default:
		c.UID = string(namespace.UID)
	}
	return c, nil
}

// CheckCluster returns a *ClusterError if the plan was made for another cluster than is.
func (p *Plan) CheckCluster(is Cluster) error {
	was := p.Cluster
	switch {
	case was.UID != "" && is.UID != "":
		if was.UID == is.UID {
			return nil
		}
	case was.Server == is.Server && was.Authority == is.Authority:
		return nil
	}
	return &ClusterError{Planned: was, Actual: is}
}

// ClusterError reports that a plan was made for another cluster. Nothing was changed.
type ClusterError struct{ Planned, Actual Cluster }

func (e *ClusterError) Error() string {
	return fmt.Sprintf("the plan was made for another cluster: %s, not %s; select the cluster with --kube-context", e.Planned, e.Actual)
}

func (c Cluster) String() string {
	if c.UID == "" {
		return c.Server
	}
	return fmt.Sprintf("%s (its namespace kube-system has the UID %s)", c.Server, c.UID)
}
