// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// git is a step that runs git commands, one per line, in a directory of the sandbox.
type git struct{ dir, commands string }

func (g git) run(ctx context.Context, w *sandbox) (string, error) {
	for line := range strings.Lines(g.commands) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		cmd := exec.CommandContext(ctx, "git", words...)
		cmd.Dir = filepath.Join(w.dir, g.dir)
		// With these variables, commits are identical in both sandboxes.
		cmd.Env = slices.Concat(w.env, []string{
			"GIT_AUTHOR_NAME=Anna", "GIT_AUTHOR_EMAIL=anna@example.com", "GIT_AUTHOR_DATE=2001-02-03T04:05:06Z",
			"GIT_COMMITTER_NAME=Anna", "GIT_COMMITTER_EMAIL=anna@example.com", "GIT_COMMITTER_DATE=2001-02-03T04:05:06Z",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		})
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w: %s", strings.Join(words, " "), err, out)
		}
	}
	return "", nil
}

// commit returns steps that commit a version of a plugin to the git repository in a directory.
func commit(dir, version string, more ...string) []step {
	return []step{
		writeFile{dir + "/plugin.yaml", "name: versioned\nversion: " + version + "\nusage: have versions\ncommand: echo version " + version +
			"\nhooks:\n  install: echo installed " + version + "\n  update: echo updated to " + version + "\n"},
		git{dir, "add .\ncommit -q -m " + version + "\n" + strings.Join(more, "\n")},
	}
}
