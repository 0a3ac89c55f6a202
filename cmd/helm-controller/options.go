// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ordered-helm/helm/cmd/helm-controller/internal/chartsource"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/controller"
	"github.com/ordered-helm/helm/internal/storagedriver"
)

// options are the options of the command.
type options struct {
	controller                              controller.Options
	namespaces                              []string
	leaderElection                          bool
	leaderElectionNamespace                 string
	metricsAddress, healthAddress, logLevel string
	shutdownTimeout                         time.Duration
}

// shutdownTimeout is the time in which operations can record that they were interrupted. It is shorter than the
// time after which Kubernetes kills a process by default.
const shutdownTimeout = 25 * time.Second

const (
	defaultConcurrency = 32
	defaultMaxTimeout  = time.Hour
)

const usage = `Deploys the HelmRequests of a cluster: it installs, upgrades and uninstalls their releases,
each as the service account that the HelmRequest names.

Usage:
  helm-controller [flags]

Flags:
`

// parseOptions reads the options. It returns pflag.ErrHelp after it has printed the help.
func parseOptions(args []string, out io.Writer) (*options, error) {
	o := &options{shutdownTimeout: shutdownTimeout}
	f := pflag.NewFlagSet("helm-controller", pflag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() { fmt.Fprint(out, usage, f.FlagUsages()) }
	c := &o.controller
	f.StringVar(&c.DefaultServiceAccount, "default-service-account", "", "service account, in the namespace of each HelmRequest, of those that name none; by default, these are refused")
	f.StringVar(&c.StorageDriver, "storage-driver", storagedriver.CRD, "where releases are stored: "+strings.Join(drivers(), ", "))
	f.StringSliceVar(&o.namespaces, "namespace", nil, "namespace whose HelmRequests are processed; can be repeated (default: all namespaces)")
	f.IntVar(&c.Concurrency, "concurrency", defaultConcurrency, "maximum number of HelmRequests that are processed at the same time")
	f.IntVar(&c.ConcurrencyPerNamespace, "concurrency-per-namespace", defaultConcurrency/2, "maximum number of operations that run at the same time in one namespace")
	f.DurationVar(&c.MaxTimeout, "max-timeout", defaultMaxTimeout, "maximum timeout of an operation; longer timeouts of HelmRequests are shortened")
	f.StringSliceVar(&c.Charts.Allowed, "allow-chart-source", nil, "prefix of the URLs from which charts are downloaded, such as https://charts.example.com/ or oci://registry.example.com/charts; can be repeated (default: all URLs)")
	f.BoolVar(&c.Charts.AllowLocal, "allow-local-chart-sources", false, "download charts from loopback and link-local addresses, too")
	f.Int64Var(&c.Charts.MaxBytes, "max-chart-bytes", chartsource.DefaultMaxBytes, "maximum number of bytes of a download, which can be the index of a repository")
	f.StringSliceVar(&c.ScriptNetworkNamespaces, "allow-script-network", nil, `namespace in which HelmRequests can accept the permission "network" of scripts; can be repeated`)
	f.BoolVar(&o.leaderElection, "leader-elect", false, "work only while no other replica does")
	f.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "", "namespace of the Lease of --leader-elect (default: the namespace of the pod)")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", `address of the metrics; "0" for none`)
	f.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", `address of the health checks /healthz and /readyz; "0" for none`)
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info or error")
	f.AddGoFlagSet(flag.CommandLine) // --kubeconfig, of controller-runtime
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: helm-controller has only flags", f.Arg(0))
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

// drivers returns the storage drivers that are possible. With sql, releases would not belong to the service
// accounts of the requests.
func drivers() []string {
	return slices.DeleteFunc(storagedriver.Names(), func(name string) bool { return name == storagedriver.SQL })
}

func (o *options) validate() error {
	c := &o.controller
	if !slices.Contains(drivers(), c.StorageDriver) {
		return fmt.Errorf("invalid --storage-driver %q: must be one of %s", c.StorageDriver, strings.Join(drivers(), ", "))
	}
	if c.Concurrency < 1 {
		return fmt.Errorf("invalid --concurrency %d: must be positive", c.Concurrency)
	}
	if c.ConcurrencyPerNamespace < 1 {
		return fmt.Errorf("invalid --concurrency-per-namespace %d: must be positive", c.ConcurrencyPerNamespace)
	}
	if c.MaxTimeout <= 0 {
		return fmt.Errorf("invalid --max-timeout %s: must be positive", c.MaxTimeout)
	}
	if c.Charts.MaxBytes < 1 {
		return fmt.Errorf("invalid --max-chart-bytes %d: must be positive", c.Charts.MaxBytes)
	}
	for _, prefix := range c.Charts.Allowed {
		u, err := url.Parse(prefix)
		if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "oci"}, u.Scheme) {
			return fmt.Errorf("invalid --allow-chart-source %q: must be a URL that begins with https://, http:// or oci://", prefix)
		}
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return fmt.Errorf("invalid --log-level %q: must be debug, info or error", o.logLevel)
	}
	return nil
}

// logHandler returns the handler of log messages. They are in JSON.
func (o *options) logHandler(out io.Writer) slog.Handler {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(o.logLevel)) // validate has checked it
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})
}
