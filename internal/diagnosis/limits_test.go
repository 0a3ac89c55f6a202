// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/redact"
)

// shop returns Deployments whose pods all crash, in one namespace.
func shop(deployments int) (objects string, subjects []string) {
	var all strings.Builder
	for n := range deployments {
		app := fmt.Sprintf("app%02d", n)
		fmt.Fprintf(&all, "{kind: Deployment, metadata: {name: %[1]s}, spec: {selector: {matchLabels: {app: %[1]s}}}}\n", app)
		fmt.Fprintf(&all, "{kind: ReplicaSet, owner: %[1]s, metadata: {name: %[1]s-1, labels: {app: %[1]s}}, spec: {selector: {matchLabels: {app: %[1]s}}}}\n", app)
		fmt.Fprintf(&all, "{kind: Pod, owner: %[1]s-1, metadata: {name: %[1]s-1-a, labels: {app: %[1]s}}, spec: {containers: [{name: app}]}, %[2]s", app, crashed)
		subjects = append(subjects, "Deployment shop/"+app)
	}
	return all.String(), subjects
}

func (api *fakeAPI) subjects(texts []string) []Subject {
	all := make([]Subject, len(texts))
	for n, text := range texts {
		all[n] = api.subject(text)
	}
	return all
}

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, subjects := shop(20)
		api := newFakeAPI(t, objects)
		d := api.diagnoser(DiagnoserConfig{})
		for n, causes := range d.Diagnose(t.Context(), api.subjects(subjects)) {
			expectLines(t, causes, fmt.Sprintf("Pod shop/app%02d-1-a container app: CrashLoopBackOff: exited with code 1, restarted 2 times", n))
		}
		for question, want := range map[string]int{"list replicasets": 20, "list pods": 20, "list events": 1, "log": 40} {
			if got := api.count(question); got != want {
				t.Errorf("%d of %q, want %d", got, question, want)
			}
		}
		before := len(api.requests)
		d.Diagnose(t.Context(), api.subjects(subjects))
		if got := len(api.requests) - before; got != maxRequests-before {
			t.Errorf("%d requests in the second call, want the %d that are left", got, maxRequests-before)
		}
		if causes := d.DiagnoseBriefly(t.Context(), api.subject(subjects[0])); len(causes) == 0 {
			t.Error("requests of Diagnose count for DiagnoseBriefly")
		}
	})
}

func TestDiagnoseBrieflySendsThreeRequestsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t, `{kind: APIService, cluster: true, metadata: {name: v1.x}, spec: {service: {namespace: shop, name: api}}}
			{kind: Service, metadata: {name: api}, spec: {selector: {app: api}}}
			{kind: Pod, metadata: {name: api-a, labels: {app: api}}, spec: {containers: [{name: app}]}, status: {phase: Running, containerStatuses: [{name: app, state: {running: {}}}]}}`)
		expectLines(t, api.diagnoser(DiagnoserConfig{}).DiagnoseBriefly(t.Context(), api.subject("APIService v1.x")),
			"Service shop/api: NoEndpoints: no ready endpoints",
			"Pod shop/api-a container app: NotReady: running, but not ready")
		if len(api.requests) != maxBriefRequests {
			t.Errorf("sent %v", api.requests)
		}
	})
}

func TestRequestLimitAffectsLastSubjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, subjects := shop(20)
		api := newFakeAPI(t, objects)
		d := api.diagnoser(DiagnoserConfig{})
		d.limit, d.maxParallel = clusterreader.NewRequestLimit(10, 1), 1
		causes := d.Diagnose(t.Context(), api.subjects(subjects))
		if len(api.requests) != 10 {
			t.Errorf("%d requests: %v", len(api.requests), api.requests)
		}
		if causes[0] == nil || causes[19] != nil {
			t.Errorf("got %v", causes)
		}
	})
}

func TestLookupsOfOneSubjectAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var volumes []string
		for n := range 50 {
			volumes = append(volumes, fmt.Sprintf("{name: v%d, configMap: {name: c%d}}", n, n))
		}
		api := newFakeAPI(t, `{kind: Pod, metadata: {name: web}, spec: {volumes: [`+strings.Join(volumes, ",")+`], containers: [{name: app}]}, status: {phase: Pending}}`)
		causes := api.diagnoser(DiagnoserConfig{}).Diagnose(t.Context(), []Subject{api.subject("Pod shop/web")})[0]
		if got := api.count("exists"); got != maxLookups {
			t.Errorf("%d lookups, want %d", got, maxLookups)
		}
		if len(causes) != maxCauses {
			t.Errorf("%d causes, want %d", len(causes), maxCauses)
		}
	})
}

func TestParallelRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, subjects := shop(20)
		api := newFakeAPI(t, objects)
		api.hangs["list replicasets"] = true
		d := api.diagnoser(DiagnoserConfig{})
		d.limit, d.maxParallel = clusterreader.NewRequestLimit(maxRequests, 3), 3
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan [][]Cause)
		go func() { done <- d.Diagnose(ctx, api.subjects(subjects)) }()
		synctest.Wait()
		if len(api.requests) != 3 {
			t.Errorf("%d requests at once: %v", len(api.requests), api.requests)
		}
		cancel()
		synctest.Wait()
		select {
		case causes := <-done:
			if len(causes) != 20 || len(api.requests) != 3 {
				t.Errorf("after the end: %d answers, %d requests", len(causes), len(api.requests))
			}
		default:
			t.Error("goes on although its context has ended")
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, subjects := shop(2)
		api := newFakeAPI(t, objects)
		api.hangs["log pods"] = true
		began := time.Now()
		causes := api.diagnoser(DiagnoserConfig{}).Diagnose(t.Context(), api.subjects(subjects))
		if took := time.Since(began); took != defaultTimeout {
			t.Errorf("took %s", took)
		}
		for n := range causes {
			expectLines(t, causes[n], fmt.Sprintf("Pod shop/app%02d-1-a container app: CrashLoopBackOff: exited with code 1, restarted 2 times", n))
		}
	})
}

func TestCancelledBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, subjects := shop(2)
		api := newFakeAPI(t, objects)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d := api.diagnoser(DiagnoserConfig{})
		if causes := d.Diagnose(ctx, api.subjects(subjects)); len(causes) != 2 || causes[0] != nil || len(api.requests) > 0 {
			t.Errorf("got %v with the requests %v", causes, api.requests)
		}
		if causes := d.DiagnoseBriefly(ctx, api.subject(subjects[0])); causes != nil {
			t.Errorf("got %v", causes)
		}
	})
}

func TestWithoutClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t, `{kind: Job, metadata: {name: j}, spec: {selector: {matchLabels: {a: b}}}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}}
			{kind: Pod, metadata: {name: web}, spec: {imagePullSecrets: [{name: s}], containers: [{name: app, image: x}]}, `+crashed)
		d := New(DiagnoserConfig{})
		for subject, want := range map[string]string{
			"Job shop/j":   "Job shop/j: BackoffLimitExceeded: too often",
			"Pod shop/web": "Pod shop/web container app: CrashLoopBackOff: exited with code 1, restarted 2 times",
		} {
			expectLines(t, d.Diagnose(t.Context(), []Subject{api.subject(subject)})[0], want)
			expectLines(t, d.DiagnoseBriefly(t.Context(), api.subject(subject)), want)
		}
		if causes := d.Diagnose(t.Context(), []Subject{api.subject("Pod shop/gone")}); len(causes) != 1 || causes[0] != nil {
			t.Errorf("got %v", causes)
		}
	})
}

func TestSecretsAreRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t, `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}, {name: other}]}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, message: "no login with hunter22"}}}, {name: other, state: {waiting: {reason: RunContainerError, message: 'exec: "hunter22"'}}}]}}
			{event: Oops, about: web, message: "is\n  hunter22\x1b[1m?"}`)
		api.logs["shop/web/app/previous"] = "start\npassword hunter22"
		causes := api.diagnoser(DiagnoserConfig{Redactor: redact.New([]string{"hunter22"})}).Diagnose(t.Context(), []Subject{api.subject("Pod shop/web")})[0]
		expectLines(t, causes,
			"Pod shop/web container app: CrashLoopBackOff: exited with code 1, restarted 2 times: no login with ******", "| start", "| password ******",
			`Pod shop/web container other: RunContainerError: exec: "******"`,
			"Pod shop/web: Oops: is ******?")
	})
}

func TestLogIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t, `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, `+crashed)
		api.logs["shop/web/app/previous"] = strings.Repeat("x", clusterreader.MaxLogBytes-10) + "hunter22-and-more"
		d := api.diagnoser(DiagnoserConfig{Redactor: redact.New([]string{"hunter22-and-more"})})
		log := d.Diagnose(t.Context(), []Subject{api.subject("Pod shop/web")})[0][0].Log
		if len(log) != 1 || log[0] != strings.Repeat("x", maxLineLength)+"…" {
			t.Errorf("got %q", log)
		}
		api.logs["shop/web/app/previous"] = "first\n" + strings.Repeat("x", clusterreader.MaxLogBytes) + "\nnever read"
		log = d.Diagnose(t.Context(), []Subject{api.subject("Pod shop/web")})[0][0].Log
		if len(log) != 2 || log[0] != "first" {
			t.Errorf("got %q", log)
		}
		api.logs["shop/web/app/previous"] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
		log = d.Diagnose(t.Context(), []Subject{api.subject("Pod shop/web")})[0][0].Log
		if !reflect.DeepEqual(log, []string{"3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}) {
			t.Errorf("got %q", log)
		}
	})
}

func TestDeterministic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, subjects := shop(12)
		for n := range 30 {
			objects += fmt.Sprintf("{event: Reason%d, about: app%02d, message: m}\n{event: Other, about: app%02d-1-a, message: m%d}\n", n, n%12, n%12, n)
		}
		api := newFakeAPI(t, objects)
		first := api.diagnoser(DiagnoserConfig{}).Diagnose(t.Context(), api.subjects(subjects))
		for range 20 {
			if next := api.diagnoser(DiagnoserConfig{}).Diagnose(t.Context(), api.subjects(subjects)); !reflect.DeepEqual(first, next) {
				t.Fatalf("got %v, then %v", first, next)
			}
		}
	})
}

// TestNoGoroutineLeaks uses network connections.
func TestNoGoroutineLeaks(t *testing.T) {
	objects, subjects := shop(10)
	api := newFakeAPI(t, objects)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/log") {
			response.WriteHeader(http.StatusOK)
			_, _ = response.Write([]byte("begins\n"))
			_ = http.NewResponseController(response).Flush()
			select { // a log without an end
			case release <- struct{}{}:
			case <-request.Context().Done():
			}
			<-request.Context().Done()
			return
		}
		answer, err := api.RoundTrip(request)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(response, answer.Body)
	}))
	defer server.Close()
	carrier := &http.Transport{}
	at := &rest.Config{Host: server.URL, Transport: carrier, QPS: -1}
	d := New(DiagnoserConfig{Clients: clusterreader.Clients{
		Dynamic: dynamic.NewForConfigOrDie(at), Metadata: metadata.NewForConfigOrDie(at), Clientset: kubernetes.NewForConfigOrDie(at),
	}})
	d.timeout = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Diagnose(ctx, api.subjects(subjects))
	}()
	select {
	case <-release:
	case <-done:
		t.Fatal("no log was read")
	}
	cancel()
	<-done
	carrier.CloseIdleConnections()
	stacks := make([]byte, 1<<22)
	for range 200 {
		if !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "diagnosis.(*") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("goroutines stay:\n%s", stacks)
}
