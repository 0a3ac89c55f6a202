// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordered-helm/helm/internal/terminalsafe"
)

const rootHelp = `Helm installs, upgrades and uninstalls applications on Kubernetes that are packaged as
charts.

This is Ordered Helm. With --wait=ordered it deploys the resources and subcharts of a
chart in the order that the chart declares, and deletes them in reverse. Without that
option it behaves like stock Helm 3. The help of the commands marks features that stock
Helm does not have.

Common commands:

    $ helm install shop ./shop                  install a chart as release "shop"
    $ helm install shop ./shop --wait=ordered   the same, in the order of the chart
    $ helm dag ./shop                           show that order
    $ helm plan shop ./shop --wait=ordered      preview the following upgrade
    $ helm upgrade shop ./shop --wait=ordered   upgrade the release
    $ helm rollback shop                        return to the previous revision
    $ helm list                                 list the installed releases
    $ helm uninstall shop                       uninstall the release

Environment variables:

| Variable                           | Meaning                                                             |
|------------------------------------|---------------------------------------------------------------------|
| $HELM_BURST_LIMIT                  | requests sent before throttling starts (100; -1 disables it)        |
| $HELM_CACHE_HOME                   | directory of cached files                                           |
| $HELM_CONFIG_HOME                  | directory of configuration files                                    |
| $HELM_DATA_HOME                    | directory of data files                                             |
| $HELM_DEBUG                        | print debug output, like --debug                                    |
| $HELM_DRIVER                       | where releases are stored: secret, configmap, memory, sql;          |
|                                    | chunked-secret or crd [not in stock Helm]                           |
| $HELM_DRIVER_SQL_CONNECTION_STRING | connection string of the database of the sql driver                 |
| $HELM_KUBEAPISERVER                | address of the Kubernetes API server                                |
| $HELM_KUBEASGROUPS                 | groups to impersonate, separated by commas                          |
| $HELM_KUBEASUSER                   | user to impersonate                                                 |
| $HELM_KUBECAFILE                   | certificate authority of the Kubernetes API server                  |
| $HELM_KUBECONTEXT                  | context of the kubeconfig file to use                               |
| $HELM_KUBEINSECURE_SKIP_TLS_VERIFY | skip TLS certificate checks for the API server (insecure)           |
| $HELM_KUBETLS_SERVER_NAME          | expected name in the certificate of the Kubernetes API server       |
| $HELM_KUBETOKEN                    | bearer token for the Kubernetes API server                          |
| $HELM_MAX_HISTORY                  | maximum number of revisions of a release to keep                    |
| $HELM_MAX_PARALLEL_HOOKS           | [not in stock Helm] maximum number of hooks that run in parallel    |
| $HELM_MEMORY_DRIVER_DATA           | YAML files with the initial releases of the memory driver           |
| $HELM_NAMESPACE                    | namespace of the release                                            |
| $HELM_NO_PLUGINS                   | set to 1 to disable plugins                                         |
| $HELM_OWNER_REFERENCES             | [not in stock Helm] false: releases of the crd driver own no objects|
| $HELM_PLUGINS                      | directory of plugins                                                |
| $HELM_QPS                          | requests per second to the Kubernetes API after a burst             |
| $HELM_READINESS_TIMEOUT            | [not in stock Helm] how long --wait=ordered waits for a resource    |
| $HELM_REGISTRY_CONFIG              | file with the credentials for registries                            |
| $HELM_REPO_ACCESS_TOKEN            | [not in stock Helm] bearer token of helm push for HTTP servers      |
| $HELM_REPOSITORY_CACHE             | directory of cached indexes of chart repositories                   |
| $HELM_REPOSITORY_CONFIG            | file with the names and URLs of chart repositories                  |
| $HELM_WAIT                         | [not in stock Helm] ordered: what --wait means without a value      |
| $KUBECONFIG                        | kubeconfig file ("~/.kube/config")                                  |

The directories for cached, configuration and data files are set with the HELM_*_HOME
variables or else with the XDG variables. Without these, the operating system determines
the defaults:

| System  | Cache                     | Configuration                  | Data                    |
|---------|---------------------------|--------------------------------|-------------------------|
| Linux   | $HOME/.cache/helm         | $HOME/.config/helm             | $HOME/.local/share/helm |
| macOS   | $HOME/Library/Caches/helm | $HOME/Library/Preferences/helm | $HOME/Library/helm      |
| Windows | %TEMP%\helm               | %APPDATA%\helm                 | %APPDATA%\helm          |
`

func newRootCmd(a *app) *cobra.Command {
	var cpuProfile *os.File
	cmd := &cobra.Command{
		Use:               "helm",
		Short:             "Install and manage applications on Kubernetes, in the order that they declare",
		Long:              rootHelp,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			var err error
			if cpuProfile, err = startCPUProfile(); err != nil {
				log.Printf("Warning: Failed to start profiling: %v", err)
			}
			a.warnOfRetiredRepositories()
			return a.connect()
		},
		PersistentPostRun: func(*cobra.Command, []string) {
			if err := writeProfiles(cpuProfile); err != nil {
				log.Printf("Warning: Failed to stop profiling: %v", err)
			}
		},
	}
	cmd.SetArgs(a.args)
	if a.out != os.Stdout { // if the output is set, cobra prints error messages to it, too
		cmd.SetOut(a.out)
	}
	cmd.SetErr(terminalsafe.NewWriter(a.errOut)) // errors can contain text from charts and servers

	a.settings.AddFlags(cmd.PersistentFlags())
	addKlogFlags(cmd.PersistentFlags())
	completeFlag(cmd, "namespace", a.completeNamespaces)
	completeFlag(cmd, "kube-context", a.completeContexts)

	cmd.AddCommand(
		newCompletionCmd(a),
		newCreateCmd(a),
		newDagCmd(a),
		newDependencyCmd(a),
		newDocsCmd(a),
		newDriftCmd(a),
		newEnvCmd(a),
		newGetCmd(a),
		newHistoryCmd(a),
		newInstallCmd(newInstallActionInput(a)),
		newLintCmd(a),
		newListCmd(a),
		newPackageCmd(a),
		newPlanCmd(newUpgradeActionInput(a)),
		newPluginCmd(a),
		newPullCmd(a),
		newPushCmd(a),
		newRegistryCmd(a),
		newRepoCmd(a),
		newRollbackCmd(a),
		newSchemaCmd(a),
		newSearchCmd(a),
		newShowCmd(a),
		newStateCmd(a),
		newStatusCmd(a),
		newTemplateCmd(a),
		newTestCmd(a),
		newUninstallCmd(a),
		newUpgradeCmd(newUpgradeActionInput(a)),
		newVerifyCmd(a),
		newVersionCmd(a),
	)
	readGlobalFlags(cmd.PersistentFlags(), a.args)
	a.addPlugins(cmd)
	return cmd
}

// readGlobalFlags parses the global flags in args before cobra parses the command line.
// Plugins and shell completion need this, because cobra does not parse flags for them.
// Errors are ignored here, and are reported when the command runs.
func readGlobalFlags(global *pflag.FlagSet, args []string) {
	allowlist := global.ParseErrorsAllowlist
	defer func() { global.ParseErrorsAllowlist = allowlist }()
	global.ParseErrorsAllowlist.UnknownFlags = true
	_ = global.Parse(args)
	global.Visit(func(flag *pflag.Flag) {
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			flag.Value = &preparsedListFlag{Value: flag.Value, SliceValue: list}
		}
	})
}

// preparsedListFlag is the value of a list flag that readGlobalFlags has set. When cobra
// parses the command line again, the first value replaces the list instead of being appended
// to it.
type preparsedListFlag struct {
	pflag.Value
	pflag.SliceValue
	replaced bool
}

func (l *preparsedListFlag) Set(value string) error {
	if !l.replaced {
		l.replaced = true
		if err := l.Replace(nil); err != nil {
			return err
		}
	}
	return l.Value.Set(value)
}
