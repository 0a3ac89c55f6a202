// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"regexp"
	"strings"
)

// Refusal hides the secrets in what a server answered. Besides what Mask hides
// these are the objects and patches that an answer about a Secret quotes: they
// hold values that others have put there, and such as are too short to be masked
// elsewhere. A nil masker hides these alone.
func (m *Masker) Refusal(text string) string { return m.Mask(withoutSecretObjects(text)) }

// Conceal returns an error whose text is as Refusal has it, and which is the error
// otherwise. An error that tells no secret is returned as it is.
func (m *Masker) Conceal(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	text := m.Refusal(said)
	if text == said {
		return err
	}
	return &concealedError{text: text, err: err}
}

// concealedError is an error in other words.
type concealedError struct {
	text string
	err  error
}

func (e *concealedError) Error() string { return e.text }

func (e *concealedError) Unwrap() error { return e.err }

var (
	// aboutSecret recognises what clients and servers say about a Secret, and
	// ofSecret a quoted one.
	aboutSecret = regexp.MustCompile(`\bkind Secret\b|\bSecret "|\bsecrets? "|\bSecret in version\b|\bas a Secret\b|\bSecret/|\bSecret\.|\bSecret\{`)
	ofSecret    = regexp.MustCompile(`\bkind"?\s*[:=]\s*"?Secret\b`)
	// excerpt is how older servers quote the place of an object that they cannot
	// read.
	excerpt = regexp.MustCompile(`(?s)\.\.\.\|.*\|\.\.\.`)
)

// withoutSecretObjects puts stars in the place of the objects in a text that are
// Secrets, and of all objects in a line that is about a Secret.
func withoutSecretObjects(text string) string {
	var out strings.Builder
	for text != "" {
		line, _, _ := strings.Cut(text, "\n")
		hidden, about := secretObjects(line)
		end := len(line)
		if last := len(hidden) - 1; last >= 0 && hidden[last][1] == end && line[hidden[last][0]] != '"' {
			end = hidden[last][0] + nestedSize(text[hidden[last][0]:]) // over several lines
			hidden[last][1] = end
		}
		shown := without(text[:end], hidden)
		if about {
			shown = excerpt.ReplaceAllString(shown, masked)
		}
		out.WriteString(shown)
		text = text[end:]
		if rest, next := strings.CutPrefix(text, "\n"); next {
			out.WriteString("\n")
			text = rest
		}
	}
	return out.String()
}

// secretObjects finds the objects in a line that must not be shown, and tells
// whether it is about a Secret.
func secretObjects(line string) (hidden [][2]int, about bool) {
	spans := objectsIn(line)
	about = aboutSecret.MatchString(without(line, spans))
	for _, span := range spans {
		readings := spellings(line[span[0]:span[1]])
		if about || ofSecret.MatchString(readings[len(readings)-1].text) {
			hidden = append(hidden, span)
		}
	}
	return hidden, about
}

func without(text string, spans [][2]int) string {
	var out strings.Builder
	end := 0
	for _, span := range spans {
		out.WriteString(text[end:span[0]] + masked)
		end = span[1]
	}
	return out.String() + text[end:]
}

// objectsIn finds the objects in a line: in JSON or as Go prints them, plain or
// quoted. One that is cut off reaches to the end.
func objectsIn(line string) [][2]int {
	var spans [][2]int
	for i := 0; i < len(line); {
		size, object := 1, false
		rest := line[i:]
		switch {
		case rest[0] == '"':
			size, object = quotedObject(rest)
		case rest[0] == '{', strings.HasPrefix(rest, "map["):
			size = nestedSize(rest)
			object = strings.Contains(rest[:size], ":") || !strings.HasSuffix(rest[:size], "}") && !strings.HasSuffix(rest[:size], "]")
		}
		if object {
			spans = append(spans, [2]int{i, i + size})
		}
		i += size
	}
	return spans
}

// quotedObject tells how long the quotation is that a text begins with, and whether
// it quotes an object.
func quotedObject(text string) (size int, object bool) {
	size = quotedSize(text)
	if size == 0 { // it is cut off, or a mere sign
		if strings.HasPrefix(text[1:], "{") || strings.HasPrefix(text[1:], "map[") {
			return len(text), true
		}
		return 1, false
	}
	return size, strings.ContainsAny(text[:size], "{[") && strings.Contains(text[:size], ":")
}

// quotedSize is how long the quotation is that a text begins with, 0 if it does not
// end.
func quotedSize(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// nestedSize tells how far the brackets reach that a text begins with, perhaps
// after the word map.
func nestedSize(text string) int {
	opening, closing := byte('{'), byte('}')
	if strings.HasPrefix(text, "map[") {
		opening, closing = '[', ']'
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += max(quotedSize(text[i:])-1, 0)
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
