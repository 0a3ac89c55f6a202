// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command helm is the command-line program of Ordered Helm, which is Helm 3 that can also
// deploy charts in the order that they declare. This package parses flags and prints
// results; package action performs the operations.
package main

import (
	"context"
	"log"
	"os"
	"runtime/debug"

	// Credential plugins (OIDC and others) register themselves with client-go.
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/klog/v2"

	"github.com/ordered-helm/helm/internal/redact"
)

func main() {
	// Helm's packages print warnings with the standard logger. As in stock Helm, each line
	// begins with the file and line number of its source.
	log.SetFlags(log.Lshortfile)

	// By default, the field manager has the name of the executable. With a fixed name, fields
	// keep their manager when a user switches between this program and stock Helm.
	kube.ManagedFieldsManager = "helm"

	if orderedVersion == "" { // not built with "make build", whose linker flags set all versions
		info, _ := debug.ReadBuildInfo()
		setVersions(chartutil.DefaultCapabilities, info)
	}

	filter := &logRedactor{}
	klog.SetLogFilter(filter)
	ctx := redact.WithObserver(context.Background(), filter.use)

	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
