// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/cluster"
)

// freshVariable is an environment variable. If it is not empty, every scenario runs stock
// Helm.
const freshVariable = "PARITY_FRESH"

// recordingLifetime is how long a recording is valid. It limits the damage if the results
// depend on something that is missing from suiteKey.
const recordingLifetime = 7 * 24 * time.Hour

// recording identifies the file with the results of stock Helm in a scenario, from the last
// time when ours were the same. The path of the file contains a digest of everything that the
// results depend on, so that any change leads to another file.
//
// A recording is written only after a comparison without differences. If our results differ
// from a recording, stock Helm is run again, and only a difference from its new results fails
// the test.
type recording struct {
	path string // empty if recordings are not used
}

func newRecording(t *testing.T, stock string) recording {
	t.Helper()
	if os.Getenv(freshVariable) != "" || os.Getenv(cluster.ReuseEnv) != "" { // a cluster of unknown origin
		return recording{}
	}
	folder, err := recordingFolder(stock)
	if err != nil {
		t.Fatalf("find the recordings of stock Helm (%s=1 does without): %v", freshVariable, err)
	}
	name := sha256.Sum256([]byte(t.Name()))
	return recording{path: filepath.Join(folder, hex.EncodeToString(name[:16])+".json.gz")}
}

// recorded is the content of the file of a recording.
type recorded struct {
	Test string    // the name of the test, for people who read the file
	Time time.Time // when stock Helm was run
	Seen []string  // the result of each step, normalized
}

// load returns the recorded results of the steps of a scenario. found is false if there is no
// valid recording.
func (r recording) load(t *testing.T, sc scenario) (seen []string, found bool) {
	t.Helper()
	if r.path == "" {
		return nil, false
	}
	content, err := readRecorded(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	age := time.Since(content.Time)
	usable := err == nil && content.Test == t.Name() && len(content.Seen) == len(sc.steps)+1 &&
		age >= 0 && age < recordingLifetime
	return content.Seen, usable
}

func readRecorded(path string) (content recorded, err error) {
	file, err := os.Open(path)
	if err != nil {
		return recorded{}, err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return recorded{}, err
	}
	text, err := io.ReadAll(unzipped) // until the end, which contains the checksum
	if err != nil {
		return recorded{}, err
	}
	err = json.Unmarshal(text, &content)
	return content, err
}

// save records the results of stock Helm.
func (r recording) save(t *testing.T, seen []string) {
	t.Helper()
	if r.path == "" {
		return
	}
	if err := writeRecorded(r.path, recorded{Test: t.Name(), Time: time.Now(), Seen: seen}); err != nil {
		t.Errorf("record what stock showed: %v", err)
	}
}

// writeRecorded replaces the file atomically, because other processes may read it.
func writeRecorded(path string, content recorded) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(file)
	err = errors.Join(json.NewEncoder(zipped).Encode(content), zipped.Close(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// folders caches the results of recordingFolder, by path of stock Helm.
var folders sync.Map

// recordingFolder returns the directory with the recordings that are valid for this test
// program and the given binary of stock Helm.
func recordingFolder(stock string) (string, error) {
	find, _ := folders.LoadOrStore(stock, sync.OnceValues(func() (string, error) {
		return findFolder(stock)
	}))
	return find.(func() (string, error))()
}

func findFolder(stock string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key, err := suiteKey(stock)
	if err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "ordered-helm", "parity")
	return filepath.Join(parent, key), removeOld(parent, key)
}

// removeOld deletes the recording directories of other keys that were not written to within
// recordingLifetime.
func removeOld(parent, key string) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var failed []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || entry.Name() == key || time.Since(info.ModTime()) < recordingLifetime {
			continue
		}
		failed = append(failed, os.RemoveAll(filepath.Join(parent, entry.Name())))
	}
	return errors.Join(append(failed, err)...)
}

// suiteKey returns a digest of everything that the results of stock Helm depend on: the sources of
// the tests, with every scenario, rule and server; the versions of modules; stock Helm; the initial
// files of each sandbox; the control plane; and the machine. Packages of the product that the tests
// import are no part of it: if they lead to other results of ours, stock Helm is run again anyway.
func suiteKey(stock string) (string, error) {
	plane, err := cluster.Key()
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "control plane %s\n", plane)
	err = errors.Join(
		digestSources(digest),
		digestFile(digest, "../go.sum"),
		digestFile(digest, stock),
		digestTree(digest, "testdata"),
		digestMachine(digest),
	)
	return hex.EncodeToString(digest.Sum(nil)[:16]), err
}

// digestSources adds the Go files of this package, and of the packages for tests that it imports, to
// a digest.
func digestSources(digest hash.Hash) error {
	list := exec.Command("go", "list", "-test", "-deps", "-f", "{{if .Module}}{{.ImportPath}}\t{{.Dir}}{{end}}", ".") //nolint:noctx // takes less than a second
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the imported packages: %w", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		isTest := strings.HasPrefix(path, "github.com/ordered-helm/helm/test/") || strings.HasPrefix(path, "github.com/ordered-helm/helm/internal/testutil/")
		if !isTest || seen[dir] {
			continue
		}
		seen[dir] = true
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			fmt.Fprintf(digest, "%s %s\n", path, filepath.Base(file))
			if err := digestFile(digest, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func digestFile(digest hash.Hash, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	content := sha256.New()
	if _, err := io.Copy(content, file); err != nil {
		return err
	}
	fmt.Fprintf(digest, "file %x\n", content.Sum(nil))
	return nil
}

func digestTree(digest hash.Hash, folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(digest, "%q %v\n", path, info.Mode())
		if entry.IsDir() {
			return nil
		}
		return digestFile(digest, path)
	})
}

// digestMachine adds the properties of the machine on which results may depend to a digest:
// the user, the modes of new files, and the programs that scenarios and plugins run.
func digestMachine(digest hash.Hash) error {
	mode, err := modeOfNewFiles()
	if err != nil {
		return err
	}
	fmt.Fprintf(digest, "user %d mode %v PATH %q\n", os.Getuid(), mode, os.Getenv("PATH"))
	for _, name := range []string{"sh", "bash", "git", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(digest, "%s %d %v\n", path, info.Size(), info.ModTime().UTC())
	}
	return nil
}

func modeOfNewFiles() (fs.FileMode, error) {
	dir, err := os.MkdirTemp("", "parity-mode-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}
