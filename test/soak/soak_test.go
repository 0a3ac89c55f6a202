// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/cluster"
)

const (
	// durationEnv is the environment variable with the duration of the test. The default is
	// defaultDuration.
	durationEnv     = "ORDERED_HELM_SOAK"
	defaultDuration = 15 * time.Second
	// processes is the number of processes that run in parallel, releases the number of
	// releases on which they operate, and namespaces that of the namespaces of these releases.
	// operations is the minimum number of operations in ten minutes.
	processes, namespaces, releases, operations = 8, 5, 50, 500

	// warmUpOperations is the number of operations after which a process has allocated
	// everything that it needs permanently. Then it runs at least minOperationsAfterWarmUp
	// operations, during which its goroutines may grow by maxGoroutineGrowth, and its heap by
	// maxHeapGrowth bytes.
	warmUpOperations         = 5
	minOperationsAfterWarmUp = 5
	maxGoroutineGrowth       = 8
	maxHeapGrowth            = 16 << 20
)

// manifest is the template of the chart: three layers and a hook. The values determine whether
// the second layer becomes ready, and the contents and names of objects.
const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-base", annotations: {helm.sh/layer: base}}
data: {value: {{ .Values.value | quote }}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: "{{ .Release.Name }}-app"
  annotations: {helm.sh/layer: app, depends-on.helm.sh/layers: base, helm.sh/readiness-timeout: {{ if .Values.hangs }}1s{{ else }}1m{{ end }}}
spec:
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}, annotations: {value: {{ .Values.value | quote }}, devcluster/pod: {{ if .Values.hangs }}never{{ else }}ready{{ end }}}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-of-{{ .Values.value }}", annotations: {helm.sh/layer: last, depends-on.helm.sh/layers: app}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-hook"
  annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-rollback,pre-delete", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
`

// TestSoak runs several processes that use the SDK, and operate on random releases. It checks
// that the memory and the goroutines of a process do not grow, and that the objects of every
// release are exactly the declared ones at the end.
func TestSoak(t *testing.T) {
	duration := defaultDuration
	if text := os.Getenv(durationEnv); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", durationEnv, err)
		}
	}
	s := newSoak(t)
	over := time.Now().Add(duration)
	least := int(operations * duration / (10 * time.Minute))
	var working sync.WaitGroup
	for i := range processes {
		working.Go(func() { s.process(t, uint64(i), over, least) })
	}
	working.Wait()
	t.Logf("%d operations, %d of them failed as they should", s.done, s.failed)
	s.compare(t)
}

// soak contains the state of the test, which the goroutines that control the processes share.
type soak struct {
	cluster *cluster.Cluster
	chart   string

	mu sync.Mutex
	// free contains the releases on which no process operates. At the end, repair moves them
	// to repaired.
	free, repaired []*subject
	done, failed   int
}

// subject is a release on which the processes operate.
type subject struct {
	namespace, name string
	installed       bool
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{cluster: cluster.Shared(t), chart: filepath.Join(t.TempDir(), "chart")}
	for name, text := range map[string]string{
		"Chart.yaml": "apiVersion: v3\nname: soak\nversion: 0.1.0\n", "values.yaml": "value: '0'\nhangs: false\n", "templates/all.yaml": manifest,
	} {
		path := filepath.Join(s.chart, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range namespaces {
		namespace := s.cluster.Namespace(t)
		for i := range releases / namespaces {
			s.free = append(s.free, &subject{namespace: namespace, name: fmt.Sprintf("r%d", i)})
		}
	}
	return s
}

// take removes a random release from the free ones, and returns it.
func (s *soak) take(r *rand.Rand) *subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := r.IntN(len(s.free))
	taken := s.free[i]
	s.free = slices.Delete(s.free, i, i+1)
	return taken
}

// give adds a release to the free ones.
func (s *soak) give(subject *subject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, subject)
}

// worker is a process that executes operations; see workerEnv.
type worker struct {
	cmd     *exec.Cmd
	orders  *json.Encoder
	answers *json.Decoder
	close   func() error
}

func (s *soak) startWorker(t *testing.T) *worker {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	home := t.TempDir()
	cmd.Env = append(os.Environ(), workerEnv+"=1", "KUBECONFIG="+s.cluster.Kubeconfig(), "HOME="+home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &worker{cmd: cmd, orders: json.NewEncoder(in), answers: json.NewDecoder(out), close: in.Close}
}

func (w *worker) do(o *order) (*answer, error) {
	if err := w.orders.Encode(o); err != nil {
		return nil, err
	}
	a := &answer{}
	return a, w.answers.Decode(a)
}

// end makes the process exit, and waits for it.
func (w *worker) end(t *testing.T) {
	t.Helper()
	if err := w.close(); err != nil {
		t.Error(err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("a process ended with %v", err)
	}
}

// process makes one process execute operations until the time over, and until at least the
// given number of operations was executed by all processes. Then it repairs releases.
func (s *soak) process(t *testing.T, seed uint64, over time.Time, least int) {
	w := s.startWorker(t)
	defer w.end(t)
	r := rand.New(rand.NewPCG(seed, seed))
	var afterWarmUp, last answer
	for n := 1; ; n++ {
		s.mu.Lock()
		enough := time.Now().After(over) && s.done >= least && n > warmUpOperations+minOperationsAfterWarmUp
		s.mu.Unlock()
		if enough {
			t.Logf("process %d, after %d operations and after %d: %d goroutines and %d, %.1f MiB in memory and %.1f", seed, warmUpOperations, n-1,
				afterWarmUp.Goroutines, last.Goroutines, float64(afterWarmUp.Heap)/(1<<20), float64(last.Heap)/(1<<20))
			s.repair(t, w)
			return
		}
		subject := s.take(r)
		o := s.choose(r, subject)
		a, err := w.do(o)
		if err != nil {
			t.Errorf("%+v: the process ended: %v", o, err)
			return
		}
		s.note(t, o, a)
		s.give(subject)
		last = *a
		switch {
		case n == warmUpOperations:
			afterWarmUp = *a
		case n > warmUpOperations && a.Goroutines > afterWarmUp.Goroutines+maxGoroutineGrowth:
			t.Errorf("after %d operations there are %d goroutines, %d after %d", n, a.Goroutines, afterWarmUp.Goroutines, warmUpOperations)
			return
		case n > warmUpOperations && a.Heap > afterWarmUp.Heap+maxHeapGrowth:
			t.Errorf("after %d operations there are %d MiB in memory, %d after %d", n, a.Heap>>20, afterWarmUp.Heap>>20, warmUpOperations)
			return
		}
	}
}

// choose returns a random operation on a release.
func (s *soak) choose(r *rand.Rand, subject *subject) *order {
	o := &order{Namespace: subject.namespace, Release: subject.name, Chart: s.chart, Value: r.IntN(3)}
	if !subject.installed {
		o.Verb, subject.installed = "install", true
		return o
	}
	switch r.IntN(6) {
	case 0:
		o.Verb, subject.installed = "uninstall", false
	case 1:
		o.Verb = "rollback"
	case 2:
		o.Verb, o.Hangs, o.Atomic, o.Value = "upgrade", true, r.IntN(2) == 0, r.IntN(3)+10
	default:
		o.Verb = "upgrade"
	}
	return o
}

// note counts an operation, and checks its result.
func (s *soak) note(t *testing.T, o *order, a *answer) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	switch {
	case o.Hangs && strings.Contains(a.Err, "was not ready within"):
		s.failed++
	case o.Verb == "rollback" && a.Err != "": // to a revision that hangs, or that does not exist
		s.failed++
		if !strings.Contains(a.Err, "was not ready within") && !strings.Contains(a.Err, "release has no ") {
			t.Errorf("%+v: %s", o, a.Err)
		}
	case o.Hangs && a.Err == "", !o.Hangs && a.Err != "":
		t.Errorf("%+v: ended with %q", o, a.Err)
	}
}

// lastValue is the value that every release has at the end.
const lastValue = 7

// repair upgrades each of the free releases to the value lastValue, until none are left.
func (s *soak) repair(t *testing.T, w *worker) {
	t.Helper()
	for {
		s.mu.Lock()
		if len(s.free) == 0 {
			s.mu.Unlock()
			return
		}
		subject := s.free[0]
		s.free, s.repaired = s.free[1:], append(s.repaired, subject)
		s.mu.Unlock()
		if !subject.installed {
			continue
		}
		a, err := w.do(&order{Verb: "upgrade", Namespace: subject.namespace, Release: subject.name, Chart: s.chart, Value: lastValue})
		if err != nil || a.Err != "" {
			t.Errorf("release %s in %s cannot be repaired: %+v, %v", subject.name, subject.namespace, a, err)
		}
	}
}

// compare checks that the objects on the server are those that the releases declare.
func (s *soak) compare(t *testing.T) {
	t.Helper()
	want := map[string][]string{}
	for _, subject := range s.repaired {
		ids := want[subject.namespace]
		if subject.installed {
			for _, id := range []string{"ConfigMap/%s-base", "Deployment/%s-app", "ConfigMap/%s-of-7"} {
				ids = append(ids, fmt.Sprintf(id, subject.name))
			}
			s.checkHistory(t, subject)
		}
		want[subject.namespace] = ids
	}
	if len(s.repaired) != releases {
		t.Errorf("%d releases were repaired, want %d", len(s.repaired), releases)
	}
	for _, namespace := range slices.Sorted(maps.Keys(want)) {
		slices.Sort(want[namespace])
		if found := s.objectsIn(t, namespace); !slices.Equal(found, want[namespace]) {
			t.Errorf("in %s there are\n%s\nwant\n%s", namespace, strings.Join(found, "\n"), strings.Join(want[namespace], "\n"))
		}
	}
}

// checkHistory checks that one revision is deployed, and that none is locked.
func (s *soak) checkHistory(t *testing.T, subject *subject) {
	t.Helper()
	list, err := storage.Init(driver.NewSecrets(s.cluster.Client().CoreV1().Secrets(subject.namespace))).History(subject.name)
	if err != nil {
		t.Fatal(err)
	}
	releaseutil.SortByRevision(list)
	for i, rel := range list {
		if deployed := rel.Info.Status == release.StatusDeployed; deployed != (i == len(list)-1) || rel.Info.Status.IsPending() {
			t.Errorf("revision %d of %s in %s is %s", rel.Version, subject.name, subject.namespace, rel.Info.Status)
		}
	}
}

// objectsIn returns the "Kind/name" of the objects in a namespace, of the kinds that occur in
// the chart.
func (s *soak) objectsIn(t *testing.T, namespace string) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(s.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"}, {Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "batch", Version: "v1", Resource: "jobs"},
	} {
		list, err := client.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			if id := item.GetKind() + "/" + item.GetName(); id != "ConfigMap/kube-root-ca.crt" {
				found = append(found, id)
			}
		}
	}
	slices.Sort(found)
	return found
}
