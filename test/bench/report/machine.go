// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine on which something was measured.
type Machine struct {
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	MemoryGiB int    `json:"memoryGiB"`
	OS        string `json:"os"`
	Kernel    string `json:"kernel"`
	Go        string `json:"go"`
}

// ThisMachine describes the machine that runs this program. Fields that the system does not
// report stay empty; on systems other than Linux, that is most of them.
func ThisMachine() Machine {
	const kibiPerGibi = 1 << 20
	memory, _ := strconv.ParseFloat(strings.TrimSuffix(valueIn("/proc/meminfo", "MemTotal", ":"), " kB"), 64)
	system := strings.Trim(valueIn("/etc/os-release", "PRETTY_NAME", "="), `"`)
	if system == "" {
		system = runtime.GOOS
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return Machine{
		CPU:       valueIn("/proc/cpuinfo", "model name", ":"),
		Cores:     runtime.NumCPU(),
		MemoryGiB: int(math.Round(memory / kibiPerGibi)),
		OS:        system,
		Kernel:    strings.TrimSpace(string(kernel)),
		Go:        runtime.Version(),
	}
}

// valueIn returns the value of the first line of a file that begins with key and the
// separator.
func valueIn(path, key, separator string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, value, _ := strings.Cut(lines.Text(), separator); strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (m Machine) String() string {
	var parts []string
	for _, part := range []string{m.CPU, fmt.Sprintf("%d cores", m.Cores), fmt.Sprintf("%d GiB", m.MemoryGiB), m.OS, "Linux " + m.Kernel, m.Go} {
		if part != "" && part != "0 GiB" && part != "Linux " {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
