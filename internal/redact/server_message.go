// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

// ServerMessage redacts a message that may come from the API server. It replaces what Text
// replaces. If the message is about a Secret and quotes objects or patches, it replaces
// these completely, because they can contain values that r does not know, or that are
// shorter than minLength. A nil Redactor only replaces quoted objects.
func (r *Redactor) ServerMessage(message string) string { return r.Text(withoutSecretObjects(message)) }

var (
	// aboutSecret matches a line of an error message that is about a Secret.
	aboutSecret = regexp.MustCompile(`\bkind Secret\b|\bSecret "|\bsecrets? "|\bSecret in version\b|\bas a Secret\b|\bSecret/|\bSecret\.|\bSecret\{`)
	// secretKind matches the field "kind" of a quoted Secret.
	secretKind = regexp.MustCompile(`\bkind"?\s*[:=]\s*"?Secret\b`)
	// decodingExcerpt matches the part of an object that older API servers quote if they
	// cannot decode the object.
	decodingExcerpt = regexp.MustCompile(`(?s)\.\.\.\|.*\|\.\.\.`)
)

// withoutSecretObjects returns a text in which asterisks replace each quoted Secret and, in
// lines that are about a Secret, each quoted object.
func withoutSecretObjects(text string) string {
	var out strings.Builder
	for text != "" {
		line, _, _ := strings.Cut(text, "\n")
		objects, about := secretObjects(line)
		end := len(line)
		if last := len(objects) - 1; last >= 0 && objects[last][1] == end && line[objects[last][0]] != '"' {
			end = objects[last][0] + bracketedSize(text[objects[last][0]:]) // may span several lines
			objects[last][1] = end
		}
		redacted := replaceSpans(text[:end], objects)
		if about {
			redacted = decodingExcerpt.ReplaceAllString(redacted, placeholder)
		}
		out.WriteString(redacted)
		text = text[end:]
		if rest, found := strings.CutPrefix(text, "\n"); found {
			out.WriteString("\n")
			text = rest
		}
	}
	return out.String()
}

// secretObjects returns the start and end offsets of the quoted objects in a line that
// withoutSecretObjects must replace. about reports whether the line is about a Secret.
func secretObjects(line string) (spans [][2]int, about bool) {
	objects := quotedObjects(line)
	about = aboutSecret.MatchString(replaceSpans(line, objects))
	for _, span := range objects {
		decoded := decodings(line[span[0]:span[1]])
		if about || secretKind.MatchString(decoded[len(decoded)-1].text) {
			spans = append(spans, span)
		}
	}
	return spans, about
}

// replaceSpans replaces the parts of a text with the given start and end offsets. They must
// be sorted, and must not overlap.
func replaceSpans(text string, spans [][2]int) string {
	var out strings.Builder
	end := 0
	for _, span := range spans {
		out.WriteString(text[end:span[0]] + placeholder)
		end = span[1]
	}
	return out.String() + text[end:]
}

// quotedObjects returns the start and end offsets of all objects that a line quotes: JSON
// objects and Go maps, plain or within a quoted string. An object without an end extends to
// the end of the line.
func quotedObjects(line string) [][2]int {
	var spans [][2]int
	for i := 0; i < len(line); {
		size, isObject := 1, false
		rest := line[i:]
		switch {
		case rest[0] == '"':
			size, isObject = quotedObject(rest)
		case rest[0] == '{', strings.HasPrefix(rest, "map["):
			size = bracketedSize(rest)
			isObject = strings.Contains(rest[:size], ":") || !strings.HasSuffix(rest[:size], "}") && !strings.HasSuffix(rest[:size], "]")
		}
		if isObject {
			spans = append(spans, [2]int{i, i + size})
		}
		i += size
	}
	return spans
}

// quotedObject returns the size of the quoted string at the start of a text, and reports
// whether it contains an object.
func quotedObject(text string) (size int, isObject bool) {
	size = quotedSize(text)
	if size == 0 { // incomplete, or a single quotation mark
		if strings.HasPrefix(text[1:], "{") || strings.HasPrefix(text[1:], "map[") {
			return len(text), true
		}
		return 1, false
	}
	return size, strings.ContainsAny(text[:size], "{[") && strings.Contains(text[:size], ":")
}

// quotedSize returns the size of the quoted string at the start of a text, with its
// quotation marks, or 0 if the closing one is missing.
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

// bracketedSize returns the size of the JSON object or Go map at the start of a text. If
// the closing bracket is missing, this is the size of the whole text.
func bracketedSize(text string) int {
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
