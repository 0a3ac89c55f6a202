// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package shells

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// lines contains command lines and the only completion of their last word.
var lines = []struct{ name, line, want string }{
	{"command", "helm hist", "history"},
	{"subcommand", "helm get val", "values"},
	{"flag", "helm get all --rev", "--revision"},
	{"format", "helm list -o j", "json"},
	{"release", "helm status al", "alpha"},
	{"release of another namespace", "helm status -n other eli", "elias"},
	{"revision", "helm rollback alpha 2", "2"},
	{"repository", "helm repo remove ex", "example"},
	{"chart", "helm install web example/sh", "example/shop"},
	{"version", "helm upgrade web example/shop --version 1.9", "1.9.0"},
	{"setting", "helm env HELM_NAME", "HELM_NAMESPACE"},
}

// patience is the timeout of a shell for all lines.
const patience = 2 * time.Minute

// environment returns the variables for a shell that finds our helm, with a home that
// contains a repository and releases.
func environment(t *testing.T) []string {
	t.Helper()
	given, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"PATH=" + filepath.Dir(binaries.Get(t).Helm) + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + t.TempDir(),
		"TERM=dumb", "LANG=C.UTF-8",
		"KUBECONFIG=" + filepath.Join(given, "none"), "HELM_NAMESPACE=shop",
		"HELM_REPOSITORY_CONFIG=" + filepath.Join(given, "repositories.yaml"), "HELM_REPOSITORY_CACHE=" + filepath.Join(given, "cache"),
		"HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=" + filepath.Join(given, "releases.yaml"),
	}
}

// shell completes a line with a script. The script reads the line from $line and prints the
// choices, one per line, optionally with a description after a tab.
type shell struct {
	program string
	args    []string
	script  string
}

var shells = []shell{
	// The function that the shell calls reads the words from these variables. The script
	// needs one function of the package bash-completion, which is defined here only if the
	// package is not installed.
	{program: "bash", args: []string{"--norc", "--noprofile", "-c"}, script: `
source /usr/share/bash-completion/bash_completion 2>/dev/null || _get_comp_words_by_ref() {
	words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
}
source <(helm completion bash) || exit 1
complete -p helm | grep -q __start_helm || exit 1
read -ra COMP_WORDS <<<"$line"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMP_KEY=9
__start_helm 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
`},
	// Completion is part of zsh's line editor: the line is typed into a shell on its own
	// terminal, followed by a tab and a key that prints the line.
	{program: "zsh", args: []string{"-f", "-c"}, script: `
zmodload zsh/zpty || exit 1
zpty typed zsh -f -i
zpty -w typed 'PS1= PROMPT_EOL_MARK=; autoload -Uz compinit && compinit -u -D; source <(helm completion zsh)'
zpty -w typed 'tell() { print -r -- "<<<$BUFFER>>>"; exit }; zle -N tell; bindkey "^T" tell; bindkey "^I" complete-word; print re"ady"'
zpty -r typed seen '*ready*' || exit 1
zpty -n -w typed "$line"$'\t\x14'
zpty -r typed seen '*<<<*>>>*' || exit 1
seen=${${seen##*<<<}%%>>>*}
print -r -- ${${(z)seen}[-1]}
`},
	{program: "fish", args: []string{"--no-config", "-c"}, script: `
helm completion fish | source
complete --do-complete "$line"
`},
	{program: "pwsh", args: []string{"-NoProfile", "-NonInteractive", "-Command"}, script: `
helm completion powershell | Out-String | Invoke-Expression
[System.Management.Automation.CommandCompletion]::CompleteInput($env:line, $env:line.Length, $null).CompletionMatches | ForEach-Object { $_.CompletionText.Trim() }
`},
}

func TestCompletion(t *testing.T) {
	for _, sh := range shells {
		t.Run(sh.program, func(t *testing.T) {
			if _, err := exec.LookPath(sh.program); err != nil {
				t.Skipf("%s is not installed", sh.program)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			env := environment(t)
			for _, l := range lines {
				t.Run(l.name, func(t *testing.T) {
					got := sh.complete(ctx, t, env, l.line)
					if len(got) != 1 || got[0] != l.want {
						t.Errorf("%q is completed by %q, want %q", l.line, got, l.want)
					}
				})
			}
		})
	}
}

// complete makes the shell complete a line, and returns the choices.
func (sh shell) complete(ctx context.Context, t *testing.T, env []string, line string) []string {
	t.Helper()
	cmd := exec.CommandContext(ctx, sh.program, append(sh.args, sh.script)...)
	cmd.Env = append(slices.Clone(env), "line="+line)
	// A shell that was started on a terminal must not block the test.
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s\n%s", sh.program, err, out, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	var choices []string
	for choice := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(choice), "\t")
		if name != "" {
			choices = append(choices, name)
		}
	}
	return choices
}
