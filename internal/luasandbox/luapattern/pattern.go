// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package luapattern matches the patterns of Lua 5.1 with a bounded number of steps. The matcher
// of the interpreter has no bound: a short pattern can keep it busy for hours.
package luapattern

import (
	"errors"
	"fmt"
)

const (
	// maxSteps is the maximum number of steps of a Matcher: comparisons of a character with an
	// element of the pattern. It takes less than a second to reach it.
	maxSteps = 50_000_000
	// stepsBetweenChecks is the number of steps after which a Matcher calls its check again.
	stepsBetweenChecks = 1 << 13
	// maxPattern is the maximum length of a pattern in bytes. It also bounds the recursion,
	// because each recursive call has consumed an element of the pattern.
	maxPattern = 4096
	// maxCaptures is the maximum number of captures, as in Lua 5.1.
	maxCaptures = 32
)

// ErrTooManySteps is returned if a match needs too many steps.
var ErrTooManySteps = errors.New("the pattern needs too many steps to match")

// Pattern is a parsed pattern. It can be used for any number of matches.
type Pattern struct {
	elements []element
	anchored bool
	captures int
}

type elementKind uint8

const (
	single elementKind = iota
	captureStart
	captureEnd
	capturePosition
	backReference
	balance
	frontier
	endAnchor
)

// element is an element of a pattern.
type element struct {
	kind elementKind
	// set contains the characters that a single or a frontier matches.
	set *set
	// repeat is '*', '+', '-', '?' or 0, for a single.
	repeat byte
	// index is the number of the capture, for captures and back references.
	index int
	// open and close are the delimiters of a balance.
	open, close byte
}

// set is a set of characters.
type set [4]uint64

func (s *set) add(c byte)           { s[c>>6] |= 1 << (c & 63) }
func (s *set) contains(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

// addAll adds the characters for which include returns true, or false if negated is set.
func (s *set) addAll(include func(byte) bool, negated bool) {
	for c := range 256 {
		if include(byte(c)) != negated {
			s.add(byte(c))
		}
	}
}

// Parse parses a pattern. If it is invalid, the error says why.
func Parse(text string) (*Pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("a pattern can have at most %d characters", maxPattern)
	}
	p := parser{text: text, pattern: &Pattern{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.pattern, nil
}

type parser struct {
	text    string
	pos     int
	pattern *Pattern
	// open contains the numbers of the captures that are not closed.
	open []int
	// closed contains whether each capture is closed.
	closed []bool
}

func (p *parser) add(e element) { p.pattern.elements = append(p.pattern.elements, e) }

func (p *parser) parse() error {
	if p.text != "" && p.text[0] == '^' {
		p.pattern.anchored = true
		p.pos++
	}
	for p.pos < len(p.text) {
		if err := p.parseElement(); err != nil {
			return err
		}
	}
	if len(p.open) > 0 {
		return errors.New("malformed pattern: unfinished capture")
	}
	p.pattern.captures = len(p.closed)
	return nil
}

func (p *parser) parseElement() error {
	c := p.text[p.pos]
	switch {
	case c == '(':
		return p.openCapture()
	case c == ')':
		if len(p.open) == 0 {
			return errors.New("malformed pattern: ')' without '('")
		}
		index := p.open[len(p.open)-1]
		p.open = p.open[:len(p.open)-1]
		p.closed[index] = true
		p.add(element{kind: captureEnd, index: index})
		p.pos++
		return nil
	case c == '$' && p.pos == len(p.text)-1:
		p.add(element{kind: endAnchor})
		p.pos++
		return nil
	case c == '%' && p.pos+1 < len(p.text):
		switch next := p.text[p.pos+1]; {
		case next >= '0' && next <= '9':
			index := int(next) - '1'
			if index < 0 || index >= len(p.closed) || !p.closed[index] {
				return fmt.Errorf("malformed pattern: invalid capture index %%%c", next)
			}
			p.add(element{kind: backReference, index: index})
			p.pos += 2
			return nil
		case next == 'b':
			if p.pos+3 >= len(p.text) {
				return errors.New("malformed pattern: missing characters after '%b'")
			}
			p.add(element{kind: balance, open: p.text[p.pos+2], close: p.text[p.pos+3]})
			p.pos += 4
			return nil
		case next == 'f':
			p.pos += 2
			if p.pos >= len(p.text) || p.text[p.pos] != '[' {
				return errors.New("malformed pattern: missing '[' after '%f'")
			}
			s, err := p.parseSingle()
			p.add(element{kind: frontier, set: s})
			return err
		}
	}
	s, err := p.parseSingle()
	if err != nil {
		return err
	}
	e := element{kind: single, set: s}
	if p.pos < len(p.text) {
		switch c := p.text[p.pos]; c {
		case '*', '+', '-', '?':
			e.repeat = c
			p.pos++
		}
	}
	p.add(e)
	return nil
}

func (p *parser) openCapture() error {
	index := len(p.closed)
	if index == maxCaptures {
		return fmt.Errorf("malformed pattern: more than %d captures", maxCaptures)
	}
	p.pos++
	if p.pos < len(p.text) && p.text[p.pos] == ')' {
		p.pos++
		p.closed = append(p.closed, true)
		p.add(element{kind: capturePosition, index: index})
		return nil
	}
	p.closed = append(p.closed, false)
	p.open = append(p.open, index)
	p.add(element{kind: captureStart, index: index})
	return nil
}

// parseSingle parses what matches one character.
func (p *parser) parseSingle() (*set, error) {
	s := &set{}
	c := p.text[p.pos]
	p.pos++
	switch c {
	case '.':
		s.addAll(func(byte) bool { return true }, false)
	case '%':
		if p.pos == len(p.text) {
			return nil, errors.New("malformed pattern: ends with '%'")
		}
		addClass(s, p.text[p.pos])
		p.pos++
	case '[':
		return p.parseSet()
	default:
		s.add(c)
	}
	return s, nil
}

// parseSet parses a set after its opening bracket.
func (p *parser) parseSet() (*set, error) {
	s := &set{}
	negated := p.pos < len(p.text) && p.text[p.pos] == '^'
	if negated {
		p.pos++
	}
	for first := true; ; first = false {
		if p.pos >= len(p.text) {
			return nil, errors.New("malformed pattern: missing ']'")
		}
		c := p.text[p.pos]
		p.pos++
		switch {
		case c == ']' && !first:
			if negated {
				for i := range s {
					s[i] = ^s[i]
				}
			}
			return s, nil
		case c == '%' && p.pos < len(p.text):
			addClass(s, p.text[p.pos])
			p.pos++
		case p.pos+1 < len(p.text) && p.text[p.pos] == '-' && p.text[p.pos+1] != ']':
			for r := int(c); r <= int(p.text[p.pos+1]); r++ {
				s.add(byte(r))
			}
			p.pos += 2
		default:
			s.add(c)
		}
	}
}

// addClass adds the characters of the class %c to s. An upper-case letter names the complement.
func addClass(s *set, c byte) {
	include, isClass := classOf(c | 0x20)
	if !isClass || !isLetter(c) {
		s.add(c)
		return
	}
	s.addAll(include, c&0x20 == 0)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func classOf(lower byte) (include func(byte) bool, isClass bool) {
	switch lower {
	case 'a':
		return isLetter, true
	case 'c':
		return func(c byte) bool { return c < ' ' || c == 0x7f }, true
	case 'd':
		return isDigit, true
	case 'l':
		return func(c byte) bool { return c >= 'a' && c <= 'z' }, true
	case 'p':
		return func(c byte) bool { return c > ' ' && c < 0x7f && !isLetter(c) && !isDigit(c) }, true
	case 's':
		return func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }, true
	case 'u':
		return func(c byte) bool { return c >= 'A' && c <= 'Z' }, true
	case 'w':
		return func(c byte) bool { return isLetter(c) || isDigit(c) }, true
	case 'x':
		return func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }, true
	case 'z':
		return func(c byte) bool { return c == 0 }, true
	}
	return nil, false
}
