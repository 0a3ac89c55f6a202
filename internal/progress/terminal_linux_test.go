// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal of the given size. screen is the side that the tested
// program uses. keyboard is the side of the test, which can read what the terminal shows and
// write input.
func openTerminal(rows, columns uint16) (keyboard, screen *os.File, err error) {
	keyboard, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	screen, err = screenOf(keyboard, rows, columns)
	if err != nil {
		_ = keyboard.Close()
		return nil, nil, err
	}
	return keyboard, screen, nil
}

func screenOf(keyboard *os.File, rows, columns uint16) (*os.File, error) {
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, fmt.Errorf("get the number of the terminal: %w", err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		return nil, fmt.Errorf("set the size of the terminal: %w", err)
	}
	return os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
}
