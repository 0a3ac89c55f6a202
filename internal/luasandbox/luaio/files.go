// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package luaio contains the libraries with which Lua scripts read and write files, environment variables
// and the standard streams of a process.
package luaio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/ordered-helm/helm/internal/luasandbox/lualib"
)

// Host bounds the running call.
type Host interface {
	// Check returns why the call must end, or nil. Functions that take long call it again and again.
	Check() error
	// Charge is called before size bytes are allocated, and returns why the call must end, or nil.
	Charge(size int) error
	// Must raises an error in the script if err is not nil.
	Must(err error)
	// Stop ends the call with this error, which no script can catch.
	Stop(err error)
	// Message returns the message of an error, without control characters.
	Message(err error) string
}

// Options configures the libraries.
type Options struct {
	Host Host
	// Libraries contains the libraries that need no permission.
	Libraries *lualib.Library
	// MaxString is the maximum length of a string in bytes. If it is not positive, there is none.
	MaxString int
}

// IO contains the files that the scripts of a state of the interpreter have opened.
type IO struct {
	host      Host
	lua       *lua.LState
	libraries *lualib.Library
	maxString int
	// open contains the open files.
	open map[*file]struct{}
	// metatable is the metatable of files, or nil if there are none.
	metatable *lua.LTable
}

// New returns an IO without open files, which makes nothing available to scripts yet. The caller must
// close it.
func New(state *lua.LState, o Options) *IO {
	return &IO{host: o.Host, lua: state, libraries: o.Libraries, maxString: o.MaxString, open: map[*file]struct{}{}}
}

// Close closes all open files.
func (s *IO) Close() {
	for f := range s.open {
		_ = f.Close()
	}
	clear(s.open)
}

// maxOpenFiles is the maximum number of files that the scripts of a state can have open.
const maxOpenFiles = 100

// file is an open file of a script, or a standard stream.
type file struct {
	io.Closer
	// reader and writer are nil if the stream cannot be read or written.
	reader *bufio.Reader
	writer io.Writer
}

// OpenFiles makes the library io available, and os.remove and os.rename. There is no standard input
// and output, and no way to start processes.
func (s *IO) OpenFiles() {
	open := func(l *lua.LState) (*lua.LUserData, error) {
		opened, err := s.openFile(l.CheckString(1), l.OptString(2, "r"))
		if err != nil {
			return nil, err
		}
		return s.fileData(opened), nil
	}
	s.libraries.SetFunctions(s.libraries.Table("io"), map[string]lua.LGFunction{
		"open": func(l *lua.LState) int {
			data, err := open(l)
			if err != nil {
				return s.fileResult(l, err)
			}
			l.Push(data)
			return 1
		},
		"lines": func(l *lua.LState) int {
			data, err := open(l)
			s.host.Must(err)
			l.SetTop(0)
			l.Push(data)
			return s.fileLines(l, true)
		},
	})
	s.libraries.SetFunctions(s.libraries.Table("os"), map[string]lua.LGFunction{
		"remove": func(l *lua.LState) int { return s.fileResult(l, os.Remove(l.CheckString(1))) },
		"rename": func(l *lua.LState) int { return s.fileResult(l, os.Rename(l.CheckString(1), l.CheckString(2))) },
	})
}

// fileData returns a file as scripts see it.
func (s *IO) fileData(f *file) *lua.LUserData {
	if s.metatable == nil {
		methods := s.lua.NewTable()
		s.libraries.SetFunctions(methods, map[string]lua.LGFunction{
			"close": s.fileClose,
			"lines": func(l *lua.LState) int { return s.fileLines(l, false) },
			"read":  s.fileRead,
			"write": s.fileWrite,
		})
		s.metatable = s.lua.NewTable()
		s.metatable.RawSetString("__index", methods)
	}
	s.open[f] = struct{}{}
	return &lua.LUserData{Value: f, Metatable: s.metatable}
}

// OpenEnvironment makes os.getenv available, with a function that returns environment variables.
func (s *IO) OpenEnvironment(lookup func(name string) (string, bool)) {
	s.libraries.Table("os").RawSetString("getenv", s.lua.NewFunction(func(l *lua.LState) int {
		value, exists := lookup(l.CheckString(1))
		if !exists {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(lua.LString(value))
		return 1
	}))
}

// fileResult pushes the results of an operation: true, or nil and the message of an error.
func (s *IO) fileResult(l *lua.LState, err error) int {
	if err == nil {
		l.Push(lua.LTrue)
		return 1
	}
	l.Push(lua.LNil)
	l.Push(lua.LString(s.host.Message(err)))
	return 2
}

// openFile opens a file.
func (s *IO) openFile(name, mode string) (*file, error) {
	flags := map[string]int{
		"r": os.O_RDONLY, "r+": os.O_RDWR, "w": os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
		"w+": os.O_RDWR | os.O_CREATE | os.O_TRUNC, "a": os.O_WRONLY | os.O_CREATE | os.O_APPEND,
		"a+": os.O_RDWR | os.O_CREATE | os.O_APPEND,
	}
	flag, valid := flags[strings.ReplaceAll(mode, "b", "")]
	if !valid {
		return nil, fmt.Errorf("invalid mode %.10q", mode)
	}
	if len(s.open) >= maxOpenFiles {
		return nil, fmt.Errorf("at most %d files can be open", maxOpenFiles)
	}
	opened, err := openRegular(name, flag)
	if err != nil {
		return nil, err
	}
	return &file{opened, bufio.NewReader(s.interruptible(opened)), opened}, nil
}

// openRegular opens a regular file. Others, such as named pipes, could block forever, and opening
// a device can have effects.
func openRegular(name string, flag int) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(name)
	}
	return openNonblocking(name, flag)
}

// openNonblocking opens a file without waiting for the other end of a named pipe, which could have
// taken the place of the file after it was checked.
func openNonblocking(name string, flag int) (*os.File, error) {
	opened, err := os.OpenFile(name, flag|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	if info, err := opened.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = opened.Close()
		return nil, notRegular(name)
	}
	return opened, nil
}

// maxWait is the time after which a read that waits for data checks whether the script must end.
const maxWait = 50 * time.Millisecond

// interruptible returns a reader of a file that fails if the script must end. Some files of the
// kernel, such as /proc/kmsg, count as regular, but wait for data.
func (s *IO) interruptible(opened *os.File) io.Reader {
	if opened.SetReadDeadline(time.Time{}) != nil {
		return opened // It never waits.
	}
	return lualib.ReaderFunc(func(p []byte) (int, error) {
		for {
			if err := errors.Join(s.host.Check(), opened.SetReadDeadline(time.Now().Add(maxWait))); err != nil {
				return 0, err
			}
			if n, err := opened.Read(p); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				return n, err
			}
		}
	})
}

func notRegular(name string) error { return fmt.Errorf("%s is not a regular file", name) }

// checkFile returns the argument 1, which must be an open file.
func (s *IO) checkFile(l *lua.LState) *file {
	f, isFile := l.CheckUserData(1).Value.(*file)
	if !isFile {
		l.ArgError(1, "file expected")
	}
	if _, open := s.open[f]; !open {
		l.ArgError(1, "the file is closed")
	}
	return f
}

func (s *IO) fileClose(l *lua.LState) int {
	f := s.checkFile(l)
	delete(s.open, f)
	return s.fileResult(l, f.Close())
}

func (s *IO) fileWrite(l *lua.LState) int {
	f := s.checkFile(l)
	if f.writer == nil {
		return s.fileResult(l, errors.New("the stream cannot be written"))
	}
	for i := 2; i <= l.GetTop(); i++ {
		s.host.Must(s.host.Check())
		if _, err := io.WriteString(f.writer, l.CheckString(i)); err != nil {
			return s.fileResult(l, err)
		}
	}
	return s.fileResult(l, nil)
}

// fileRead reads the rest of a file ("*a"), a line ("*l", the default) or a number of bytes.
func (s *IO) fileRead(l *lua.LState) int {
	f := s.checkFile(l)
	if f.reader == nil {
		return s.fileResult(l, errors.New("the stream cannot be read"))
	}
	var text string
	var err error
	switch format := l.Get(2).(type) {
	case lua.LNumber:
		size := max(int(format), 0)
		s.checkLength(0, size)
		buffer := make([]byte, size)
		var n int
		if n, err = io.ReadFull(f.reader, buffer); n > 0 || size == 0 {
			err = nil
		}
		text = string(buffer[:n])
	case lua.LString:
		if text, err = s.readFormat(f, strings.TrimPrefix(string(format), "*")); errors.Is(err, errors.ErrUnsupported) {
			l.ArgError(2, "invalid format")
		}
	default:
		text, err = s.readLine(f)
	}
	switch {
	case errors.Is(err, io.EOF):
		l.Push(lua.LNil)
		return 1
	case err != nil:
		return s.fileResult(l, err)
	}
	l.Push(lua.LString(text))
	return 1
}

func (s *IO) readFormat(f *file, format string) (string, error) {
	switch format {
	case "a":
		var b strings.Builder
		_, err := io.Copy(&b, lualib.Limited(s.host, f.reader, s.maxString))
		s.checkLength(b.Len(), 0)
		return b.String(), err
	case "l":
		return s.readLine(f)
	}
	return "", errors.ErrUnsupported
}

// readLine returns the next line without the line break, or io.EOF.
func (s *IO) readLine(f *file) (string, error) {
	var b strings.Builder
	for {
		part, err := f.reader.ReadSlice('\n')
		s.checkLength(b.Len(), len(part))
		b.Write(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && b.Len() > 0, err == nil:
			return strings.TrimSuffix(b.String(), "\n"), nil
		}
		return "", err
	}
}

// fileLines returns a function that returns the next line each time. If closeAtEnd is set, it
// closes the file after the last line.
func (s *IO) fileLines(l *lua.LState, closeAtEnd bool) int {
	data, f := l.CheckUserData(1), s.checkFile(l)
	l.Push(l.NewFunction(func(l *lua.LState) int {
		l.SetTop(0)
		l.Push(data)
		results := s.fileRead(l)
		if l.Get(-results) == lua.LNil && closeAtEnd {
			delete(s.open, f)
			s.host.Must(f.Close())
		}
		return results
	}))
	return 1
}

// checkLength raises an error if a string of this length cannot grow by added bytes.
func (s *IO) checkLength(length, added int) {
	if limit := s.maxString; limit > 0 && (added > limit || length+added > limit) {
		s.host.Must(fmt.Errorf("a string can have at most %d bytes", limit))
	}
	s.host.Must(s.host.Charge(added))
}
