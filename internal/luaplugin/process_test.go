// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// TestAbandoningReader checks the standard input of scripts on Windows.
func TestAbandoningReader(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	text := strings.Repeat("line\n", 10000)
	if err := iotest.TestReader(&abandoningReader{ctx, strings.NewReader(text)}, []byte(text)); err != nil {
		t.Error(err)
	}
	waiting, input := io.Pipe()
	defer func() { _ = input.Close() }()
	interrupted := errors.New("interrupted")
	r := &abandoningReader{ctx, iotest.OneByteReader(waiting)}
	go func() {
		_, _ = input.Write([]byte("a"))
		cancel(interrupted)
	}()
	if got, err := io.ReadAll(r); string(got) != "a" && string(got) != "" || !errors.Is(err, interrupted) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, interrupted) {
		t.Errorf("got %v", err)
	}
}

func TestLookupEnv(t *testing.T) {
	variables := []string{"=C:=C:\\dir", "Path=first", "PATH=last", "EMPTY=", "invalid"}
	for name, tt := range map[string]struct {
		name       string
		ignoreCase bool
		want       string
		exists     bool
	}{
		"exact":             {"Path", false, "first", true},
		"another case":      {"path", false, "", false},
		"ignored case":      {"path", true, "last", true},
		"empty":             {"EMPTY", false, "", true},
		"missing":           {"MISSING", true, "", false},
		"not a variable":    {"invalid", false, "", false},
		"ignored and empty": {"empty", true, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, exists := lookupEnv(variables, tt.ignoreCase)(tt.name); got != tt.want || exists != tt.exists {
				t.Errorf("got %q, %t", got, exists)
			}
		})
	}
}

// TestReadOnce checks that a script that has been read can run when its file is deleted, even an empty
// one.
func TestReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hook.lua")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	program := &Program{File: file, Stdin: strings.NewReader("")}
	if err := errors.Join(program.Read(), os.Remove(file), program.Run(t.Context())); err != nil {
		t.Error(err)
	}
}

// TestWriteErrors checks that a script learns that its standard output cannot be written.
func TestWriteErrors(t *testing.T) {
	for _, function := range []string{"print", "println", "io.write"} {
		t.Run(function, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "main.lua")
			if err := os.WriteFile(file, []byte("local written, message = "+function+"('text') error(message, 0)"), 0o600); err != nil {
				t.Fatal(err)
			}
			reader, writer := io.Pipe()
			full := errors.New("no space left")
			_ = reader.CloseWithError(full)
			program := &Program{File: file, Stdin: strings.NewReader(""), Stdout: writer}
			if err := program.Run(t.Context()); err == nil || !strings.Contains(err.Error(), full.Error()) {
				t.Errorf("got %v", err)
			}
		})
	}
}
