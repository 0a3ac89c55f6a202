// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartloader"
)

type file = chartloader.BufferedFile

// flakyKubeClient is Helm's fake client, except that creating, waiting for and deleting
// hooks takes a moment and sometimes fails.
type flakyKubeClient struct {
	kubefake.PrintingKubeClient
	seed    uint64
	trouble uint64 // the percentage of steps that fail

	mu     sync.Mutex
	cancel context.CancelFunc
	left   int // the number of steps until cancel is called
	at     int // the number of operations so far
	ran    map[string]release.HookPhase
}

// begin resets the client for the next operation. If isCancelled is set, the client calls
// cancel after the given number of steps.
func (k *flakyKubeClient) begin(cancel context.CancelFunc, isCancelled bool, after int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Out = io.Discard
	k.at++
	k.cancel, k.left, k.ran = func() {}, after, map[string]release.HookPhase{}
	if isCancelled {
		k.cancel = cancel
	}
}

func (k *flakyKubeClient) end() map[string]release.HookPhase {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ran
}

// step takes a moment and sometimes fails. It represents one request for a hook.
func (k *flakyKubeClient) step(what string, list kube.ResourceList) error {
	if len(list) == 0 {
		return nil
	}
	k.mu.Lock()
	if k.left--; k.left == 0 {
		k.cancel()
	}
	sum := fnv.New64a()
	fmt.Fprint(sum, k.seed, k.at, what, list[0].Name)
	k.mu.Unlock()
	for range sum.Sum64() >> 8 % 8 {
		runtime.Gosched()
	}
	if sum.Sum64()%100 < k.trouble {
		return errors.New(what + " failed")
	}
	return nil
}

func (k *flakyKubeClient) became(list kube.ResourceList, err error) {
	if len(list) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ran[list[0].Name] = release.HookPhaseSucceeded
	if err != nil {
		k.ran[list[0].Name] = release.HookPhaseFailed
	}
}

// Build returns objects only for hooks, because this client does nothing with other
// resources.
func (k *flakyKubeClient) Build(r io.Reader, _ bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(text), "helm.sh/hook:") {
		return nil, err
	}
	var object struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: object.Kind}
	return kube.ResourceList{&resource.Info{Name: object.Metadata.Name, Mapping: &meta.RESTMapping{GroupVersionKind: kind, Scope: meta.RESTScopeNamespace}}}, nil
}

func (k *flakyKubeClient) Create(list kube.ResourceList) (*kube.Result, error) {
	err := k.step("create", list)
	k.became(list, err)
	return &kube.Result{Created: list}, err
}

func (k *flakyKubeClient) WatchUntilReady(list kube.ResourceList, _ time.Duration) error {
	err := k.step("wait", list)
	k.became(list, err)
	return err
}

func (k *flakyKubeClient) DeleteWithPropagationPolicy(list kube.ResourceList, _ metav1.DeletionPropagation) (*kube.Result, []error) {
	if err := k.step("delete", list); err != nil {
		return nil, []error{err}
	}
	return &kube.Result{Deleted: list}, nil
}
