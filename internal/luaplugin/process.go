// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin

import (
	"context"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/muesli/cancelreader"
)

// windows is the operating system whose processes have other consoles and environment variables.
const windows = "windows"

// cancelable returns a reader whose reads end when ctx ends, even if they wait for data.
func cancelable(ctx context.Context, source io.Reader) (reader io.Reader, closeReader func()) {
	// On Windows, cancelreader reads from the console even if the standard input is a file or a
	// pipe, and Ctrl-C has no effect meanwhile.
	if runtime.GOOS == windows {
		return &abandoningReader{ctx, source}, func() {}
	}
	r, err := cancelreader.NewReader(source)
	if err != nil { // a regular file, which never waits
		return source, func() {}
	}
	stop := context.AfterFunc(ctx, func() { r.Cancel() })
	return r, func() {
		stop()
		_ = r.Close() // It closes what belongs to r alone.
	}
}

// abandoningReader is a reader whose reads end when ctx ends. The read from source that waits then goes
// on, so it is for processes that end, and where nothing can cancel a read.
type abandoningReader struct {
	ctx    context.Context //nolint:containedctx // io.Reader has none
	source io.Reader
}

func (r *abandoningReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	type result struct {
		data []byte
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		buffer := make([]byte, len(p)) // p belongs to the caller again when this read is abandoned
		n, err := r.source.Read(buffer)
		ended <- result{buffer[:n], err}
	}()
	select {
	case got := <-ended:
		return copy(p, got.data), got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}

// lookupEnv returns a function that returns the value of an environment variable. The default for
// variables are those of this process. If ignoreCase is set, as on Windows, the case of names does not
// matter.
func lookupEnv(variables []string, ignoreCase bool) func(name string) (value string, exists bool) {
	key := func(name string) string {
		if ignoreCase {
			return strings.ToUpper(name)
		}
		return name
	}
	if variables == nil {
		variables = os.Environ()
	}
	values := map[string]string{}
	for _, variable := range variables {
		if name, value, valid := strings.Cut(variable, "="); valid {
			values[key(name)] = value
		}
	}
	return func(name string) (string, bool) {
		value, exists := values[key(name)]
		return value, exists
	}
}
