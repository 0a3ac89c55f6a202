// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command sdk-plan saves the plan of an upgrade, upgrades exactly as planned, and prints what has changed in the
// cluster since then:
//
//	go run ./examples/sdk-plan save RELEASE CHART FILE
//	go run ./examples/sdk-plan run FILE DIGEST
//	go run ./examples/sdk-plan drift RELEASE
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

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

const usage = `usage:
  sdk-plan save RELEASE CHART FILE
  sdk-plan run FILE DIGEST
  sdk-plan drift RELEASE`

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	settings := cli.New()
	config := new(action.Configuration)
	if err := action.InitConfiguration(config, settings.RESTClientGetter(), settings.Namespace(), os.Getenv("HELM_DRIVER"), log.Printf); err != nil {
		return err
	}
	switch {
	case len(args) == 4 && args[0] == "save":
		return save(ctx, config, args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "run":
		return upgrade(ctx, config, args[1], args[2])
	case len(args) == 2 && args[0] == "drift":
		return printDrift(ctx, config, args[1])
	}
	return errors.New(usage)
}

// save writes the plan of an upgrade to a file, and prints its digest.
func save(ctx context.Context, config *action.Configuration, name, path, file string) error {
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	client := action.NewUpgrade(config)
	client.WaitStrategy = action.WaitStrategyOrdered
	preview, plan, err := client.PlanUpgrade(ctx, name, chart, chartutil.Values{})
	if err != nil {
		return err
	}
	if plan == nil {
		return errors.New("the server would reject a part of the upgrade")
	}
	digest, err := action.WritePlan(file, "sdk-plan 1.0.0", plan)
	if err != nil {
		return err
	}
	fmt.Printf("changes: %t\ndigest: %s\n", preview.Changes, digest)
	return nil
}

// upgrade executes the plan in a file, which must have the given digest.
func upgrade(ctx context.Context, config *action.Configuration, file, digest string) error {
	plan, _, err := action.ReadPlan(file, digest)
	if err != nil {
		return err
	}
	client := action.NewUpgrade(config)
	client.Timeout = 2 * time.Minute
	rel, err := client.RunPlan(ctx, plan)
	var changed *action.PlanChangedError
	if errors.As(err, &changed) {
		return fmt.Errorf("save and review the plan again: %w", err)
	}
	if err != nil {
		return err
	}
	fmt.Printf("revision %d of %s is %s\n", rel.Version, rel.Name, rel.Info.Status)
	return nil
}

// printDrift prints what of a release differs in the cluster.
func printDrift(ctx context.Context, config *action.Configuration, name string) error {
	drift, err := action.NewFindDrift(config).RunWithContext(ctx, name)
	if err != nil {
		return err
	}
	for _, o := range drift.Objects {
		fmt.Printf("%s/%s is %s\n", o.Kind, o.Name, o.State)
		for _, f := range o.Fields {
			fmt.Printf("  %s: %v instead of %v, by %s\n", f.Path, f.Live, f.Declared, f.Manager)
		}
	}
	return nil
}
