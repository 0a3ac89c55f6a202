// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"github.com/ordered-helm/helm/test/binaries"
)

// TestImage checks that a registry client can read the image for each platform, with the digests
// of all its parts, and that the program in it starts.
func TestImage(t *testing.T) {
	t.Parallel()
	set := binaries.Get(t)
	for name, c := range map[string]struct{ path, argument, says string }{
		"helm": {set.Helm, "version", "+ordered."}, "helm-controller": {set.Controller, "--help", "--leader-elect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkImage(t, name, c.path, c.argument, c.says)
		})
	}
}

// checkImage checks the image of a program that prints a text if it is started with an argument.
func checkImage(t *testing.T, name, program, argument, says string) {
	t.Helper()
	root, dir, other := binaries.Root(t), t.TempDir(), filepath.Join(t.TempDir(), name)
	write(t, other, "the program for another platform\n")
	build := func(to string) {
		output(t, nil, "go", "-C", root, "run", "-trimpath", "-buildvcs=false", "./scripts/image", "-version", "v1.2.3", "-created", "1767323045", "-program", name, "-output", to,
			runtime.GOARCH+"="+program, "other="+other)
	}
	layout, again := filepath.Join(dir, "image"), filepath.Join(dir, "again")
	build(layout)
	build(again)
	if first, second := output(t, nil, "find", layout, "-type", "f", "-printf", "%P\n"), output(t, nil, "find", again, "-type", "f", "-printf", "%P\n"); sortLines(first) != sortLines(second) {
		t.Errorf("the same input results in\n%sand in\n%s", first, second)
	}

	store, err := oci.New(layout)
	check(t, err)
	for _, architecture := range []string{runtime.GOARCH, "other"} {
		fetched, err := oras.Resolve(t.Context(), store, "v1.2.3", oras.ResolveOptions{TargetPlatform: &v1.Platform{OS: "linux", Architecture: architecture}})
		check(t, err)
		var manifest v1.Manifest
		fetch(t, store, fetched, &manifest)
		var config v1.Image
		fetch(t, store, manifest.Config, &config)
		if config.Architecture != architecture || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/" + name}) ||
			len(manifest.Layers) != 1 || config.RootFS.DiffIDs[0] != manifest.Layers[0].Digest {
			t.Errorf("the configuration for %s is %+v", architecture, config)
		}
		layer, err := content.FetchAll(t.Context(), store, manifest.Layers[0]) // compares the digest
		check(t, err)
		started := filepath.Join(dir, architecture)
		if files := unpack(t, layer, started); files != "home home/helm tmp usr usr/local usr/local/bin usr/local/bin/"+name {
			t.Errorf("the image contains %s", files)
		}
		if architecture == runtime.GOARCH {
			if out, err := exec.CommandContext(t.Context(), started, argument).CombinedOutput(); err != nil || !strings.Contains(string(out), says) {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
}

// writeProgram writes a program that is then executed. No process is started while the file is open: it
// would inherit the open file, and a file that is open for writing cannot be executed.
func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

func sortLines(lines string) string {
	return strings.Join(slices.Sorted(strings.Lines(lines)), "")
}

func fetch(t *testing.T, store *oci.Store, d v1.Descriptor, to any) {
	t.Helper()
	blob, err := content.FetchAll(t.Context(), store, d)
	check(t, err)
	check(t, json.Unmarshal(blob, to))
}

// unpack writes the program in a layer to a file, and returns the names of all files.
func unpack(t *testing.T, layer []byte, program string) string {
	t.Helper()
	var names []string
	for archive := tar.NewReader(strings.NewReader(string(layer))); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(names, " ")
		}
		check(t, err)
		names = append(names, strings.TrimSuffix(h.Name, "/"))
		if h.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(archive)
			check(t, err)
			check(t, writeProgram(program, data))
		}
		if owned := h.Name == "home/helm/"; owned != (h.Uid == 65532) {
			t.Errorf("the owner of %s is %d", h.Name, h.Uid)
		}
	}
}
