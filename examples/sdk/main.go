// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command sdk installs a chart in the order that it declares. It prints what it will
// create, then each step. If the installation fails, it prints the cause:
//
//	go run ./examples/sdk RELEASE CHART
//
// To convert a program that uses Helm's SDK, change two imports, those of action and
// loader. WaitStrategy, OnEvent and the error types are additions to Helm's SDK.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: sdk RELEASE CHART")
	}
	// When the context is cancelled, the operation stops, and the release is recorded
	// as failed.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rel, err := install(ctx, os.Args[1], os.Args[2])
	stop()
	if err != nil {
		explain(err)
		os.Exit(1)
	}
	fmt.Printf("%s is %s\n", rel.Name, rel.Info.Status)
}

func install(ctx context.Context, name, path string) (*release.Release, error) {
	settings := cli.New()
	config := new(action.Configuration)
	getter := settings.RESTClientGetter()
	action.RetryRequests(getter) // also retry requests for release storage
	if err := action.InitConfiguration(config, getter, settings.Namespace(), os.Getenv("HELM_DRIVER"), log.Printf); err != nil {
		return nil, err
	}
	chart, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	client := action.NewInstall(config)
	client.ReleaseName = name
	client.Namespace = settings.Namespace()
	client.Timeout = 2 * time.Minute
	client.WaitStrategy = action.WaitStrategyOrdered
	client.ReadinessTimeout = 20 * time.Second
	client.OnEvent = show
	if err := announce(ctx, client, chart); err != nil {
		return nil, err
	}
	return client.RunWithContext(ctx, chart, chartutil.Values{})
}

// announce prints what an installation would do. It changes nothing.
func announce(ctx context.Context, client *action.Install, chart *chart.Chart) error {
	preview, err := client.Preview(ctx, chart, chartutil.Values{})
	if err != nil {
		return err
	}
	for _, node := range preview.Nodes {
		for _, o := range node.Objects {
			fmt.Printf("will %s %s/%s in %s\n", o.Action, o.Kind, o.Name, node.Node)
		}
	}
	return nil
}

// show prints an event. It is called for each step, one call at a time.
func show(e action.Event) {
	switch e.Type {
	case action.EventNodeStarted, action.EventNodeReady, action.EventNodeFailed:
		fmt.Printf("%s %s\n", e.Type, e.Node)
	case action.EventHookStarted, action.EventHookDone:
		fmt.Printf("%s %s\n", e.Type, e.Hook)
	case action.EventWarning:
		fmt.Printf("%s %s\n", e.Type, e.Message)
	default: // there are more types, and later versions may add others
	}
}

// explain prints why an operation failed, with details for failed resources and hooks.
func explain(err error) {
	var deploy *action.DeployError
	var hook *action.HookError
	switch {
	case errors.As(err, &deploy):
		for _, r := range deploy.Resources {
			log.Printf("%s of %s: %s after %s", r.Resource, r.Node, r.State, r.Waited.Round(time.Second))
			for _, c := range r.Causes {
				log.Printf("  %s: %s", c.Object, c.Reason)
			}
		}
		log.Printf("skipped: %q", deploy.NeverStarted)
	case errors.As(err, &hook):
		log.Printf("a hook failed: %v", hook)
	default:
		log.Print(err)
	}
}
