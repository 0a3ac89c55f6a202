// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// ReadinessExpression is a readiness expression: a path in the status of an object, an
// operator and a literal, for example `{.succeeded} >= 1` (docs/reference.md, "Expressions").
// It is safe for concurrent use.
type ReadinessExpression struct {
	text string
	// template is the path in the syntax of the JSONPath parser. It is parsed for each
	// evaluation, because a parsed path must not be used concurrently.
	template string
	op       string
	literal  string
}

// operatorCharacters are the characters that operators consist of. A sequence of them that
// is not in operators is an invalid operator.
const operatorCharacters = "=!<>~"

func operators() []string { return []string{"==", "!=", "<=", ">=", "<", ">"} }

// ReadReadinessExpressions reads a list of expressions from value, the value of the annotation
// with the given key. It returns the valid expressions, and an error that joins a *ValueError
// for each of the others.
func ReadReadinessExpressions(key string, value any) ([]ReadinessExpression, error) {
	texts, err := ReadItems(key, value)
	if err != nil {
		return nil, err
	}
	if len(texts) > MaxExpressions {
		return nil, newErrorOfKind(InvalidExpression, key, value, "has %d expressions; the maximum is %d", len(texts), MaxExpressions)
	}
	var list []ReadinessExpression
	var problems []error
	for _, text := range texts {
		e, err := ParseExpression(text)
		if err != nil {
			which := ""
			if len(texts) > 1 {
				which = fmt.Sprintf("%q ", truncate(text))
			}
			problems = append(problems, newErrorOfKind(InvalidExpression, key, value, "%sis not a readiness expression: %v", which, err))
			continue
		}
		list = append(list, e)
	}
	return list, errors.Join(problems...)
}

// ParseExpression parses an expression, for example `{.succeeded} >= 1`.
func ParseExpression(text string) (ReadinessExpression, error) {
	if len(text) > maxExpressionLength {
		return ReadinessExpression{}, fmt.Errorf("has %d bytes; the maximum is %d", len(text), maxExpressionLength)
	}
	at, op, err := findOperator(text)
	if err != nil {
		return ReadinessExpression{}, err
	}
	e := ReadinessExpression{text: strings.TrimSpace(text), op: op}
	if e.template, err = parsePath(strings.TrimSpace(text[:at])); err != nil {
		return ReadinessExpression{}, err
	}
	if e.literal, err = parseLiteral(strings.TrimSpace(text[at+len(op):])); err != nil {
		return ReadinessExpression{}, err
	}
	return e, nil
}

// String returns the expression as the author wrote it.
func (e ReadinessExpression) String() string { return e.text }

// PathBeginsWithStatus reports whether the first field of the path is status. This is
// probably a mistake, because paths are relative to the status.
func (e ReadinessExpression) PathBeginsWithStatus() bool {
	path := strings.TrimLeft(e.template, "{$")
	return strings.HasPrefix(path, ".status.") || strings.HasPrefix(path, ".status[")
}

// findOperator returns the first operator in text outside brackets and quotes, and its index.
func findOperator(text string) (at int, op string, err error) {
	var open []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"' || c == '\'':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return 0, "", fmt.Errorf("missing closing quote %c", c)
			}
			i += end + 1
		case strings.IndexByte("{[(", c) >= 0:
			open = append(open, c)
		case strings.IndexByte("}])", c) >= 0:
			if len(open) == 0 || !isPair(open[len(open)-1], c) {
				return 0, "", fmt.Errorf("unexpected %q", c)
			}
			open = open[:len(open)-1]
		case len(open) == 0 && strings.IndexByte(operatorCharacters, c) >= 0:
			return parseOperator(text, i)
		}
	}
	if len(open) > 0 {
		return 0, "", fmt.Errorf("%q is not closed", open[len(open)-1])
	}
	return 0, "", fmt.Errorf("missing operator: write a path, one of %s, and a value, as in {.succeeded} >= 1", strings.Join(operators(), " "))
}

func isPair(open, closing byte) bool {
	return open == '{' && closing == '}' || open == '[' && closing == ']' || open == '(' && closing == ')'
}

// parseOperator returns start and the operator that begins at text[start].
func parseOperator(text string, start int) (int, string, error) {
	end := start
	for end < len(text) && strings.IndexByte(operatorCharacters, text[end]) >= 0 {
		end++
	}
	if op := text[start:end]; slices.Contains(operators(), op) {
		return start, op, nil
	}
	return 0, "", fmt.Errorf("invalid operator %q: must be one of %s", text[start:end], strings.Join(operators(), " "))
}

// parsePath checks that path is a single JSONPath, with or without braces, and returns it
// in the syntax of the JSONPath parser.
func parsePath(path string) (string, error) {
	if path == "" {
		return "", errors.New("missing path before the operator")
	}
	if inner, braced := strings.CutPrefix(path, "{"); braced {
		inner, closed := strings.CutSuffix(inner, "}")
		if !closed {
			return "", fmt.Errorf("unexpected text after the closing brace of the path %s", path)
		}
		path = strings.TrimSpace(inner)
	}
	// The JSONPath parser skips blanks; a path that contains one is probably a mistake.
	if first, _, _ := strings.Cut(path, "["); strings.ContainsAny(first, " \t\r\n") {
		return "", fmt.Errorf("the path %q is not a JSONPath: it contains a space", path)
	}
	if !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "[") && !strings.HasPrefix(path, "$") {
		path = "." + path
	}
	template := "{" + path + "}"
	parsed, err := jsonpath.Parse("readiness", template)
	if err != nil {
		return "", fmt.Errorf("the path %s is not a JSONPath: %w", template, err)
	}
	if len(parsed.Root.Nodes) != 1 {
		return "", fmt.Errorf("%s is more than one path", template)
	}
	if err := checkNodes(parsed.Root.Nodes); err != nil {
		return "", fmt.Errorf("the path %s is not a JSONPath: %w", template, err)
	}
	if err := checkCost(parsed.Root.Nodes); err != nil {
		return "", fmt.Errorf("the path %s would take too long to evaluate: %w", template, err)
	}
	return template, nil
}

// checkNodes rejects nodes of a parsed JSONPath that the parser accepts, but that can
// never match.
func checkNodes(nodes []jsonpath.Node) error {
	for _, node := range nodes {
		var err error
		switch step := node.(type) {
		case *jsonpath.ListNode:
			err = checkNodes(step.Nodes)
		case *jsonpath.UnionNode:
			for _, list := range step.Nodes {
				err = errors.Join(err, checkNodes(list.Nodes))
			}
		case *jsonpath.FilterNode:
			err = checkFilter(step)
		case *jsonpath.FieldNode:
			if step.Value == "" || strings.ContainsAny(step.Value, operatorCharacters+" \t\n\"'") {
				err = fmt.Errorf("invalid field name %q", step.Value)
			}
		case *jsonpath.ArrayNode, *jsonpath.WildcardNode, *jsonpath.RecursiveNode:
		default:
			err = fmt.Errorf("%s is not allowed in a path", node)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkFilter(filter *jsonpath.FilterNode) error {
	if filter.Operator != "exists" && !slices.Contains(operators(), filter.Operator) {
		return fmt.Errorf("invalid filter operator %q", filter.Operator)
	}
	return checkNodes(filter.Left.Nodes)
}

// parseLiteral checks a literal and returns it without quotes.
func parseLiteral(text string) (string, error) {
	if text == "" {
		return "", errors.New(`missing value after the operator: write "" for an empty value`)
	}
	switch first := text[0]; {
	case first == '"' || first == '\'':
		if len(text) < 2 || strings.IndexByte(text[1:], first) != len(text)-2 {
			return "", fmt.Errorf("unexpected text after the closing quote of the value %s", text)
		}
		return text[1 : len(text)-1], nil
	case strings.IndexByte(operatorCharacters, first) >= 0:
		return "", fmt.Errorf("the value %s begins with an operator: quote it", text)
	}
	for _, word := range strings.Fields(text) {
		if word == "&&" || word == "||" {
			return "", fmt.Errorf("%s is not supported: write one comparison, or a list of comparisons of which one must be true", word)
		}
	}
	return text, nil
}

// Holds reports whether the expression is true for the status of an object. If the path
// matches several values, the comparison must be true for at least one of them. If it
// matches none, the result is false for every operator.
func (e ReadinessExpression) Holds(status any) bool {
	return slices.ContainsFunc(e.values(status), e.compare)
}

// ActualValues returns the values that the path matches in the status of an object, as
// text for messages, for example `"Pending"`. It returns at most three, and an empty
// string if there are none.
func (e ReadinessExpression) ActualValues(status any) string {
	const maxValues = 3
	var texts []string
	for _, v := range e.values(status) {
		if len(texts) == maxValues {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, formatValue(v.Interface()))
	}
	return strings.Join(texts, ", ")
}

// values returns the values that the path matches in the status of an object, except null.
func (e ReadinessExpression) values(status any) []reflect.Value {
	if status == nil {
		return nil
	}
	path := jsonpath.New("readiness").AllowMissingKeys(true)
	if path.Parse(e.template) != nil {
		return nil
	}
	results := evaluate(path, status)
	var found []reflect.Value
	for _, v := range slices.Concat(results...) {
		for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
			v = v.Elem()
		}
		if v.IsValid() && v.CanInterface() {
			found = append(found, v)
		}
	}
	return found
}

// evaluate returns the values that a path matches. The JSONPath library panics for some
// combinations of path and value, such as a wildcard and nil; evaluate then returns nil,
// because the status of an object must not end the process.
func evaluate(path *jsonpath.JSONPath, status any) (results [][]reflect.Value) {
	defer func() {
		if recover() != nil {
			results = nil
		}
	}()
	results, err := path.FindResults(status)
	if err != nil {
		return nil
	}
	return results
}

// compare reports whether the comparison is true for v. It converts the literal to the
// type of v.
func (e ReadinessExpression) compare(v reflect.Value) bool {
	switch {
	case v.Kind() == reflect.String:
		return e.matchesEqual(v.String() == e.literal)
	case v.Kind() == reflect.Bool:
		return e.matchesEqual(strings.EqualFold(strconv.FormatBool(v.Bool()), e.literal))
	case v.CanInt():
		if literal, err := strconv.ParseInt(e.literal, 10, 64); err == nil {
			return e.matchesOrder(cmp.Compare(v.Int(), literal))
		}
		return e.compareFloat(float64(v.Int()))
	case v.CanFloat():
		return e.compareFloat(v.Float())
	}
	return false // no comparison is true for a map or list
}

func (e ReadinessExpression) compareFloat(value float64) bool {
	literal, err := strconv.ParseFloat(e.literal, 64)
	if err != nil || math.IsNaN(literal) || math.IsInf(literal, 0) {
		return e.matchesEqual(false)
	}
	return e.matchesOrder(cmp.Compare(value, literal))
}

// matchesEqual reports whether the comparison is true for a value that only == and != can
// compare. equal says whether the value equals the literal.
func (e ReadinessExpression) matchesEqual(equal bool) bool {
	return e.op == "==" && equal || e.op == "!=" && !equal
}

// matchesOrder reports whether the comparison is true for a number. order is negative if
// the number is less than the literal, 0 if they are equal, and otherwise positive.
func (e ReadinessExpression) matchesOrder(order int) bool {
	switch e.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return e.matchesEqual(order == 0)
}
