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

// startCPUProfile starts a CPU profile, and returns the file to which it is written, which
// $HELM_PPROF_CPU_PROFILE names. If the variable is not set, it does nothing and returns nil.
func startCPUProfile() (*os.File, error) {
	path := os.Getenv("HELM_PPROF_CPU_PROFILE")
	if path == "" {
		return nil, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("could not create CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("could not start CPU profile: %w", err), file.Close())
	}
	return file, nil
}

// writeProfiles ends the CPU profile that is written to cpu, unless cpu is nil. If
// $HELM_PPROF_MEM_PROFILE names a file, it writes a memory profile to that file.
func writeProfiles(cpu *os.File) error {
	var errs []error
	if cpu != nil {
		pprof.StopCPUProfile()
		errs = append(errs, cpu.Close())
	}
	if path := os.Getenv("HELM_PPROF_MEM_PROFILE"); path != "" {
		errs = append(errs, writeHeapProfile(path))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("error(s) while stopping profiling: %w", err)
	}
	return nil
}

func writeHeapProfile(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC() // the profile describes the heap at the last garbage collection
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}
