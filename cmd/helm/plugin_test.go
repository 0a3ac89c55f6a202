// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/cli"
)

func TestSplitGlobalFlags(t *testing.T) {
	tests := []struct{ args, own, rest string }{
		{args: ""},
		{args: "a --b c -d", rest: "a --b c -d"},
		{args: "-n there a", own: "-n there", rest: "a"},
		{args: "a --namespace=there --debug b", own: "--namespace=there --debug", rest: "a b"},
		{args: "--debug=true", rest: "--debug=true"},
		{args: "a --kube-context", own: "--kube-context", rest: "a"},
		{args: "--kube-contexts x", rest: "--kube-contexts x"},
		{args: "--qps 5", rest: "--qps 5"},
		{args: "-- -n there", own: "-n there", rest: "--"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			own, rest := splitGlobalFlags(strings.Fields(tt.args))
			if got := strings.Join(own, " "); got != tt.own {
				t.Errorf("helm's own are %q, want %q", got, tt.own)
			}
			if got := strings.Join(rest, " "); got != tt.rest {
				t.Errorf("the plugin's are %q, want %q", got, tt.rest)
			}
		})
	}
}

func TestParseCompletions(t *testing.T) {
	tests := []struct {
		name, output string
		want         []string
		directive    cobra.ShellCompDirective
	}{
		{name: "nothing"},
		{name: "words", output: "a\n\nb\tabout b\n", want: []string{"a", "b\tabout b"}},
		{name: "directive", output: "a\n:4\n", want: []string{"a"}, directive: cobra.ShellCompDirectiveNoFileComp},
		{name: "directive alone", output: ":2", want: []string{}, directive: cobra.ShellCompDirectiveNoSpace},
		{name: "directive in between", output: ":4\na", want: []string{":4", "a"}},
		{name: "no number", output: "a\n:x\n", want: []string{"a", ":x"}},
		{name: "colon", output: ":\n", want: []string{":"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, directive := parseCompletions(tt.output)
			if !slices.Equal(got, tt.want) || directive != tt.directive {
				t.Errorf("got %q and %d, want %q and %d", got, directive, tt.want, tt.directive)
			}
		})
	}
}

// TestAddPluginFlags includes lists of flags for which stock Helm panics.
func TestAddPluginFlags(t *testing.T) {
	tests := []struct{ names, want string }{
		{names: ""},
		{names: "all verbose", want: "--all --verbose"},
		{names: "a all", want: "-a --all"},
		{names: "a all b brief verbose", want: "-a --all -b --brief --verbose"},
		{names: "a b all", want: "-a --all -b --b"},
		{names: "all all", want: "--all"},
		{names: "a a all brief", want: "-a --all --brief"},
		{names: "n name", want: "--name"},
		{names: "n", want: "--n"},
		{names: "h", want: "--h"},
		{names: "h help", want: "-h --help"},
		{names: "namespace", want: "--namespace"},
	}
	for _, tt := range tests {
		t.Run(tt.names, func(t *testing.T) {
			root := &cobra.Command{Use: "helm"}
			cli.New().AddFlags(root.PersistentFlags())
			cmd := &cobra.Command{Use: "plugin", Run: func(*cobra.Command, []string) {}}
			root.AddCommand(cmd)
			addPluginFlags(cmd, strings.Fields(tt.names))
			var got []string
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if f.Shorthand != "" {
					got = append(got, "-"+f.Shorthand)
				}
				got = append(got, "--"+f.Name)
			})
			if strings.Join(got, " ") != tt.want {
				t.Errorf("the flags are %q, want %q", got, tt.want)
			}
			if err := cmd.Usage(); err != nil { // this merges helm's flags into the set
				t.Error(err)
			}
		})
	}
}

func TestCheckPluginPath(t *testing.T) {
	a := &app{settings: cli.New()}
	a.settings.PluginsDirectory = "/data/plugins/"
	for path, ok := range map[string]bool{
		"/data/plugins/hello": true,
		"/data/plugins":       false,
		"/data":               false,
		"/data/plugins/a/b":   false,
	} {
		if err := a.checkPluginPath("source", path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestTerminatedPlugin sends SIGTERM to helm while a plugin runs.
func TestTerminatedPlugin(t *testing.T) {
	program := exec.CommandContext(t.Context(), "sh", "-c", "trap 'exit 3' TERM; echo ready; read line; exit 4")
	stdin, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	program.Stdout = ours
	result := make(chan error, 1)
	go func() { result <- runForwarding(t.Context(), program) }()

	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = <-result
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the plugin ended with %v, want its own exit code 3", err)
	}
}

func TestExitCode(t *testing.T) {
	failed := fmt.Errorf("wrapped: %w", &pluginExitError{name: "hello", code: 7})
	for err, want := range map[error]int{failed: 7, errors.New("other"): 1} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}

// TestFailedPluginInstallation checks that a failed installation leaves the plugin
// directory unchanged.
func TestFailedPluginInstallation(t *testing.T) {
	for name, manifest := range map[string]string{
		"no manifest":     "",
		"broken manifest": "name: [",
		"hostile name":    "name: ../../hello\n",
	} {
		t.Run(name, func(t *testing.T) {
			source := filepath.Join(t.TempDir(), "hello")
			if err := os.Mkdir(source, 0o755); err != nil {
				t.Fatal(err)
			}
			if manifest != "" {
				if err := os.WriteFile(filepath.Join(source, "plugin.yaml"), []byte(manifest), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			plugins := t.TempDir()
			t.Setenv("HELM_PLUGINS", plugins)
			if got := runHelm(t, "plugin", "install", source); got.code != 1 || got.stdout != "" {
				t.Errorf("installed: %+v", got)
			}
			left, err := os.ReadDir(plugins)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if _, err := os.Stat(source); err != nil {
				t.Errorf("the source is gone: %v", err)
			}
		})
	}
}

// packed returns a .tar.gz archive that contains one file.
func packed(t *testing.T, name, text string) []byte {
	t.Helper()
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	out := tar.NewWriter(compressed)
	if err := out.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// TestPluginFromArchive checks that plugins are installed from archives into $HELM_PLUGINS,
// can be installed again, and leave no files if they are rejected.
func TestPluginFromArchive(t *testing.T) {
	archives := map[string][]byte{
		"/hello-1.0.0.tgz":  packed(t, "plugin.yaml", "name: hello\nversion: 1.0.0\ncommand: echo hello\n"),
		"/hollow-1.0.0.tgz": packed(t, "readme.txt", "x"),
		"/up-1.0.0.tgz":     packed(t, "../up.txt", "x"),
		"/text-1.0.0.tgz":   []byte("text"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(archives[r.URL.Path])
	}))
	defer server.Close()
	plugins := filepath.Join(t.TempDir(), "plugins")
	t.Setenv("HELM_PLUGINS", plugins)
	for _, args := range []string{"install " + server.URL + "/hello-1.0.0.tgz", "uninstall hello", "install " + server.URL + "/hello-1.0.0.tgz"} {
		if got := runHelm(t, append([]string{"plugin"}, strings.Fields(args)...)...); got.code != 0 {
			t.Fatalf("plugin %s: %+v", args, got)
		}
	}
	for name, want := range map[string]string{
		"hello":  "plugin already exists",
		"hollow": "plugin metadata (plugin.yaml) missing",
		"up":     "extracting files from archive: path contains '..', which is illegal",
		"text":   "extracting files from archive: unexpected EOF",
	} {
		if got := runHelm(t, "plugin", "install", server.URL+"/"+name+"-1.0.0.tgz"); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: got %+v, want %q", name, got, want)
		}
	}
	var files []string
	if err := filepath.WalkDir(filepath.Dir(plugins), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(plugins, "hello", "plugin.yaml")}; !slices.Equal(files, want) {
		t.Errorf("there is %q, want %q", files, want)
	}
}
