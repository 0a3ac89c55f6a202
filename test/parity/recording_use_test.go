// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// shortScenario is a short scenario without a cluster.
var shortScenario = scenario{noCluster: true, steps: []step{helm("status"), helm("version --template {{.Version}}")}}

// TestRecordingReplacesStockRun checks that stock Helm is run only for the first comparison.
func TestRecordingReplacesStockRun(t *testing.T) {
	t.Parallel()
	programs := binaries.Get(t)
	r := recording{path: filepath.Join(t.TempDir(), "folder", "file.json.gz")}
	compare(t, programs, shortScenario, r)
	if seen, found := r.load(t, shortScenario); !found || len(seen) != len(shortScenario.steps)+1 {
		t.Fatalf("recorded: %v, %q", found, seen)
	}
	programs.Stock = filepath.Join(t.TempDir(), "none")
	compare(t, programs, shortScenario, r)
}

// TestDifferenceFromRecordingIsVerified checks that stock Helm is run if our results differ
// from a recording, and that the new results replace it.
func TestDifferenceFromRecordingIsVerified(t *testing.T) {
	t.Parallel()
	programs := binaries.Get(t)
	r := recording{path: filepath.Join(t.TempDir(), "file.json.gz")}
	compare(t, programs, shortScenario, r)
	right, _ := r.load(t, shortScenario)
	for i := range right {
		wrong := slices.Clone(right)
		wrong[i] += "something else\n"
		r.save(t, wrong)
		compare(t, programs, shortScenario, r)
		if seen, _ := r.load(t, shortScenario); !slices.Equal(seen, right) {
			t.Errorf("with another result of step %d the recording is now\n%q\nnot\n%q", i+1, seen, right)
		}
	}
}

// TestInvalidRecordings checks that recordings are ignored if they are damaged, too old,
// or belong to another scenario.
func TestInvalidRecordings(t *testing.T) {
	t.Parallel()
	seen := []string{"one", "two", "three"}
	right := recorded{Test: t.Name(), Time: time.Now(), Seen: seen}
	other, old, early, short := right, right, right, right
	other.Test = "TestOther"
	old.Time = time.Now().Add(-recordingLifetime)
	early.Time = time.Now().Add(time.Hour)
	short.Seen = seen[:2]
	r := recording{path: filepath.Join(t.TempDir(), "file.json.gz")}
	for i, content := range []recorded{right, other, old, early, short} {
		if err := writeRecorded(r.path, content); err != nil {
			t.Fatal(err)
		}
		if _, found := r.load(t, shortScenario); found != (i == 0) {
			t.Errorf("%+v is used: %v", content, found)
		}
	}
	if err := writeRecorded(r.path, right); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range data {
		if err := os.WriteFile(r.path, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, found := r.load(t, shortScenario); found {
			t.Errorf("the first %d bytes of %d are used", cut, len(data))
		}
	}
	if _, found := (recording{}).load(t, shortScenario); found {
		t.Error("found a recording without a path")
	}
}

// TestRecordingsDependOnStockBinary checks that recordings of one binary of stock Helm are not
// used for another one.
func TestRecordingsDependOnStockBinary(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, text := range []string{"one", "two", "one"} {
		file := filepath.Join(t.TempDir(), "stock")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := suiteKey(file)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if keys[0] == keys[1] || keys[0] != keys[2] {
		t.Errorf("the keys of one, two and one are %q", keys)
	}
}

// TestOldRecordingsAreRemoved checks that directories of recordings that are no longer written
// to are deleted.
func TestOldRecordingsAreRemoved(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "parity")
	if err := removeOld(parent, "mine"); err != nil {
		t.Errorf("where there is no folder: %v", err)
	}
	past := time.Now().Add(-2 * recordingLifetime)
	for _, name := range []string{"mine", "old", "young"} {
		if err := os.MkdirAll(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if name == "young" {
			continue
		}
		if err := os.Chtimes(filepath.Join(parent, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOld(parent, "mine"); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(parent, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "mine" || filepath.Base(left[1]) != "young" {
		t.Errorf("left: %q, %v", left, err)
	}
}
