// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// attributes returns the attributes for the process of the supervisor. It runs in its own
// process group, so that Ctrl-C in a terminal does not reach it; it ends with the test. If the
// test runs as root, the supervisor runs as an unprivileged user, because PostgreSQL refuses
// to run as root.
func attributes() (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	u, err := unprivileged()
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, nil
}

// unprivileged returns the user that the distribution's package of PostgreSQL creates, or the
// user nobody.
func unprivileged() (*user.User, error) {
	var errs []error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err == nil {
			return u, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("find a user for PostgreSQL, which root may not run: %w", errors.Join(errs...))
}
