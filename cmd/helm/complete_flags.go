// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/cli/output"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// completionTimeout is how long shell completion waits for a response from the API server.
const completionTimeout = 3 * time.Second

// completeNamespaces suggests the namespaces of the cluster.
func (a *app) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	client, err := a.config.KubernetesClientSet()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	seconds := int64(completionTimeout.Seconds())
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{TimeoutSeconds: &seconds})
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names := make([]cobra.Completion, 0, len(namespaces.Items))
	for i := range namespaces.Items {
		names = append(names, namespaces.Items[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeContexts suggests the contexts of the kubeconfig file, sorted.
func (a *app) completeContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if a.settings.KubeConfig != "" {
		rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: a.settings.KubeConfig}
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(config.Contexts)) {
		names = append(names, cobra.CompletionWithDesc(name, config.Contexts[name].Cluster))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFormats suggests Helm's values of --output, sorted.
func completeFormats(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	descriptions := output.FormatsWithDesc()
	var formats []cobra.Completion
	for _, format := range slices.Sorted(maps.Keys(descriptions)) {
		formats = append(formats, cobra.CompletionWithDesc(format, descriptions[format]))
	}
	return formats, cobra.ShellCompDirectiveNoFileComp
}

// completeWait suggests the values of --wait. Of values that mean the same, such as false
// and 0, it suggests only one.
func completeWait(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
		cobra.CompletionWithDesc("false", "do not wait"),
		cobra.CompletionWithDesc("ordered", "deploy in the order that the chart declares"),
		cobra.CompletionWithDesc("true", "wait until all resources are ready"),
	}, cobra.ShellCompDirectiveNoFileComp
}
