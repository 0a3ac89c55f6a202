// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command helm is Ordered Helm: Helm 3, plus deployment in the order that a chart declares.
package main

import (
	"context"
	"log"
	"os"

	// Credential plugins (OIDC and others) register themselves with client-go.
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/klog/v2"

	"github.com/ordered-helm/helm/internal/redact"
)

func main() {
	// Helm's packages print warnings through the standard logger. Users of helm know them
	// with the file and line in front.
	log.SetFlags(log.Lshortfile)

	// The field manager is independent of the executable's name, so that field ownership
	// survives a switch between this helm and stock Helm.
	kube.ManagedFieldsManager = "helm"

	filter := &logFilter{}
	klog.SetLogFilter(filter)
	ctx := redact.WithObserver(context.Background(), filter.use)

	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
