// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/cluster"
)

// sandbox is the environment in which one of the programs executes the steps of a scenario: a
// directory with a copy of testdata, a home directory, and a namespace.
type sandbox struct {
	t         *testing.T
	program   string
	side      rune
	dir       string
	namespace string
	env       []string
	cluster   *server // nil without a cluster
	rules     []rule
	unchecked bool
	given     map[string]string // the files of testdata, by path
	servers   map[string]*chartserver.Server
	places    []place

	seen []string
	err  error
}

type sandboxOptions struct {
	program string
	side    rune
	number  int32
	cluster *cluster.Cluster // nil if there is none
}

// runID is part of the names of namespaces, so that several test runs can use one cluster.
var runID = fmt.Sprintf("%05x", rand.N(1<<20))

func newSandbox(t *testing.T, sc scenario, o sandboxOptions) *sandbox {
	t.Helper()
	w := &sandbox{
		t:       t,
		program: o.program,
		side:    o.side,
		dir:     sandboxDir(t),
		// The names have the same length for both programs, because the width of columns
		// depends on it.
		namespace: fmt.Sprintf("p%s-%03d%c", runID, o.number, o.side),
		rules:     sc.rules,
		unchecked: sc.unchecked,
	}
	if len(sc.differs) == 0 {
		w.rules = append(slices.Clone(w.rules), atomicCause)
	}
	if !sc.hookReasons {
		w.rules = append(slices.Clone(w.rules), hookReasons)
	}
	w.places = []place{{"@DIR@", w.dir}}
	home := filepath.Join(w.dir, "home")
	kubeconfig := filepath.Join(home, "no-kubeconfig")
	if o.cluster != nil {
		kubeconfig = o.cluster.Kubeconfig()
		w.cluster = connect(t, o.cluster, w.namespace)
	}
	var err error
	if w.given, err = copyTree(w.dir, "testdata", w.namespace); err != nil {
		t.Fatal(err)
	}
	w.env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"TZ=UTC",
		"HELM_PROGRESS=none", // stock Helm does not know it; a scenario tests the default
		"GOGC=400",           // starting the program takes most of the time of a run
		"HOME=" + home,
		"HELM_CACHE_HOME=" + filepath.Join(home, "cache"),
		"HELM_CONFIG_HOME=" + filepath.Join(home, "config"),
		"HELM_DATA_HOME=" + filepath.Join(home, "data"),
		"HELM_NAMESPACE=" + w.namespace,
		"KUBECONFIG=" + kubeconfig,
	}, sc.env...)
	return w
}

func (w *sandbox) title() string {
	if w.side == sideStock {
		return "stock"
	}
	return "ours"
}

// sandboxDir creates the directory of a sandbox, in memory if possible, because each sandbox
// contains several hundred files.
func sandboxDir(t *testing.T) string {
	t.Helper()
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "parity-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// place is a value that differs between sandboxes.
type place struct{ placeholder, value string }

// namespacePlaceholder stands for the namespace in the files of testdata, and in the words
// of a command.
const namespacePlaceholder = "@NAMESPACE@"

// expand replaces placeholders in the words of a step: the namespace, and @DIR@ for the
// sandbox's directory.
func (w *sandbox) expand(s string) string {
	for _, p := range w.places {
		s = strings.ReplaceAll(s, p.placeholder, p.value)
	}
	return strings.ReplaceAll(s, namespacePlaceholder, w.namespace)
}

// copyTree copies the content of a directory and replaces the namespace. It returns the
// files by path relative to the directory.
func copyTree(to, from, namespace string) (map[string]string, error) {
	contents := make(map[string]string)
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte(namespacePlaceholder), []byte(namespace))
		contents[relative] = string(data)
		return os.WriteFile(target, data, info.Mode().Perm())
	})
	return contents, err
}

// files describes the files in the sandbox's directory that were added or changed, and lists
// those of testdata that were deleted.
func (w *sandbox) files() (string, error) {
	var out strings.Builder
	unseen := maps.Clone(w.given)
	err := filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".kube", entry.Name() == ".git": // discovery caches of kubectl clients, and git's data
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		relative, err := filepath.Rel(w.dir, path)
		if err != nil {
			return err
		}
		delete(unseen, relative)
		text, err := describeFile(path)
		if given, ok := w.given[relative]; !ok || !strings.HasSuffix(text, "\n"+given+"\n") {
			fmt.Fprintf(&out, "file %s %s", relative, text)
		}
		return err
	})
	for _, path := range slices.Sorted(maps.Keys(unseen)) {
		fmt.Fprintf(&out, "no file %s\n", path)
	}
	return out.String(), err
}

// describeFile returns the mode and content of a file.
func describeFile(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return fmt.Sprintf("%v to %s\n", info.Mode(), target), err
	}
	data, err := os.ReadFile(path)
	if filepath.Ext(path) == ".tgz" {
		data = []byte(describeArchive(data))
	}
	return fmt.Sprintf("%v\n%s\n", info.Mode(), data), err
}

// leftBehind is the last step of every scenario. It describes the files and the objects in
// the cluster.
type leftBehind struct{}

func (leftBehind) run(ctx context.Context, w *sandbox) (string, error) {
	files, err := w.files()
	if err != nil || w.cluster == nil {
		return files, err
	}
	objects, err := w.cluster.snapshot(ctx)
	return files + objects, err
}
