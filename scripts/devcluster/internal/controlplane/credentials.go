// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/pki"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/statedir"
)

// AdminGroup is the group of the user in the kubeconfig, which is bound to cluster-admin. It
// is not system:masters, because that group is exempt from API Priority and Fairness.
const AdminGroup = "devcluster:cluster-admins"

const (
	// AdminUser is the user in the kubeconfig.
	AdminUser = "devcluster-admin"
	// SupervisorUser is the user of the supervisor, which simulates the kubelets and the
	// provisioners.
	SupervisorUser = "devcluster-supervisor"
	// KwokUser is the user of kwok.
	KwokUser = "devcluster-kwok"
	// kubeletClient is the user name of the API server when it requests logs from kubelets.
	kubeletClient = "kube-apiserver-kubelet-client"

	superusers = "system:masters"
)

// credentials contains all keys and certificates of a cluster.
type credentials struct {
	cluster, etcd, frontProxy *pki.Authority

	etcdServer, etcdClient    pki.Pair
	apiServer                 pki.Pair
	kubeletServer, toKubelets pki.Pair
	frontProxyClient          pki.Pair
	admin, supervisor         pki.Pair
	controllers, scheduler    pki.Pair
	kwok                      pki.Pair
	serviceAccountKey         string
}

func newCredentials(dir statedir.Dir) (*credentials, error) {
	c := &credentials{}
	for name, target := range map[string]**pki.Authority{"ca": &c.cluster, "etcd-ca": &c.etcd, "front-proxy-ca": &c.frontProxy} {
		authority, err := pki.NewAuthority(dir.PKI(), name)
		if err != nil {
			return nil, err
		}
		*target = authority
	}
	for _, wanted := range []struct {
		target *pki.Pair
		sign   func() (pki.Pair, error)
	}{
		{&c.etcdServer, func() (pki.Pair, error) { return c.etcd.Server("etcd-server") }},
		{&c.etcdClient, func() (pki.Pair, error) { return c.etcd.Client("etcd-client", "kube-apiserver") }},
		{&c.apiServer, func() (pki.Pair, error) { return c.cluster.Server("kube-apiserver", apiServerHosts...) }},
		{&c.kubeletServer, func() (pki.Pair, error) { return c.cluster.Server("kubelet") }},
		{&c.toKubelets, func() (pki.Pair, error) { return c.cluster.Client("kubelet-client", kubeletClient) }},
		{&c.frontProxyClient, func() (pki.Pair, error) { return c.frontProxy.Client("front-proxy-client", "front-proxy-client") }},
		{&c.admin, func() (pki.Pair, error) { return c.cluster.Client("admin", AdminUser, AdminGroup) }},
		{&c.supervisor, func() (pki.Pair, error) { return c.cluster.Client("supervisor", SupervisorUser, superusers) }},
		{&c.controllers, func() (pki.Pair, error) {
			return c.cluster.Client("kube-controller-manager", "system:kube-controller-manager")
		}},
		{&c.scheduler, func() (pki.Pair, error) { return c.cluster.Client("kube-scheduler", "system:kube-scheduler") }},
		{&c.kwok, func() (pki.Pair, error) { return c.cluster.Client("kwok", KwokUser, superusers) }},
	} {
		pair, err := wanted.sign()
		if err != nil {
			return nil, err
		}
		*wanted.target = pair
	}
	var err error
	c.serviceAccountKey, err = pki.SigningKey(dir.PKI(), "service-account")
	return c, err
}

// restConfig returns a client configuration without client-side rate limiting.
func (c *credentials) restConfig(server string, pair pki.Pair) *rest.Config {
	return &rest.Config{
		Host: server,
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.cluster.PEM(),
			CertData: pair.CertPEM,
			KeyData:  pair.KeyPEM,
		},
	}
}

// writeKubeconfig writes a kubeconfig for a user that contains the certificates, so that it
// needs no other files.
func (c *credentials) writeKubeconfig(path, server, user string, pair pki.Pair) error {
	const name = "devcluster"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: c.cluster.PEM()}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: pair.CertPEM, ClientKeyData: pair.KeyPEM}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user, Namespace: "default"}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}

// kubeconfig writes the kubeconfig of a component and returns its path.
func (c *credentials) kubeconfig(dir statedir.Dir, server, component string, pair pki.Pair) (string, error) {
	path := filepath.Join(dir.Config(), component+".kubeconfig")
	return path, c.writeKubeconfig(path, server, component, pair)
}
