// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// What the kernel tells: which start of the machine this is, and which space of
// process numbers is seen.
const (
	bootIDFile       = "/proc/sys/kernel/random/boot_id"
	pidNamespaceFile = "/proc/self/ns/pid"
)

// startTimeIndex is which field of a process' stat says when it started, and stateIndex
// which one how it stands, counted from the one after its name in parentheses.
const (
	stateIndex     = 0
	startTimeIndex = 19
)

// startID names the machine's start, the space of numbers and the time since then.
func startID(pid int) string {
	namespace := pidNamespaceID()
	state, err := readStat(pid)
	if namespace == "" || err != nil {
		return ""
	}
	return namespace + "/" + state[startTimeIndex]
}

// pidNamespaceID are what all numbers of processes that are seen from here have in
// common; empty where the kernel does not tell.
func pidNamespaceID() string {
	boot, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	space, err := os.Readlink(pidNamespaceFile)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + "/" + space
}

// readStat reads what the kernel says of a process, after its name.
func readStat(pid int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) // a name may have spaces and parentheses
	if len(fields) <= startTimeIndex {
		return nil, fmt.Errorf("the kernel tells %d things of process %d", len(fields), pid)
	}
	return fields, nil
}

func hasExited(p Process) bool {
	namespace := pidNamespaceID()
	if namespace == "" || !strings.HasPrefix(p.StartID, namespace+"/") {
		return false
	}
	if err := unix.Kill(p.PID, 0); errors.Is(err, unix.ESRCH) {
		return true
	}
	fields, err := readStat(p.PID)
	if err != nil {
		return false // it may be hidden
	}
	dead := fields[stateIndex] == "Z" || fields[stateIndex] == "X"
	return dead || namespace+"/"+fields[startTimeIndex] != p.StartID
}
