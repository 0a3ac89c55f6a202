// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/harness"
)

const (
	// randomName is the name of random releases.
	randomName = "rel"
	// randomLives is the number of releases, randomOperations the number of operations for
	// each.
	randomLives, randomOperations = 6, 20
)

// TestRandomLife runs random operations on random releases, with the program and with stock
// Helm, with and without errors, and compares the cluster after each with a model: it
// contains exactly what the last successful revision declares.
func TestRandomLife(t *testing.T) {
	t.Parallel()
	first, lives := harness.Seeds(t, randomLives)
	for i := range lives {
		seed := first + i
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			runSeed(t, seed)
		})
	}
}

// releaseRun runs operations on one random release.
type releaseRun struct {
	*testing.T
	*rand.Rand
	*harness.Helm
	seed   uint64
	family *chartGenerator
	model  releaseModel
	// strict is whether operations are avoided in which stock Helm would leave objects.
	strict bool
	// healed is the object that would repair a failed revision, if that is possible. played
	// contains the objects that were ever declared never to become ready.
	healed *template
	played map[string]bool
	// story describes what was done until now. left is the number of objects that were left
	// where that is allowed.
	story []string
	left  int
	// strangers contains objects that somebody else created, with their versions: one that
	// existed before, and those whose names failed revisions used.
	strangers map[string]string
}

func runSeed(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	h := harness.New(t)
	l := &releaseRun{
		T: t, Rand: r, Helm: h, seed: seed, family: newFamily(r), strict: seed%2 == 0, played: map[string]bool{}, strangers: map[string]string{},
		model: releaseModel{loose: map[types.UID]map[string]bool{}, outside: map[string]bool{}},
	}
	l.createForeign("ConfigMap/stranger")
	for range randomOperations {
		switch good, newest := sorted(l.model.required()), l.model.lastRevision(); {
		case newest != nil && newest.status == "failed" && newest.absent != "" && l.IntN(4) == 0:
			l.createForeign(newest.absent)
			newest.absent = ""
		case len(good) > 0 && l.IntN(6) == 0:
			l.changeObject(good[l.IntN(len(good))])
		default:
			l.runOperation(l.chooseOperation())
		}
	}
	if l.model.lastRevision() != nil {
		l.runOperation(&operation{verb: "uninstall"})
	}
	t.Logf("%s\n%d objects left as by stock Helm", strings.Join(l.story, "\n"), l.left)
}

// fatalf ends the test and prints the story.
func (l *releaseRun) fatalf(format string, args ...any) {
	l.Helper()
	l.Fatalf("%s=%d: %s\n\nwhat was done:\n%s", harness.SeedEnv, l.seed, fmt.Sprintf(format, args...), strings.Join(l.story, "\n"))
}

// changeObject changes an object of the release as another client might.
func (l *releaseRun) changeObject(id string) {
	l.Helper()
	what, value := l.IntN(3), l.IntN(1000)
	l.story = append(l.story, fmt.Sprintf("%2d. somebody else: %s %s", len(l.story)+1, []string{"deletes", "labels", "adds to"}[what], id))
	if _, there := l.listObjects()[id]; !there {
		return
	}
	data := strings.HasPrefix(id, "ConfigMap/") || strings.HasPrefix(id, "Secret/")
	switch {
	case what == 0:
		l.deleteOne(id)
		l.listObjects()
	case what == 1 || !data:
		l.patchOne(id, fmt.Sprintf(`{"metadata":{"labels":{"f-%d":"x"}}}`, value))
	default:
		l.patchOne(id, fmt.Sprintf(`{"data":{"f-%d":"Zm9yZWlnbg=="}}`, value))
	}
}

// execute runs the operation with its program, and interrupts it if required.
func (l *releaseRun) execute(o *operation, args []string) harness.Result {
	l.Helper()
	start := l.Start
	if o.stock {
		start = l.StartStock
	}
	p := start(l, args...)
	for applied := 1; ; applied++ {
		line, found := p.NextLine(" applied")
		if !found {
			return p.Wait(l)
		}
		if o.interrupt > 0 && (applied == o.interrupt || strings.Contains(line, "app:bad applied")) {
			p.Signal(l, syscall.SIGTERM)
		}
	}
}

// write writes the operation's chart and values, if it has any.
func (l *releaseRun) write(o *operation) (chart, values string) {
	l.Helper()
	if o.family == nil {
		return "", ""
	}
	dir := filepath.Join(l.TempDir(), "chart")
	o.family.write(l, dir, o.stock)
	text, err := json.Marshal(o.given.nested())
	harness.NoError(l, err)
	values = dir + ".json"
	harness.NoError(l, os.WriteFile(values, text, 0o600))
	return dir, values
}
