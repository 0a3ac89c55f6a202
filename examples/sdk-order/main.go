// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command sdk-order deploys a chart in an order that the chart does not declare itself, and applies the
// definitions in its crds/ directories. It installs the release, or upgrades it if it exists:
//
//	go run ./examples/sdk-order RELEASE CHART [ORDER-FILE]
//
// An upgrade without an order file keeps the order of the current revision.
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
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 && len(os.Args) != 4 {
		log.Fatal("usage: sdk-order RELEASE CHART [ORDER-FILE]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rel, err := deploy(ctx, os.Args[1], os.Args[2], os.Args[3:])
	stop()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("revision %d of %s is %s\n", rel.Version, rel.Name, rel.Info.Status)
}

// deploy installs or upgrades a release. files contains the path of an order file, or nothing.
func deploy(ctx context.Context, name, path string, files []string) (*release.Release, error) {
	settings := cli.New()
	config := new(action.Configuration)
	if err := action.InitConfiguration(config, settings.RESTClientGetter(), settings.Namespace(), os.Getenv("HELM_DRIVER"), log.Printf); err != nil {
		return nil, err
	}
	chart, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	order, err := readOrder(files)
	if err != nil {
		return nil, err
	}
	_, err = action.NewGet(config).RunWithContext(ctx, name)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound):
		client := action.NewInstall(config)
		client.ReleaseName, client.Namespace = name, settings.Namespace()
		return install(ctx, client, chart, order)
	case err != nil:
		return nil, err
	}
	client := action.NewUpgrade(config)
	client.Namespace = settings.Namespace()
	return upgrade(ctx, client, name, chart, order)
}

// readOrder reads an order file; nil if there is none.
func readOrder(files []string) (*action.OrderFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	return &action.OrderFile{Name: files[0], Text: text}, nil
}

func install(ctx context.Context, client *action.Install, chart *chart.Chart, order *action.OrderFile) (*release.Release, error) {
	client.Timeout = 2 * time.Minute
	client.WaitStrategy = action.WaitStrategyOrdered
	client.OrderFile = order
	client.CRDs = action.CRDPolicyApply
	client.OnEvent = show
	return client.RunWithContext(ctx, chart, chartutil.Values{})
}

func upgrade(ctx context.Context, client *action.Upgrade, name string, chart *chart.Chart, order *action.OrderFile) (*release.Release, error) {
	client.Timeout = 2 * time.Minute
	client.WaitStrategy = action.WaitStrategyOrdered
	client.OrderFile = order
	client.ReuseOrder = true // without an order file, that of the current revision applies
	client.CRDs = action.CRDPolicyApply
	client.OnEvent = show
	return client.RunWithContext(ctx, name, chart, chartutil.Values{})
}

// show prints an event. It is called for each step, one call at a time.
func show(e action.Event) {
	switch e.Type {
	case action.EventCRDApplied:
		fmt.Printf("%s %s\n", e.Type, e.Resource)
	case action.EventNodeReady:
		fmt.Printf("%s %s\n", e.Type, e.Node)
	case action.EventWarning:
		fmt.Printf("%s %s\n", e.Type, e.Message)
	default:
	}
}
