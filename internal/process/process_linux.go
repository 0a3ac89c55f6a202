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
	bootFile  = "/proc/sys/kernel/random/boot_id"
	spaceFile = "/proc/self/ns/pid"
)

// startField is which field of a process' stat says when it started, and stateField
// which one how it stands, counted from the one after its name in parentheses.
const (
	stateField = 0
	startField = 19
)

// birth names the machine's start, the space of numbers and the time since then.
func birth(pid int) string {
	around := surroundings()
	state, err := statOf(pid)
	if around == "" || err != nil {
		return ""
	}
	return around + "/" + state[startField]
}

// surroundings are what all numbers of processes that are seen from here have in
// common; empty where the kernel does not tell.
func surroundings() string {
	boot, err := os.ReadFile(bootFile)
	if err != nil {
		return ""
	}
	space, err := os.Readlink(spaceFile)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + "/" + space
}

// statOf reads what the kernel says of a process, after its name.
func statOf(pid int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) // a name may have spaces and parentheses
	if len(fields) <= startField {
		return nil, fmt.Errorf("the kernel tells %d things of process %d", len(fields), pid)
	}
	return fields, nil
}

func isGone(p Process) bool {
	around := surroundings()
	if around == "" || !strings.HasPrefix(p.StartID, around+"/") {
		return false
	}
	if err := unix.Kill(p.PID, 0); errors.Is(err, unix.ESRCH) {
		return true
	}
	fields, err := statOf(p.PID)
	if err != nil {
		return false // it may be hidden
	}
	dead := fields[stateField] == "Z" || fields[stateField] == "X"
	return dead || around+"/"+fields[startField] != p.StartID
}
