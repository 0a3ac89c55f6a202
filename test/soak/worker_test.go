// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

// workerEnv is an environment variable. If it is set, this test binary is a worker: a program
// that uses the SDK, and executes the operations that it reads from stdin.
const workerEnv = "ORDERED_HELM_SOAK_WORKER"

// order is an operation that a worker executes.
type order struct {
	Verb, Namespace, Release, Chart string
	Value                           int
	// Hangs is true if an object does not become ready, so that the operation must fail.
	// Atomic is true if the operation then rolls back.
	Hangs, Atomic bool
	Revision      int
}

// answer contains the result of an order, and the resource usage of the worker after it.
type answer struct {
	Err        string
	Goroutines int
	// Heap is the memory in use after a garbage collection, in bytes.
	Heap uint64
}

// work is the main function of a worker. It executes orders, one per line of in, and writes an
// answer for each, until in ends. It returns the exit code.
func work(in io.Reader, out io.Writer) int {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	configurations := map[string]*action.Configuration{}
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return 0
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		var a answer
		cfg, err := configurations[o.Namespace], error(nil)
		if cfg == nil {
			cfg, err = configure(o.Namespace)
			configurations[o.Namespace] = cfg
		}
		if err == nil {
			err = o.do(context.Background(), cfg)
		}
		if err != nil {
			a.Err = err.Error()
		}
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		a.Goroutines, a.Heap = runtime.NumGoroutine(), memory.HeapAlloc
		if err := answers.Encode(a); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// configure returns the configuration for operations in a namespace.
func configure(namespace string) (*action.Configuration, error) {
	getter := genericclioptions.NewConfigFlags(true)
	getter.Namespace = &namespace
	action.RetryRequests(getter)
	cfg := new(action.Configuration)
	err := action.InitConfiguration(cfg, getter, namespace, "secret", func(string, ...any) {})
	return cfg, err
}

// do executes an operation.
func (o *order) do(ctx context.Context, cfg *action.Configuration) error {
	vals := map[string]any{"value": fmt.Sprint(o.Value), "hangs": o.Hangs}
	const timeout = 2 * time.Minute
	switch o.Verb {
	case "install":
		chrt, err := loader.Load(o.Chart)
		if err != nil {
			return err
		}
		i := action.NewInstall(cfg)
		i.ReleaseName, i.Namespace, i.WaitStrategy, i.Timeout, i.Atomic = o.Release, o.Namespace, action.WaitStrategyOrdered, timeout, o.Atomic
		_, err = i.RunWithContext(ctx, chrt, vals)
		return err
	case "upgrade":
		chrt, err := loader.Load(o.Chart)
		if err != nil {
			return err
		}
		u := action.NewUpgrade(cfg)
		u.Namespace, u.WaitStrategy, u.Timeout, u.Atomic, u.MaxHistory = o.Namespace, action.WaitStrategyOrdered, timeout, o.Atomic, 5
		_, err = u.RunWithContext(ctx, o.Release, chrt, vals)
		return err
	case "rollback":
		r := action.NewRollback(cfg)
		r.Version, r.Timeout, r.MaxHistory = o.Revision, timeout, 5
		return r.RunWithContext(ctx, o.Release)
	case "uninstall":
		u := action.NewUninstall(cfg)
		u.Timeout = timeout
		_, err := u.RunWithContext(ctx, o.Release)
		return err
	}
	return fmt.Errorf("there is no %s", o.Verb)
}
