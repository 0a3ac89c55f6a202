// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/repo"
)

const repoAddHelp = `
Add a chart repository under a name of your choice. Its index is downloaded immediately;
a repository that cannot be reached is not added.

    $ helm repo add example https://example.com/charts
    $ helm repo add private https://example.com/private --username ann --password-stdin < password
    $ helm repo add inhouse https://charts.internal --ca-file ca.pem

To assign an existing name to another repository, use --force-update.
`

// repoAddInput holds the flags of "repo add", and the repository that they describe.
type repoAddInput struct {
	entry           repo.Entry
	passwordStdin   bool
	forceUpdate     bool
	allowDeprecated bool
	timeout         time.Duration
}

func newRepoAddCmd(a *app) *cobra.Command {
	var in repoAddInput
	cmd := &cobra.Command{
		Use:               "add [NAME] [URL]",
		Short:             "add a chart repository",
		Long:              repoAddHelp,
		Args:              require.ExactArgs(2),
		ValidArgsFunction: completeNothing(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.entry.Name, in.entry.URL = args[0], args[1]
			return a.addRepository(cmd.Context(), &in, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.entry.Username, "username", "", "user name for the repository")
	f.StringVar(&in.entry.Password, "password", "", "password for the repository; Helm prompts for it if it is missing")
	f.BoolVar(&in.passwordStdin, "password-stdin", false, "read the password from standard input")
	f.BoolVar(&in.forceUpdate, "force-update", false, "replace an existing repository of the same name")
	f.Bool("no-update", false, "accepted for compatibility; has no effect")
	f.StringVar(&in.entry.CertFile, "cert-file", "", "client certificate for an HTTPS server")
	f.StringVar(&in.entry.KeyFile, "key-file", "", "key of the client certificate")
	f.StringVar(&in.entry.CAFile, "ca-file", "", "CA bundle for verifying certificates of HTTPS servers")
	f.BoolVar(&in.entry.InsecureSkipTLSverify, "insecure-skip-tls-verify", false, "skip TLS certificate checks for the repository (insecure)")
	f.BoolVar(&in.allowDeprecated, "allow-deprecated-repos", false, "allow adding the former public repositories of Helm, which no longer exist")
	f.BoolVar(&in.entry.PassCredentialsAll, "pass-credentials", false, "send user name and password to all hosts, not only to the host of the repository")
	f.DurationVar(&in.timeout, "timeout", defaultFetchTimeout, "time to wait for the download of the index")
	return cmd
}

func (a *app) addRepository(ctx context.Context, in *repoAddInput, stdin io.Reader) error {
	if !in.allowDeprecated {
		if err := rejectRetiredRepository(in.entry.URL); err != nil {
			return err
		}
	}
	unlock, err := lockRepositories(ctx, a.settings.RepositoryConfig)
	if err != nil {
		return err
	}
	defer unlock()

	known, err := a.repositories()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if unreadable, ok := errors.AsType[*fs.PathError](err); ok {
			return unreadable
		}
		return err
	}
	if in.entry.Username != "" && in.entry.Password == "" {
		if in.passwordStdin {
			in.entry.Password, err = readPassword(stdin)
		} else {
			in.entry.Password, err = a.promptForSecret("Password: ")
		}
		if err != nil {
			fmt.Fprintln(a.out)
			return err
		}
	}
	entry := &in.entry
	if strings.Contains(entry.Name, "/") {
		return fmt.Errorf("repository name (%s) contains '/', please specify a different name without '/'", entry.Name)
	}
	if present := known.Get(entry.Name); present != nil && !in.forceUpdate {
		if *present != *entry {
			return fmt.Errorf("repository name (%s) already exists, please specify a different name", entry.Name)
		}
		fmt.Fprintf(a.out, "%q already exists with the same configuration, skipping\n", entry.Name)
		return nil
	}
	r, err := a.openRepository(ctx, entry, in.timeout)
	if err != nil {
		return err
	}
	if _, err := r.DownloadIndexFile(); err != nil {
		return fmt.Errorf("looks like %q is not a valid chart repository or cannot be reached: %w", entry.URL, err)
	}
	known.Update(entry)
	if err := known.WriteFile(a.settings.RepositoryConfig, repositoryFileMode); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%q has been added to your repositories\n", entry.Name)
	return nil
}

// lockRepositories locks the repository file until unlock is called, so that no other process
// changes it. Stock Helm's "repo add" uses the same lock. lockRepositories waits up to 30
// seconds for the lock.
func lockRepositories(ctx context.Context, file string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return nil, err
	}
	const timeout, retryInterval = 30 * time.Second, 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lock := flock.New(lockPath(file))
	if _, err := lock.TryLockContext(ctx, retryInterval); err != nil {
		return nil, err
	}
	// If unlocking fails, the end of the process releases the lock.
	return func() { _ = lock.Unlock() }, nil
}

// lockPath returns the path of the lock file for the repository file, as in Helm: it
// replaces the extension with ".lock".
func lockPath(file string) string {
	if ext := filepath.Ext(file); ext != file {
		file = strings.TrimSuffix(file, ext)
	}
	return file + ".lock"
}
