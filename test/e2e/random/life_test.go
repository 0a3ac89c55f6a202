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
	// randomLives are how many releases there are, each of so many operations.
	randomLives, randomOperations = 6, 20
)

// TestRandomLife does random operations on random releases, by the program and by
// stock Helm, well and badly, and compares the cluster after each with a model:
// there is exactly what the last good revision declares.
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

// releaseRun is the life of one random release.
type releaseRun struct {
	*testing.T
	*rand.Rand
	*harness.Helm
	seed   uint64
	family *chartGenerator
	model  releaseModel
	// strict is whether nothing is done by which stock Helm would leave objects.
	strict bool
	// healed is what would mend a failed revision, if anything can; played are the
	// objects that ever were declared never to get ready.
	healed *template
	played map[string]bool
	// story is what was done so far, left how many objects were left where that is
	// allowed.
	story []string
	left  int
	// strangers are objects that somebody else has made, with their versions: one
	// that was there before, and those whose names failed revisions have taken.
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

// fatalf ends the test with the story so far.
func (l *releaseRun) fatalf(format string, args ...any) {
	l.Helper()
	l.Fatalf("%s=%d: %s\n\nwhat was done:\n%s", harness.SeedEnv, l.seed, fmt.Sprintf(format, args...), strings.Join(l.story, "\n"))
}

// changeObject does to an object of the release what somebody else might.
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

// execute runs the operation's program, and interrupts it if it is to be.
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
