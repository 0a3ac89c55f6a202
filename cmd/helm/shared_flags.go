// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/postrender"
	"k8s.io/klog/v2"

	"github.com/ordered-helm/helm/pkg/action"
)

func addValueFlags(f *pflag.FlagSet, v *values.Options) {
	f.StringSliceVarP(&v.ValueFiles, "values", "f", nil, "YAML file or URL with values; can be repeated, the last one takes precedence")
	f.StringArrayVar(&v.Values, "set", nil, "set values: key1=val1,key2=val2; can be repeated")
	f.StringArrayVar(&v.StringValues, "set-string", nil, "set string values: key1=val1,key2=val2; can be repeated")
	f.StringArrayVar(&v.FileValues, "set-file", nil, "set values to the contents of files: key1=path1,key2=path2; can be repeated")
	f.StringArrayVar(&v.JSONValues, "set-json", nil, "set values to JSON: key1=json1,key2=json2, or one JSON object; can be repeated")
	f.StringArrayVar(&v.LiteralValues, "set-literal", nil, "set a value to literal text; can be repeated")
}

// addChartPathFlags adds the flags that say where to find the chart and how to download it.
// position returns the index of the chart among the arguments, for the completion of
// --version.
func (a *app) addChartPathFlags(cmd *cobra.Command, c *action.ChartPathOptions, position func() int) {
	f := cmd.Flags()
	f.StringVar(&c.Version, "version", "", "version of the chart, or a range such as ^2.0.0 (default: the latest)")
	f.BoolVar(&c.Verify, "verify", false, "verify the signature of the package before using it")
	f.StringVar(&c.Keyring, "keyring", defaultKeyring(), "file with the public keys for verifying signatures")
	f.StringVar(&c.RepoURL, "repo", "", "URL of the chart repository that contains the chart")
	f.StringVar(&c.Username, "username", "", "user name for the chart repository")
	f.StringVar(&c.Password, "password", "", "password for the chart repository")
	f.StringVar(&c.CertFile, "cert-file", "", "client certificate for an HTTPS server")
	f.StringVar(&c.KeyFile, "key-file", "", "key of the client certificate")
	f.BoolVar(&c.InsecureSkipTLSverify, "insecure-skip-tls-verify", false, "skip TLS certificate checks for the chart download (insecure)")
	f.BoolVar(&c.PlainHTTP, "plain-http", false, "download the chart over plain HTTP")
	f.StringVar(&c.CaFile, "ca-file", "", "CA bundle for verifying certificates of HTTPS servers")
	f.BoolVar(&c.PassCredentialsAll, "pass-credentials", false, "send user name and password to all hosts, not only to the host of the repository")
	completeFlag(cmd, "version", a.completeVersionOf(position))
}

// defaultKeyring returns the path of GnuPG's public keyring.
func defaultKeyring() string {
	home, ok := os.LookupEnv("GNUPGHOME")
	if !ok {
		// Without a home directory, the path is relative, and reading it fails.
		userHome, _ := os.UserHomeDir()
		home = filepath.Join(userHome, ".gnupg")
	}
	return filepath.Join(home, "pubring.gpg")
}

// formatFlag implements pflag.Value for the flag --output with Helm's formats.
type formatFlag struct{ format output.Format }

func (v *formatFlag) String() string { return string(v.format) }
func (v *formatFlag) Type() string   { return "format" }
func (v *formatFlag) Set(s string) error {
	format, err := output.ParseFormat(s)
	if err != nil {
		return err
	}
	v.format = format
	return nil
}

// addOutputFlag adds the flag --output with Helm's formats to a command. The returned
// formatFlag holds the value once the command line has been parsed.
func addOutputFlag(cmd *cobra.Command) *formatFlag {
	v := &formatFlag{format: output.Table}
	cmd.Flags().VarP(v, "output", "o", "how the result is printed: "+strings.Join(output.Formats(), ", "))
	completeFlag(cmd, "output", completeFormats)
	return v
}

// capabilityFlags holds the flags --kube-version and --api-versions, which describe the
// cluster for which a chart is rendered.
type capabilityFlags struct {
	kubeVersion string
	apiVersions []string
}

func (c *capabilityFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.kubeVersion, "kube-version", "", "Kubernetes version to render for")
	f.StringSliceVarP(&c.apiVersions, "api-versions", "a", nil, "API versions to render for, in addition to the default ones")
}

func (c *capabilityFlags) apply(client *action.Install) (err error) {
	client.APIVersions = chartutil.VersionSet(c.apiVersions)
	client.KubeVersion, err = parseKubeVersion(c.kubeVersion)
	return err
}

// parseKubeVersion parses the value of --kube-version, and returns nil if it is empty.
func parseKubeVersion(text string) (*chartutil.KubeVersion, error) {
	if text == "" {
		return nil, nil
	}
	version, err := chartutil.ParseKubeVersion(text)
	if err != nil {
		return nil, fmt.Errorf("invalid kube version '%s': %w", text, err)
	}
	return version, nil
}

// postRendererFlags holds the values of --post-renderer and --post-renderer-args. As the flags
// can be given in any order, each of them calls resolve when it is parsed.
type postRendererFlags struct {
	app    *app
	target *postrender.PostRenderer // the option of the action that the flags set
	path   string
	args   []string
}

func (a *app) addPostRendererFlags(f *pflag.FlagSet, target *postrender.PostRenderer) {
	p := &postRendererFlags{app: a, target: target}
	f.Var((*postRendererPathFlag)(p), "post-renderer", "program that processes the rendered manifests before they are used: a name in $PATH, or a path; a .lua file or a plugin in Lua runs inside helm")
	f.Var((*postRendererArgsFlag)(p), "post-renderer-args", "argument for the post-renderer; can be repeated")
}

// resolve finds the program, and sets target to it with the arguments that have been parsed so
// far. It does nothing if --post-renderer has not been parsed.
func (p *postRendererFlags) resolve() error {
	if p.path == "" {
		return nil
	}
	renderer, err := p.app.postRenderer(p.path, p.args)
	if err != nil {
		return err
	}
	*p.target = renderer
	return nil
}

type postRendererPathFlag postRendererFlags

func (p *postRendererPathFlag) String() string { return p.path }
func (p *postRendererPathFlag) Type() string   { return "postRendererString" }
func (p *postRendererPathFlag) Set(path string) error {
	if path == "" {
		return nil
	}
	p.path = path
	return (*postRendererFlags)(p).resolve()
}

type postRendererArgsFlag postRendererFlags

func (p *postRendererArgsFlag) String() string { return "[" + strings.Join(p.args, ",") + "]" }
func (p *postRendererArgsFlag) Type() string   { return "postRendererArgsSlice" }
func (p *postRendererArgsFlag) Set(arg string) error {
	p.args = append(p.args, arg)
	return (*postRendererFlags)(p).resolve()
}

const takeoverFlagName = "takeover"

func addTakeoverFlag(cmd *cobra.Command, takeover *action.Takeover) {
	choiceFlag[action.Takeover]{
		name: takeoverFlagName, typeName: "auto|never|force",
		usage:   "[not in stock Helm] what to do if the release is locked by another operation: \"auto\" takes over the release if the lock holder is no longer alive, \"never\" does not, \"force\" also takes over a release whose record names no lock holder, such as a release left pending by stock Helm",
		choices: action.Takeovers(),
		descriptions: []string{
			"take over the release if the lock holder is no longer alive", "never take over the release", "also if the record names no lock holder",
		},
	}.add(cmd, takeover)
}

// addKlogFlags adds the flags of klog, the logger of the Kubernetes client library, such as
// -v. They are hidden in help texts.
func addKlogFlags(f *pflag.FlagSet) {
	local := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(local)
	local.VisitAll(func(fl *flag.Flag) {
		fl.Name = strings.ReplaceAll(fl.Name, "_", "-")
		if f.Lookup(fl.Name) != nil {
			return
		}
		added := pflag.PFlagFromGoFlag(fl)
		added.Hidden = true
		f.AddFlag(added)
	})
}
