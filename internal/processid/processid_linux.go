// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package processid

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Files that identify the current boot of the machine, and the PID namespace.
const (
	bootIDFile       = "/proc/sys/kernel/random/boot_id"
	pidNamespaceFile = "/proc/self/ns/pid"
)

// Indexes in the result of readStat.
const (
	stateIndex     = 0
	startTimeIndex = 19
)

// startID returns the StartID of the process pid: the boot ID of the machine, the PID
// namespace, and the start time of the process. It is empty if these cannot be read.
func startID(pid int) string {
	namespace := pidNamespaceID()
	state, err := readStat(pid)
	if namespace == "" || err != nil {
		return ""
	}
	return namespace + "/" + state[startTimeIndex]
}

// pidNamespaceID returns an ID for the current boot of the machine and the PID namespace.
// Within these, no two processes have the same process ID at the same time. It is empty if
// unknown.
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

// readStat returns the fields of /proc/PID/stat after the name of the process.
func readStat(pid int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) // a name may contain spaces and parentheses
	if len(fields) <= startTimeIndex {
		return nil, fmt.Errorf("/proc/%[2]d/stat has only %[1]d fields", len(fields), pid)
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
		return false // the process may exist but not be visible
	}
	dead := fields[stateIndex] == "Z" || fields[stateIndex] == "X"
	return dead || namespace+"/"+fields[startTimeIndex] != p.StartID
}
