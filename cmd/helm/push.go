// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/pusher"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/uploaderplugin"
	"github.com/ordered-helm/helm/pkg/action"
)

const pushHelp = `
Upload a packaged chart, together with its provenance file if there is one in the same
directory. The remote is

- an OCI registry. The chart's name and version become the last part of the reference, as
  in oci://example.com/charts/shop:1.2.3:

    $ helm push shop-1.2.3.tgz oci://example.com/charts

- the name of a repository that was added with "helm repo add", whose credentials and
  certificates are used, or the http or https URL of a repository. By default, the chart is
  uploaded with the API of ChartMuseum:

    $ helm push shop-1.2.3.tgz example
    $ helm push shop-1.2.3.tgz https://example.com/charts

  With --http-method put, the files are stored with PUT requests, for example on a WebDAV
  server. --update-index also adds the chart to the index.yaml of the repository:

    $ helm push shop-1.2.3.tgz example --http-method put --update-index

- a URL with another scheme, if a plugin has an uploader for it.

An access token can also be set in the environment variable HELM_REPO_ACCESS_TOKEN, so that
other users of the machine cannot see it.
`

// accessTokenVariable is the environment variable for --access-token. The plugin for ChartMuseum
// reads the same variable.
const accessTokenVariable = "HELM_REPO_ACCESS_TOKEN" //nolint:gosec // no credentials, but the name of a variable

// pushMethod is a value of --http-method.
type pushMethod string

// pushInput holds the flags of the command.
type pushInput struct {
	registryOptions
	method pushMethod
	http   action.PushHTTPOptions
}

func newPushCmd(a *app) *cobra.Command {
	var in pushInput
	cmd := &cobra.Command{
		Use:               "push [chart] [remote]",
		Short:             "upload a chart to a registry or repository",
		Long:              pushHelp,
		Args:              require.MinimumNArgs(2),
		ValidArgsFunction: a.completePush,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.push(cmd.Context(), in, args[0], args[1])
		},
	}
	f := cmd.Flags()
	addRegistryFlags(f, &in.registryOptions)
	choiceFlag[pushMethod]{
		name: "http-method", typeName: "post|put", choices: []pushMethod{"post", "put"},
		usage:        "[not in stock Helm] how to upload over HTTP: with ChartMuseum's API (post), or by storing the files (put)",
		descriptions: []string{"ChartMuseum's API", "store the files"},
	}.add(cmd, &in.method)
	f.StringVar(&in.http.ContextPath, "context-path", "", "[not in stock Helm] path of ChartMuseum's API on its server, if the API is not directly below the URL of the repository")
	f.BoolVar(&in.http.Force, "force", false, "[not in stock Helm] replace the chart in an HTTP repository if it exists")
	f.BoolVar(&in.http.UpdateIndex, "update-index", false, "[not in stock Helm] add the chart to the index.yaml of the repository; requires --http-method put")
	f.StringVar(&in.http.AccessToken, "access-token", "", "[not in stock Helm] bearer token for an HTTP repository; the default is $"+accessTokenVariable)
	completeFlag(cmd, "context-path", cobra.NoFileCompletions)
	completeFlag(cmd, "access-token", cobra.NoFileCompletions)
	return cmd
}

func (a *app) push(ctx context.Context, in pushInput, chart, remote string) error {
	if registry.IsOCI(remote) {
		client, err := a.registryClient(in.registryOptions)
		if err != nil {
			return err
		}
		a.config.RegistryClient = client
	} else {
		var stop func()
		ctx, stop = cancelOnSignal(ctx, signalHandlers{
			first:  func() { fmt.Fprintln(a.errOut, "Canceling the upload. Press Ctrl-C again to exit immediately.") },
			second: os.Exit,
		})
		defer stop()
	}
	client := action.NewPushWithOpts(
		action.WithPushConfig(a.config),
		action.WithTLSClientConfig(in.certFile, in.keyFile, in.caFile),
		action.WithInsecureSkipTLSVerify(in.insecure),
		action.WithPlainHTTP(in.plainHTTP),
		action.WithPushOptWriter(a.errOut),
		action.WithPushHTTPOptions(in.httpOptions(remote)),
	)
	client.Settings = a.settings
	output, err := client.RunWithContext(ctx, chart, remote)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, output)
	return err
}

// httpOptions returns the options for HTTP servers, with the access token of the environment if
// no flag sets credentials, and remote is not a registry.
func (in *pushInput) httpOptions(remote string) action.PushHTTPOptions {
	o := in.http
	o.Method, o.Username, o.Password = string(in.method), in.username, in.password
	if o.Username == "" && o.Password == "" && o.AccessToken == "" && !registry.IsOCI(remote) {
		o.AccessToken = os.Getenv(accessTokenVariable)
	}
	return o
}

// completePush suggests files for the chart, and repositories and URL schemes for the remote.
func (a *app) completePush(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return nil, cobra.ShellCompDirectiveDefault
	case 1:
		return a.pushRemotes(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	default:
		return noMoreArguments(cmd, args, word)
	}
}

// pushRemotes returns the names of repositories, and the beginnings of URLs, to which charts can
// be pushed.
func (a *app) pushRemotes() []cobra.Completion {
	var remotes []cobra.Completion
	for _, provider := range pusher.All(a.settings) {
		for _, scheme := range provider.Schemes {
			remotes = append(remotes, scheme+"://")
		}
	}
	for _, entry := range a.knownRepositories() {
		remotes = append(remotes, cobra.CompletionWithDesc(entry.Name, shownRepositoryURL(entry.URL)))
	}
	remotes = append(remotes, "https://", "http://")
	uploaders, _ := uploaderplugin.All(a.settings) // a plugin that cannot be read has no suggestions
	for _, u := range uploaders {
		for _, scheme := range u.Protocols {
			remotes = append(remotes, cobra.CompletionWithDesc(scheme+"://", "plugin "+u.Plugin))
		}
	}
	return remotes
}

// shownRepositoryURL returns the URL of a repository without what can be secret.
func shownRepositoryURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
