// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaio

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/testutil/blocking"
)

// TestReplacedFiles checks that a named pipe is refused that has taken the place of a regular file
// after it was checked.
func TestReplacedFiles(t *testing.T) {
	_, link := blocking.NamedPipe(t)
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
		err := blocking.MustReturn(t, func() error {
			opened, err := openNonblocking(link, flag)
			if err == nil {
				_ = opened.Close()
			}
			return err
		})
		if err == nil {
			t.Errorf("flag %d: the pipe was opened", flag)
		}
	}
}

// TestWaitingReads checks that a read ends with its call if the file has no data yet.
func TestWaitingReads(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = reader.Close(), writer.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/10)
	defer cancel()
	files := New(nil, Options{Host: contextHost{ctx: ctx}})
	if _, err := writer.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if n, err := files.interruptible(reader).Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	err = blocking.MustReturn(t, func() error {
		_, err := files.interruptible(reader).Read(make([]byte, 10))
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// contextHost is a Host whose call must end when a context ends.
type contextHost struct {
	Host
	ctx context.Context
}

func (h contextHost) Check() error { return h.ctx.Err() }
