// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/json"
	"io"
	"strings"
)

// JSON encodes value as JSON on one line. Unlike json.Marshal, it does not escape the
// characters <, > and &, which are common in readiness expressions and messages.
func JSON(value any) (string, error) {
	var b strings.Builder
	err := newEncoder(&b).Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// WriteJSON writes value to out as indented JSON. Like JSON, it does not escape <, > and &.
func WriteJSON(out io.Writer, value any) error {
	enc := newEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

func newEncoder(out io.Writer) *json.Encoder {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc
}
