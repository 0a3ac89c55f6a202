// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luapattern

// Capture is what a capture of a pattern has matched: text[Start:End], or only the position
// Start if Position is set.
type Capture struct {
	Start, End int
	Position   bool
}

// Match is a match of a pattern.
type Match struct {
	// Start and End are the offsets of the matched text.
	Start, End int
	// Captures contains the captures in the order of their opening parentheses.
	Captures []Capture
}

// Matcher finds the matches of a pattern in a text. All its calls share one bound of steps.
type Matcher struct {
	pattern *Pattern
	text    string
	check   func() error
	steps   int
	// nextCheck is the number of steps after which check is called again.
	nextCheck int
	captures  [maxCaptures]Capture
	err       error
}

// NewMatcher returns a Matcher. It calls check again and again while it searches, and stops if
// that returns an error.
func NewMatcher(pattern *Pattern, text string, check func() error) *Matcher {
	return &Matcher{pattern: pattern, text: text, check: check}
}

// Find returns the first match that starts at the offset from or later, and whether there is
// one. A pattern that begins with ^ only matches at from. The error is ErrTooManySteps or that
// of check.
func (m *Matcher) Find(from int) (match Match, found bool, err error) {
	for start := from; start <= len(m.text); start++ {
		if end := m.match(0, start); end >= 0 {
			captures := append([]Capture(nil), m.captures[:m.pattern.captures]...)
			return Match{start, end, captures}, true, nil
		}
		if m.err != nil || m.pattern.anchored {
			break
		}
	}
	return Match{}, false, m.err
}

// Anchored reports whether the pattern begins with ^.
func (p *Pattern) Anchored() bool { return p.anchored }

// step counts a step, and reports whether the search can go on.
func (m *Matcher) step() bool {
	m.steps++
	if m.err == nil && m.steps >= m.nextCheck {
		m.nextCheck = m.steps + stepsBetweenChecks
		if m.steps > maxSteps {
			m.err = ErrTooManySteps
		} else {
			m.err = m.check()
		}
	}
	return m.err == nil
}

// match matches the elements from index on at pos, and returns the end of the match, or -1.
func (m *Matcher) match(index, pos int) int {
	for ; index < len(m.pattern.elements); index++ {
		if !m.step() {
			return -1
		}
		switch e := &m.pattern.elements[index]; e.kind {
		case captureStart, captureEnd, capturePosition:
			return m.matchCapture(e, index, pos)
		case endAnchor:
			if pos != len(m.text) {
				return -1
			}
		case backReference:
			c := m.captures[e.index]
			length := c.End - c.Start
			// Comparing takes a step for each 16 bytes.
			m.steps += length / 16
			if c.Position || length > len(m.text)-pos || m.text[c.Start:c.End] != m.text[pos:pos+length] {
				return -1
			}
			pos += length
		case balance:
			if pos = m.matchBalance(e, pos); pos < 0 {
				return -1
			}
		case frontier:
			if e.set.contains(m.at(pos-1)) || !e.set.contains(m.at(pos)) {
				return -1
			}
		case single:
			if e.repeat != 0 {
				return m.matchRepeat(e, index, pos)
			}
			if !m.matchesSingle(e, pos) {
				return -1
			}
			pos++
		}
	}
	return pos
}

// at returns the character at pos, or 0 before the beginning and after the end of the text.
func (m *Matcher) at(pos int) byte {
	if pos < 0 || pos >= len(m.text) {
		return 0
	}
	return m.text[pos]
}

func (m *Matcher) matchesSingle(e *element, pos int) bool {
	return pos < len(m.text) && e.set.contains(m.text[pos])
}

// matchCapture sets a capture, and restores it if the rest of the pattern does not match.
func (m *Matcher) matchCapture(e *element, index, pos int) int {
	before := m.captures[e.index]
	switch e.kind {
	case captureStart:
		m.captures[e.index] = Capture{Start: pos, End: pos}
	case captureEnd:
		m.captures[e.index].End = pos
	default:
		m.captures[e.index] = Capture{Start: pos, End: pos, Position: true}
	}
	end := m.match(index+1, pos)
	if end < 0 {
		m.captures[e.index] = before
	}
	return end
}

// matchBalance returns the end of the balanced text at pos, or -1.
func (m *Matcher) matchBalance(e *element, pos int) int {
	if pos >= len(m.text) || m.text[pos] != e.open {
		return -1
	}
	depth := 1
	for pos++; pos < len(m.text) && m.step(); pos++ {
		switch m.text[pos] {
		case e.close:
			if depth--; depth == 0 {
				return pos + 1
			}
		case e.open:
			depth++
		}
	}
	return -1
}

// matchRepeat matches the element at index as often as its repeat says, and then the rest.
func (m *Matcher) matchRepeat(e *element, index, pos int) int {
	switch e.repeat {
	case '?':
		if m.matchesSingle(e, pos) {
			if end := m.match(index+1, pos+1); end >= 0 {
				return end
			}
		}
		return m.match(index+1, pos)
	case '-':
		for m.step() {
			if end := m.match(index+1, pos); end >= 0 {
				return end
			}
			if !m.matchesSingle(e, pos) {
				return -1
			}
			pos++
		}
		return -1
	}
	first := pos
	if e.repeat == '+' {
		first++
	}
	last := pos
	for m.matchesSingle(e, last) && m.step() {
		last++
	}
	for ; last >= first && m.err == nil; last-- {
		if end := m.match(index+1, last); end >= 0 {
			return end
		}
	}
	return -1
}
