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
	// randomReleases is the default number of releases, randomOperations the number of
	// operations on each of them.
	randomReleases, randomOperations = 3, 20
)

// TestRandomOperations runs random operations on random releases with Ordered Helm and stock
// Helm, some of which fail. It checks after each of them that the cluster contains exactly the
// objects that the model expects.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	first, lives := harness.Seeds(t, randomReleases)
	for i := range lives {
		seed := first + i
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			runSeed(t, seed)
		})
	}
}

// releaseRun runs random operations on one release.
type releaseRun struct {
	*testing.T
	*rand.Rand
	*harness.Helm
	seed      uint64
	generator *chartGenerator
	model     releaseModel
	// strict is true if operations are avoided in which stock Helm would leave undeclared
	// objects.
	strict bool
	// healed is the template without the defect of the failed revision, with which an upgrade
	// can repair the release, or nil. everUnready contains the "Kind/name" of the objects that
	// a revision has declared so that they never become ready.
	healed      *template
	everUnready map[string]bool
	// log contains a line for each operation. left is the number of undeclared objects that
	// operations have left.
	log  []string
	left int
	// foreignObjects contains the resource versions of the objects of createForeign, by
	// "Kind/name".
	foreignObjects map[string]string
}

func runSeed(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	h := harness.New(t)
	l := &releaseRun{
		T: t, Rand: r, Helm: h, seed: seed, generator: newChartGenerator(r), strict: seed%2 == 0, everUnready: map[string]bool{}, foreignObjects: map[string]string{},
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
	t.Logf("%s\n%d objects left as by stock Helm", strings.Join(l.log, "\n"), l.left)
}

// fatalf ends the test with a message, the seed and the log.
func (l *releaseRun) fatalf(format string, args ...any) {
	l.Helper()
	l.Fatalf("%s=%d: %s\n\nwhat was done:\n%s", harness.SeedEnv, l.seed, fmt.Sprintf(format, args...), strings.Join(l.log, "\n"))
}

// changeObject deletes or changes an object of the release, as another client might.
func (l *releaseRun) changeObject(id string) {
	l.Helper()
	what, value := l.IntN(3), l.IntN(1000)
	l.log = append(l.log, fmt.Sprintf("%2d. somebody else: %s %s", len(l.log)+1, []string{"deletes", "labels", "adds to"}[what], id))
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

// execute runs an operation, and interrupts it if it is to be interrupted.
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

// write writes the charts and the values of an operation, if it has any, and returns their
// paths.
func (l *releaseRun) write(o *operation) (chart, values string) {
	l.Helper()
	if o.generator == nil {
		return "", ""
	}
	dir := filepath.Join(l.TempDir(), "chart")
	o.generator.write(l, dir, o.stock)
	text, err := json.Marshal(o.given.nested())
	harness.NoError(l, err)
	values = dir + ".json"
	harness.NoError(l, os.WriteFile(values, text, 0o600))
	return dir, values
}
