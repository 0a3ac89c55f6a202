// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package savedplan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

const (
	// kind and formatVersion identify the format of the file. A newer version of the program reads older formats.
	kind          = "HelmPlan"
	formatVersion = 1
	// maxSize limits the size of a file, in bytes.
	maxSize = 1 << 30
	// digestPrefix is the prefix of each digest.
	digestPrefix = "sha256:"
)

// header is the first line of the file. The rest of the file is the plan, of which it contains the digest.
type header struct {
	Kind          string `json:"kind"`
	FormatVersion int    `json:"formatVersion"`
	// WrittenBy is the version of the program that has written the file.
	WrittenBy string `json:"writtenBy"`
	Digest    string `json:"digest"`
}

// DigestError reports that the digest of a plan is not as expected.
type DigestError struct {
	// File is the path of the plan. Actual is its digest, and Expected the digest that it should have.
	File, Actual, Expected string
	// IsAltered says that Expected is the digest in the file itself.
	IsAltered bool
}

func (e *DigestError) Error() string {
	if e.IsAltered {
		return fmt.Sprintf("%s was altered after it was written: its digest is %s, but it says %s; make a new plan", e.File, e.Actual, e.Expected)
	}
	return fmt.Sprintf("%s is not the plan that --plan-digest demands: its digest is %s, not %s", e.File, e.Actual, e.Expected)
}

// Write writes the plan to a file that only the user can read, and returns its digest. version is that of the program.
// If the file exists, it is replaced.
func Write(path, version string, p *Plan) (digest string, err error) {
	content, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	digest = digestOf(content)
	first, err := json.Marshal(header{kind, formatVersion, version, digest})
	if err != nil {
		return "", err
	}
	if err := replaceFile(path, bytes.Join([][]byte{first, content, nil}, []byte("\n"))); err != nil {
		return "", fmt.Errorf("save the plan: %w", err)
	}
	return digest, nil
}

// replaceFile creates a file, or replaces it as a whole.
func replaceFile(path string, content []byte) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it is incomplete
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func digestOf(content []byte) string {
	digest := sha256.Sum256(content)
	return digestPrefix + hex.EncodeToString(digest[:])
}

// Read reads a plan from a file, and returns its digest. If expected is not empty, it is the digest that the plan
// must have. If it has another one, or was altered, the error is a *DigestError.
func Read(path, expected string) (p *Plan, digest string, err error) {
	content, err := readFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("read the plan: %w", err)
	}
	p, digest, err = parse(path, content)
	if err == nil && expected != "" && expected != digest {
		return nil, digest, &DigestError{File: path, Actual: digest, Expected: expected}
	}
	return p, digest, err
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxSize:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxSize)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, maxSize))
}

// parse reads the content of the file at path.
func parse(path string, content []byte) (*Plan, string, error) {
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	rest = bytes.TrimSuffix(rest, []byte("\n"))
	var h header
	if err := json.Unmarshal(first, &h); err != nil || h.Kind != kind {
		return nil, "", fmt.Errorf("%s is not a plan that helm plan --save has written", path)
	}
	if h.FormatVersion != formatVersion {
		return nil, "", fmt.Errorf("%s was written by version %q of Ordered Helm in version %d of the format of plans, of which this version only knows %d: use that version, or make a new plan",
			path, h.WrittenBy, h.FormatVersion, formatVersion)
	}
	digest := digestOf(rest)
	if digest != h.Digest {
		return nil, digest, &DigestError{File: path, Actual: digest, Expected: h.Digest, IsAltered: true}
	}
	p := &Plan{}
	if err := kjson.Unmarshal(rest, p); err != nil { // which keeps integers
		return nil, digest, fmt.Errorf("%s: %w", path, err)
	}
	if err := p.validate(path); err != nil {
		return nil, digest, err
	}
	return p, digest, nil
}

// validate returns an error if the plan lacks what every plan has.
func (p *Plan) validate(path string) error {
	if p.Operation != Install && p.Operation != Upgrade || p.Release == "" || p.Namespace == "" || p.Rendered == nil || len(p.Chart.Files) == 0 {
		return fmt.Errorf("%s is not a complete plan: make a new one", path)
	}
	return nil
}
