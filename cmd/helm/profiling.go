// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// profiler writes a CPU profile and a memory profile of this run of helm to files, if the
// environment requests them.
type profiler struct {
	cpuPath string
	memPath string
	cpuFile *os.File
}

func newProfiler() profiler {
	return profiler{
		cpuPath: os.Getenv("HELM_PPROF_CPU_PROFILE"),
		memPath: os.Getenv("HELM_PPROF_MEM_PROFILE"),
	}
}

func (p *profiler) start() error {
	if p.cpuPath == "" {
		return nil
	}
	file, err := os.Create(p.cpuPath)
	if err != nil {
		return fmt.Errorf("could not create CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(fmt.Errorf("could not start CPU profile: %w", err), file.Close())
	}
	p.cpuFile = file
	return nil
}

func (p *profiler) stop() error {
	err := errors.Join(p.stopCPU(), p.writeHeap())
	if err != nil {
		return fmt.Errorf("error(s) while stopping profiling: %w", err)
	}
	return nil
}

func (p *profiler) stopCPU() error {
	if p.cpuFile == nil {
		return nil
	}
	pprof.StopCPUProfile()
	file := p.cpuFile
	p.cpuFile = nil
	return file.Close()
}

func (p *profiler) writeHeap() error {
	if p.memPath == "" {
		return nil
	}
	file, err := os.Create(p.memPath)
	if err != nil {
		return err
	}
	runtime.GC() // the profile contains the state at the last garbage collection
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}
