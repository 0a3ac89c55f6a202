// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command helm-controller deploys HelmRequests in the cluster in which it runs (docs/controller.md).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	_ "golang.org/x/crypto/x509roots/fallback" // the image has no certificates of authorities
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/controller"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run runs the controller until ctx ends.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log := logr.FromSlogHandler(o.logHandler(stderr))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	end, err := useTemporaryFiles()
	if err != nil {
		return err
	}
	defer end()
	cfg, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	m, err := newManager(cfg, o)
	if err != nil {
		return err
	}
	if err := awaitKind(ctx, m); err != nil {
		return err
	}
	if err := controller.AddTo(ctx, m, o.controller); err != nil {
		return err
	}
	return m.Start(ctx)
}

func newManager(cfg *rest.Config, o *options) (ctrl.Manager, error) {
	cfg.QPS = -1 // the API server limits requests by priority and fairness
	cfg.UserAgent = controller.Name
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	namespaces := map[string]cache.Config{}
	for _, namespace := range o.namespaces {
		namespaces[namespace] = cache.Config{}
	}
	m, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme,
		Cache:   cache.Options{DefaultNamespaces: namespaces, DefaultTransform: cache.TransformStripManagedFields()},
		Metrics: metricsserver.Options{BindAddress: o.metricsAddress}, HealthProbeBindAddress: o.healthAddress,
		LeaderElection: o.leaderElection, LeaderElectionID: "helm-controller.helm.sh", LeaderElectionNamespace: o.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true, // the process ends when the manager does
		GracefulShutdownTimeout:       &o.shutdownTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("cache", cacheCheck(m))); err != nil {
		return nil, err
	}
	return m, nil
}

// cacheCheck returns a check that succeeds when the cache contains the HelmRequests.
func cacheCheck(m ctrl.Manager) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the HelmRequests have not been read yet")
		}
		return nil
	}
}

// kindCheckInterval is the interval at which awaitKind looks for the kind.
const kindCheckInterval = 2 * time.Second

// awaitKind waits until the kind HelmRequest is defined.
func awaitKind(ctx context.Context, m ctrl.Manager) error {
	kind := v1alpha1.GroupVersion().WithKind(v1alpha1.Kind)
	for hasLogged := false; ; {
		_, err := m.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil || !meta.IsNoMatchError(err) {
			return err
		}
		if !hasLogged {
			m.GetLogger().Info("waiting for the CustomResourceDefinition of HelmRequest to be installed")
			hasLogged = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(kindCheckInterval):
		}
	}
}

// useTemporaryFiles makes Helm's packages keep their files in a temporary directory, which end deletes.
func useTemporaryFiles() (end func(), err error) {
	dir, err := os.MkdirTemp("", "helm-controller-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for temporary files: %w", err)
	}
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		if err := os.Setenv(name, dir); err != nil {
			return nil, err
		}
	}
	return func() { _ = os.RemoveAll(dir) }, nil
}
