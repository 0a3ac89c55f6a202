// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// instructionsBetweenChecks is the number of instructions after which the guard looks at the
	// clock.
	instructionsBetweenChecks = 8
	// sampleInterval is the time after which the guard measures the heap again.
	sampleInterval = time.Millisecond
	// sampleBytes is the number of bytes that library functions can allocate before the guard
	// measures the heap again.
	sampleBytes = 4 << 20
	// garbageShare is the share of Limits.Memory that can be garbage at the beginning of a call.
	garbageShare = 8
)

// guard is the context of a call. The interpreter calls Done before each instruction, which the
// guard uses to measure the heap without a goroutine that a busy machine could delay.
type guard struct {
	context.Context
	cancel context.CancelCauseFunc
	limits Limits
	// onStop is called once, when the call must end.
	onStop func()
	// baseline is the size of the heap at the beginning of the call, less what the state had
	// allocated before.
	baseline   uint64
	sample     []metrics.Sample
	lastSample time.Time
	counter    uint
	// charged contains the bytes that library functions have allocated since the last sample.
	charged int
	stopped bool
}

// newGuard returns the guard of a call. retained is the number of bytes that the state has
// allocated before. The caller must call cancel of the guard after the call.
func newGuard(ctx context.Context, limits Limits, retained uint64) *guard {
	g := &guard{limits: limits, sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}}
	g.Context, g.cancel = context.WithCancelCause(ctx)
	if limits.Time > 0 {
		timeLimit := fmt.Errorf("%w: it ran for more than %s", ErrTimeLimit, limits.Time)
		var cancelTimeout context.CancelFunc
		g.Context, cancelTimeout = context.WithTimeoutCause(g.Context, limits.Time, timeLimit)
		cancel := g.cancel
		g.cancel = func(cause error) {
			cancel(cause)
			cancelTimeout()
		}
	}
	g.collectGarbage()
	start := g.heap()
	g.baseline = start - min(retained, start)
	g.lastSample = time.Now()
	return g
}

// Done checks the limits from time to time. It returns a closed channel if the call must end, and
// nil otherwise: a channel that is closed later would end the call before noteStop. Go functions
// get the embedded context instead.
func (g *guard) Done() <-chan struct{} {
	g.counter++
	if g.counter%instructionsBetweenChecks == 0 {
		if now := time.Now(); now.Sub(g.lastSample) >= sampleInterval {
			g.lastSample = now
			g.checkHeap()
		}
	}
	if g.noteStop(); g.stopped {
		return g.Context.Done()
	}
	return nil
}

// noteStop calls onStop if the call must end and onStop was not called yet.
func (g *guard) noteStop() {
	if !g.stopped && g.Context.Err() != nil {
		g.stopped = true
		g.onStop()
	}
}

// Err returns why the call must end, or nil.
func (g *guard) Err() error {
	if g.Context.Err() == nil {
		return nil
	}
	return context.Cause(g.Context)
}

// check returns why the call must end, or nil. Library functions that take long call it again
// and again.
func (g *guard) check() error {
	if now := time.Now(); now.Sub(g.lastSample) >= sampleInterval {
		g.lastSample = now
		g.checkHeap()
	}
	return g.Err()
}

// charge checks the limits before a library function allocates size bytes.
func (g *guard) charge(size int) error {
	if g.charged += size; g.charged >= sampleBytes {
		g.charged = 0
		g.checkHeap()
	}
	return g.Err()
}

// heap returns the number of bytes in the heap, including garbage that was not collected yet.
func (g *guard) heap() uint64 {
	metrics.Read(g.sample)
	return g.sample[0].Value.Uint64()
}

// collectGarbage collects the garbage if much was allocated since the last collection. Otherwise,
// the script could use the memory of the garbage in addition to its limit.
func (g *guard) collectGarbage() {
	if heap, live := g.heap(), g.sample[1].Value.Uint64(); g.limits.Memory > 0 && heap > live+uint64(g.limits.Memory)/garbageShare {
		runtime.GC()
	}
}

// checkHeap stops the call if it has allocated too much memory. Before that, it collects
// garbage.
func (g *guard) checkHeap() {
	if g.limits.Memory <= 0 || g.heap() <= g.baseline+uint64(g.limits.Memory) {
		return
	}
	runtime.GC()
	// If less than a quarter of the memory was garbage, the next collection would follow soon.
	if g.heap() > g.baseline+uint64(g.limits.Memory)/4*3 {
		g.stop(fmt.Errorf("%w: it needs more than %d MiB", ErrMemoryLimit, g.limits.Memory>>20))
	}
}

// stop ends the call with this error.
func (g *guard) stop(err error) { g.cancel(err) }

// host is a state as its libraries see it.
type host struct{ *State }

// Check returns why the running call must end, or nil.
func (s host) Check() error { return s.guard.check() }

// Charge checks the limits before size bytes are allocated.
func (s host) Charge(size int) error { return s.guard.charge(size) }

// Must raises an error in the script if err is not nil.
func (s host) Must(err error) { s.must(err) }

// Stop ends the running call with this error.
func (s host) Stop(err error) { s.guard.stop(err) }

// Message returns the message of an error, without control characters.
func (s host) Message(err error) string { return safeMessage(err.Error()) }

// Stopped returns why the running call must end, or nil.
func (s host) Stopped() error {
	s.guard.noteStop()
	return s.guard.Err()
}

// Output counts size bytes of output, and stops the call if there are too many.
func (s host) Output(size int) error {
	s.written += size
	if limit := s.options.Limits.Output; limit > 0 && s.written > limit {
		s.guard.stop(fmt.Errorf("%w: more than %d bytes", ErrOutputLimit, limit))
	}
	return s.guard.Err()
}
