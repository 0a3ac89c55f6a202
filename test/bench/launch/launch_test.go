// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package launch_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/bench/launch"
)

// TestPeakMemoryIsThatOfTheCommand checks that the measured peak memory of a small command
// does not include the memory of the large process that runs it.
func TestPeakMemoryIsThatOfTheCommand(t *testing.T) {
	launcher, err := launch.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 256<<20)
	for i := 0; i < len(large); i += 4096 {
		large[i] = 1
	}
	took, err := launch.Run(t.Context(), launcher, exec.CommandContext(t.Context(), "echo", "said"))
	runtime.KeepAlive(large)
	if err != nil || string(took.Output) != "said\n" || !took.End.After(took.Begin) {
		t.Errorf("got %+v, %v", took, err)
	}
	const most = 32 // MiB
	if took.PeakMiB > most || took.PeakMiB == 0 && runtime.GOOS == "linux" {
		t.Errorf("echo took %v MiB", took.PeakMiB)
	}
	_, err = launch.Run(t.Context(), launcher, exec.CommandContext(t.Context(), "sh", "-c", "echo why >&2; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "why") {
		t.Errorf("a command that fails is told as %v", err)
	}
}
