// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package savedplan

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
)

func newPlan() *Plan {
	return &Plan{
		Operation: Upgrade, Release: "shop", Namespace: "default", Revision: 2, Base: &Base{Revision: 1, Status: release.StatusDeployed},
		Cluster: Cluster{UID: "uid", Server: "https://a", Authority: "b"}, Options: Options{HelmOptions: HelmOptions{Wait: true, Timeout: time.Minute}, IgnoreJobs: true},
		Chart:    Chart{Files: []File{{Name: "Chart.yaml", Data: []byte("name: shop\n")}}, Values: map[string]any{"n": int64(1 << 60)}},
		Rendered: &planner.Recorded{Manifest: "---\n"},
		Objects:  []preview.State{{Action: preview.Create, Object: "v1 Secret default/a", Live: map[string]any{"data.n": int64(3)}}},
	}
}

// TestFile writes and reads a plan.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.plan")
	for range 2 { // the second time, it replaces the file
		digest, err := Write(path, "1.0.0", newPlan())
		if err != nil {
			t.Fatal(err)
		}
		got, read, err := Read(path, digest)
		if err != nil || read != digest || !reflect.DeepEqual(got, newPlan()) {
			t.Errorf("got %+v with the digest %s, want the digest %s; %v", got, read, digest, err)
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if info, _ := files[0].Info(); err != nil || len(files) != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("there are the files %v, %v", files, err)
	}
}

// TestInvalidFiles checks the errors about files that are no plans.
func TestInvalidFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.plan")
	digest, err := Write(path, "1.0.0", newPlan())
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	incomplete := filepath.Join(dir, "incomplete.plan")
	if _, err := Write(incomplete, "1.0.0", &Plan{Operation: Upgrade}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path, expected string
		change         func([]byte) []byte
		want           string
		isDigest       bool
	}{
		"another digest":  {path: path, expected: "sha256:0", want: "its digest is " + digest, isDigest: true},
		"altered":         {change: func(b []byte) []byte { return bytes.Replace(b, []byte("shop"), []byte("stop"), 1) }, want: "was altered", isDigest: true},
		"cut off":         {change: func(b []byte) []byte { return b[:len(b)-10] }, want: "was altered", isDigest: true},
		"a newer format":  {change: func(b []byte) []byte { return bytes.Replace(b, []byte(`Version":1`), []byte(`Version":9`), 1) }, want: "in version 9 of the format"},
		"empty":           {change: func([]byte) []byte { return nil }, want: "is not a plan"},
		"another text":    {change: func([]byte) []byte { return []byte("a: b\n") }, want: "is not a plan"},
		"incomplete":      {path: incomplete, want: "is not a complete plan"},
		"none":            {path: filepath.Join(dir, "none"), want: "no such file"},
		"a directory":     {path: dir, want: "is not a regular file"},
		"another version": {change: func(b []byte) []byte { return bytes.Replace(b, []byte("HelmPlan"), []byte("Plan"), 1) }, want: "is not a plan"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.change != nil {
				tt.path = filepath.Join(t.TempDir(), "changed.plan")
				if err := os.WriteFile(tt.path, tt.change(bytes.Clone(content)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p, _, err := Read(tt.path, tt.expected)
			if err == nil || !strings.Contains(err.Error(), tt.want) || p != nil {
				t.Errorf("got %v, %v, want %q", p, err, tt.want)
			}
			if _, is := errors.AsType[*DigestError](err); is != tt.isDigest {
				t.Errorf("%v is a *DigestError: %t", err, is)
			}
		})
	}
	if _, err := Write(dir, "1.0.0", newPlan()); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a directory was replaced: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	path := filepath.Join(f.TempDir(), "shop.plan")
	if _, err := Write(path, "1.0.0", newPlan()); err != nil {
		f.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte("{}\n{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, _, err := parse("a", content)
		if (p == nil) != (err != nil) {
			t.Errorf("got %v and %v", p, err)
		}
	})
}

// TestCheckRelease checks which changes of the release make a plan unusable.
func TestCheckRelease(t *testing.T) {
	now := helmtime.Now()
	revision := func(n int, status release.Status, at helmtime.Time) *release.Release {
		return &release.Release{Name: "shop", Version: n, Info: &release.Info{Status: status, LastDeployed: at}}
	}
	one := []*release.Release{revision(1, release.StatusDeployed, now)}
	for _, tt := range []struct {
		name     string
		was, are []*release.Release
		want     string
	}{
		{"no release", nil, nil, ""},
		{"the same", one, one, ""},
		{"installed", nil, one, "did not exist; now, revision 1 is deployed"},
		{"uninstalled", one, nil, "does not exist"},
		{"a newer revision", one, append(one, revision(2, release.StatusFailed, now)), "now, revision 2 is failed"},
		{"another status", one, []*release.Release{revision(1, release.StatusUninstalled, now)}, "now, revision 1 is uninstalled"},
		{"installed again", one, []*release.Release{revision(1, release.StatusDeployed, now.Add(time.Second))}, "was installed again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Plan{Release: "shop", Base: BaseOf(tt.was)}
			err := p.CheckRelease(tt.are)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if _, is := errors.AsType[*ChangedError](err); err != nil && !is {
				t.Errorf("%v is no *ChangedError", err)
			}
		})
	}
}

// TestCheckCluster checks by what clusters are told apart.
func TestCheckCluster(t *testing.T) {
	for _, tt := range []struct {
		name    string
		was, is Cluster
		same    bool
	}{
		{"the UID is the same", Cluster{"u", "https://a", "x"}, Cluster{"u", "https://b", "y"}, true},
		{"another UID", Cluster{"u", "https://a", "x"}, Cluster{"v", "https://a", "x"}, false},
		{"no UID", Cluster{"", "https://a", "x"}, Cluster{"v", "https://a", "x"}, true},
		{"no UID now", Cluster{"u", "https://a", "x"}, Cluster{"", "https://a", "x"}, true},
		{"another address", Cluster{"", "https://a", "x"}, Cluster{"", "https://b", "x"}, false},
		{"another authority", Cluster{"", "https://a", "x"}, Cluster{"", "https://a", "y"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := (&Plan{Cluster: tt.was}).CheckCluster(tt.is); (err == nil) != tt.same {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestCheckObjects checks that what differs in every answer of the server does not count.
func TestCheckObjects(t *testing.T) {
	state := func(value string) []preview.State {
		return []preview.State{{Action: preview.Create, Object: "a", Changes: map[string]preview.FieldChange{"spec.a": {To: value}}}}
	}
	live := func(value string) []preview.State {
		return []preview.State{{Action: preview.Create, Object: "a", Live: map[string]any{"spec.b": value}, Changes: state("1")[0].Changes}}
	}
	for _, tt := range []struct {
		name    string
		answers [][]preview.State
		want    string
	}{
		{"as planned", [][]preview.State{state("1")}, ""},
		{"changed", [][]preview.State{state("2"), state("2")}, "a: spec.a"},
		{"always another", [][]preview.State{state("2"), state("3")}, ""},
		{"changed by others again and again", [][]preview.State{live("2"), live("3")}, "a: spec.b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			p := &Plan{Objects: state("1")}
			err := p.checkStates(func() ([]preview.State, error) {
				asked++
				return tt.answers[asked-1], nil
			})
			if asked != len(tt.answers) || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("asked %d times, got %v", asked, err)
			}
		})
	}
}
