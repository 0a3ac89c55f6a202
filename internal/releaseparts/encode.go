// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	// maxPartBytes is the maximum size of the data in one Secret. The API server accepts 1 MiB,
	// and etcd requests of 1.5 MiB. In a request, the data is encoded in base64: it then takes
	// 934 KiB, so that the request also fits into the 1 MiB that proxies in front of an API
	// server accept by default.
	maxPartBytes = 700 << 10
	// maxSlowBytes is the maximum size of a section that is compressed with the default level of
	// gzip. Larger sections are compressed with the fastest level, because they usually contain
	// files that are compressed already.
	maxSlowBytes = 4 << 20
	// partDigestChars is the number of hexadecimal characters of its digest in the name of a part.
	partDigestChars = 32
)

// Reference says where a section is stored. It is stored as JSON.
type Reference struct {
	Section string `json:"section"`
	// Digest is the SHA-256 digest of the data, as in "sha256:...", and Size its size in bytes.
	Digest string `json:"digest"`
	Size   int    `json:"size"`
	// Secrets contains the names of the Secrets with the parts of the compressed data.
	Secrets []string `json:"secrets"`
}

// SecretsOf returns the names of all Secrets to which references refer.
func SecretsOf(references []Reference) []string {
	var names []string
	for _, r := range references {
		names = append(names, r.Secrets...)
	}
	return names
}

// EncodedSection is a section in the form in which it is stored.
type EncodedSection struct {
	Reference Reference
	// parts contains the data of the Secrets; nil if they are stored already.
	parts [][]byte
}

// References returns the references to the sections.
func References(sections []EncodedSection) []Reference {
	references := make([]Reference, len(sections))
	for i, s := range sections {
		references[i] = s.Reference
	}
	return references
}

// NewSecrets returns the names of the Secrets that SecretStore.Write creates for the sections.
func NewSecrets(sections []EncodedSection) []string {
	var names []string
	for _, s := range sections {
		if s.parts != nil {
			names = append(names, s.Reference.Secrets...)
		}
	}
	return names
}

// Encode compresses sections and splits them into parts. The names of their Secrets begin with
// prefix. stored refers to sections that are stored already: those that are equal are not
// encoded again.
func Encode(prefix string, sections []Section, stored []Reference) ([]EncodedSection, error) {
	encoded := make([]EncodedSection, len(sections))
	for i, s := range sections {
		reference, isStored := referenceTo(s, stored)
		if isStored {
			encoded[i] = EncodedSection{Reference: reference}
			continue
		}
		compressed, err := compress(s.Data)
		if err != nil {
			return nil, fmt.Errorf("compress the section %s: %w", s.Name, err)
		}
		parts := slices.Collect(slices.Chunk(compressed, maxPartBytes))
		for number, part := range parts {
			reference.Secrets = append(reference.Secrets, fmt.Sprintf("%s.%s-%d-%s", prefix, s.Name, number, partDigest(part)))
		}
		encoded[i] = EncodedSection{Reference: reference, parts: parts}
	}
	return encoded, nil
}

// AreStored reports whether stored refers to exactly these sections.
func AreStored(sections []Section, stored []Reference) bool {
	for _, s := range sections {
		if _, isStored := referenceTo(s, stored); !isStored {
			return false
		}
	}
	return len(sections) == len(stored)
}

// referenceTo returns the reference to a section that is stored already. If it is not stored, it
// returns a reference without Secrets.
func referenceTo(s Section, stored []Reference) (r Reference, isStored bool) {
	r = Reference{Section: s.Name, Digest: digest(s.Data), Size: len(s.Data)}
	i := slices.IndexFunc(stored, func(other Reference) bool {
		return other.Section == r.Section && other.Digest == r.Digest && other.Size == r.Size
	})
	if i < 0 {
		return r, false
	}
	return stored[i], true
}

// compress compresses data with gzip: in pieces, which are members of the result, at the same time.
func compress(data []byte) ([]byte, error) {
	level := gzip.DefaultCompression
	if len(data) > maxSlowBytes {
		level = gzip.BestSpeed
	}
	pieces := slices.Collect(slices.Chunk(data, maxSlowBytes))
	if len(pieces) == 0 {
		pieces = [][]byte{data}
	}
	compressed := make([][]byte, len(pieces))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, piece := range pieces {
		g.Go(func() (err error) {
			compressed[i], err = compressPiece(piece, level)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return bytes.Join(compressed, nil), nil
}

func compressPiece(data []byte, level int) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(len(data)/2 + 512)
	w, err := gzip.NewWriterLevel(&buffer, level)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// decompress returns the data of a section.
func decompress(reference Reference, parts [][]byte) ([]byte, error) {
	readers := make([]io.Reader, len(parts))
	for i, part := range parts {
		readers[i] = bytes.NewReader(part)
	}
	r, err := gzip.NewReader(io.MultiReader(readers...))
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	if _, err := data.ReadFrom(io.LimitReader(r, int64(reference.Size)+1)); err != nil {
		return nil, err
	}
	if data.Len() != reference.Size || digest(data.Bytes()) != reference.Digest {
		return nil, errors.New("its digest differs")
	}
	return data.Bytes(), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// partDigest returns the part of its digest that the name of the Secret with this data contains.
func partDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:partDigestChars]
}
