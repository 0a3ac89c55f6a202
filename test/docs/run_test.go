// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// notPages contains the files in docs/ that are not run, because they contain no sequence of
// commands. Other tests check their content.
var notPages = []string{"docs/reference.md", "docs/differences.md", "docs/lint.md", "docs/benchmarks.md", "docs/permissions.md"}

// controllerPage is the page whose commands need a running controller.
const controllerPage = "docs/controller.md"

// pages returns the paths of the pages that are run, relative to the root of the repository.
func pages(tb testing.TB) []string {
	tb.Helper()
	root := binaries.Root(tb)
	found := []string{"README.md", "examples/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == "adr" {
			return fs.SkipDir
		}
		name, err := filepath.Rel(root, file)
		if name = filepath.ToSlash(name); strings.HasSuffix(name, ".md") && !slices.Contains(notPages, name) {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(binaries.Root(tb), filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func parsePage(tb testing.TB, name string) *Page {
	tb.Helper()
	page, err := Parse(read(tb, name))
	if err != nil {
		tb.Fatalf("%s:%v", name, err)
	}
	return page
}

// TestPages follows every page: it runs the commands and compares their output with the page.
func TestPages(t *testing.T) {
	for _, name := range pages(t) {
		if name == controllerPage {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := parsePage(t, name)
			checkParts(t, name, page)
			if len(page.Steps) > 0 {
				newReader(t, name).follow(page)
			}
		})
	}
}

// TestControllerPage follows the page about the controller, with a running controller. It is no part of TestPages, whose
// pages run at the same time, because it installs the same roles as one of them.
func TestControllerPage(t *testing.T) {
	page := parsePage(t, controllerPage)
	checkParts(t, controllerPage, page)
	r := newReader(t, controllerPage)
	r.startController("team-a")
	r.follow(page)
}

// startController starts a controller for the HelmRequests in a namespace, which the page creates. It has the
// permissions of the reader: test/e2e/controller tests those of its chart.
func (r *reader) startController(namespace string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), binaries.Get(r.t).Controller, "--namespace", namespace,
		"--allow-local-chart-sources", "--metrics-bind-address", "0", "--health-probe-bind-address", "0")
	var log bytes.Buffer
	cmd.Env, cmd.Stderr = r.env, &log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Wait() // the end of the test kills it
		if r.t.Failed() {
			r.t.Logf("log of the controller:\n%s", log.String())
		}
	})
}

// checkParts checks that every Part of a page occurs in a file on the page or in examples/.
func checkParts(t *testing.T, name string, page *Page) {
	t.Helper()
	for _, part := range page.Parts {
		var files []string
		switch part.Language {
		case "yaml", "lua":
			for _, s := range page.Steps {
				files = append(files, s.Content)
			}
			files = append(files, examples(t, "."+part.Language)...)
		case "go":
			files = examples(t, ".go")
		}
		if !slices.ContainsFunc(files, func(file string) bool { return Contains(file, part.Text) }) {
			t.Errorf("%s:%d: no file of the page or of examples/ has this in it:\n%s", name, part.Line, part.Text)
		}
	}
}

// examples returns the contents of the files in examples/ whose names have the suffix end.
func examples(t *testing.T, end string) []string {
	t.Helper()
	var texts []string
	err := filepath.WalkDir(filepath.Join(binaries.Root(t), "examples"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, end) {
			return err
		}
		text, err := os.ReadFile(file)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// reader follows the steps of a page in a directory and a namespace of its own.
type reader struct {
	t    *testing.T
	page string
	// dir is the working directory, which contains links to examples/ and cmd/.
	dir       string
	env       []string
	namespace string
}

func newReader(t *testing.T, page string) *reader {
	t.Helper()
	shared := cluster.Shared(t)
	r := &reader{t: t, page: page, dir: t.TempDir(), namespace: shared.Namespace(t)}
	home := t.TempDir()
	commands := filepath.Join(home, "bin")
	if err := os.Mkdir(commands, 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		filepath.Join(commands, "helm"):    binaries.Get(t).Helm,
		filepath.Join(commands, "helm4"):   binaries.Get(t).Helm4,
		filepath.Join(commands, "kubectl"): shared.Kubectl(),
		filepath.Join(r.dir, "examples"):   filepath.Join(binaries.Root(t), "examples"),
		filepath.Join(r.dir, "cmd"):        filepath.Join(binaries.Root(t), "cmd"),
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "HELM_") {
			r.env = append(r.env, variable)
		}
	}
	r.env = append(r.env, "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"PATH="+commands+string(filepath.ListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+r.kubeconfig(shared, home),
		"http_proxy="+r.repository(), "TERM=dumb", "TZ=UTC", "LC_ALL=C.UTF-8", "GOGC=400") // starting the program is most of the cost of a run
	return r
}

// repository starts a web server with two repositories, and returns its address. Programs use it as
// their proxy. http://charts.example.com stores files in the directory charts.example.com, and
// http://museum.example.com has the API of ChartMuseum.
func (r *reader) repository() string {
	r.t.Helper()
	hosts := map[string]http.Handler{
		"charts.example.com": &chartserver.FileStore{Folder: filepath.Join(r.dir, "charts.example.com")},
		"museum.example.com": &chartserver.Museum{Folder: r.t.TempDir()},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		host, known := hosts[request.Host]
		if !known {
			http.Error(w, "only http://charts.example.com and http://museum.example.com are available", http.StatusBadGateway)
			return
		}
		host.ServeHTTP(w, request)
	}))
	r.t.Cleanup(server.Close)
	return server.URL
}

// kubeconfig writes a kubeconfig whose default namespace is that of the reader, and returns
// its path.
func (r *reader) kubeconfig(c *cluster.Cluster, dir string) string {
	r.t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err == nil {
		config.Contexts[config.CurrentContext].Namespace = r.namespace
		err = clientcmd.WriteToFile(*config, filepath.Join(dir, "kubeconfig"))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return filepath.Join(dir, "kubeconfig")
}

// follow executes the steps of a page. It stops at the first command whose output differs from
// the page, because later commands would probably fail too.
func (r *reader) follow(page *Page) {
	r.t.Helper()
	for _, s := range page.Steps {
		if s.File != "" {
			r.write(s)
			continue
		}
		output, code := r.run(s.Command)
		if code != s.Code {
			r.t.Fatalf("%s:%d: %s: exit code %d, want %d\n%s", r.page, s.Line, s.Command, code, s.Code, output)
		}
		if len(s.Output) == 0 {
			continue
		}
		if err := Match(s.Output, output); err != nil {
			r.t.Fatalf("%s:%d: %s: %v", r.page, s.Line, s.Command, err)
		}
	}
}

func (r *reader) write(s Step) {
	r.t.Helper()
	file := filepath.Join(r.dir, filepath.FromSlash(s.File))
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(s.Content), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// run runs a command and returns its output, as a terminal would show it. The name of the
// reader's namespace is replaced by "default".
func (r *reader) run(command string) (output string, code int) {
	r.t.Helper()
	const longest = 2 * time.Minute
	ctx, cancel := context.WithTimeout(r.t.Context(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.env, time.Second // for children that keep the output open
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), r.namespace, "default"), cmd.ProcessState.ExitCode()
}
