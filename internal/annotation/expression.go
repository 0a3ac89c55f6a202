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

// Expression is one readiness expression: a path into an object's status, an
// operator and a literal (docs/reference.md, "Expressions"). It is safe for
// concurrent use.
type Expression struct {
	text string
	// template is the path in the form that the JSONPath parser reads. A parsed
	// path cannot be shared between goroutines, so it is kept as text.
	template string
	op       string
	literal  string
}

// operatorCharacters are what looks like an operator, known or not.
const operatorCharacters = "=!<>~"

// operators are what stands between path and literal, the longer ones first.
func operators() []string { return []string{"==", "!=", "<=", ">=", "<", ">"} }

// readExpressions reads the list of expressions under a key.
func readExpressions(key string, value any) ([]Expression, error) {
	texts, err := ReadItems(key, value)
	if err != nil {
		return nil, err
	}
	if len(texts) > maxExpressions {
		return nil, newProblemError(InvalidExpression, key, value, "it has %d expressions, but may have at most %d", len(texts), maxExpressions)
	}
	var list []Expression
	var problems []error
	for _, text := range texts {
		e, err := ParseExpression(text)
		if err != nil {
			problems = append(problems, newProblemError(InvalidExpression, key, value, "%q is not a readiness expression: %v", truncate(text), err))
			continue
		}
		list = append(list, e)
	}
	return list, errors.Join(problems...)
}

// ParseExpression reads an expression such as `{.succeeded} >= 1`.
func ParseExpression(text string) (Expression, error) {
	if len(text) > maxExpression {
		return Expression{}, fmt.Errorf("it has %d bytes, but may have at most %d", len(text), maxExpression)
	}
	at, op, err := findOperator(text)
	if err != nil {
		return Expression{}, err
	}
	e := Expression{text: strings.TrimSpace(text), op: op}
	if e.template, err = parsePath(strings.TrimSpace(text[:at])); err != nil {
		return Expression{}, err
	}
	if e.literal, err = parseLiteral(strings.TrimSpace(text[at+len(op):])); err != nil {
		return Expression{}, err
	}
	return e, nil
}

// String is the expression as it was written.
func (e Expression) String() string { return e.text }

// PathBeginsWithStatus reports whether the path names status first, although it
// begins there anyway: most likely a slip.
func (e Expression) PathBeginsWithStatus() bool {
	path := strings.TrimLeft(e.template, "{$")
	return strings.HasPrefix(path, ".status.") || strings.HasPrefix(path, ".status[")
}

// findOperator finds the first operator that stands in no brackets or quotes.
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

func parseOperator(text string, at int) (int, string, error) {
	end := at
	for end < len(text) && strings.IndexByte(operatorCharacters, text[end]) >= 0 {
		end++
	}
	for _, op := range operators() {
		if text[at:end] == op {
			return at, op, nil
		}
	}
	return 0, "", fmt.Errorf("invalid operator %q: must be one of %s", text[at:end], strings.Join(operators(), " "))
}

// parsePath gives the path in braces and with its leading dot, and checks
// that it is one JSONPath.
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
	// The parser of JSONPaths skips blanks; a path that has one is a slip.
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

// checkNodes finds what the JSONPath parser lets pass and what could never lead
// anywhere.
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

// parseLiteral takes the quotes off a literal.
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
			return "", fmt.Errorf("%s is not supported: write one comparison, or a list of which any may be true", word)
		}
	}
	return text, nil
}

// Holds reports whether the expression is true of an object's status. A path
// that is not there makes it false, whatever the operator; of several results
// any one counts.
func (e Expression) Holds(status any) bool { return slices.ContainsFunc(e.values(status), e.compare) }

// ActualValues says for people what stands at the path, as in `"Pending"`; it is empty
// if nothing does.
func (e Expression) ActualValues(status any) string {
	const most = 3
	var texts []string
	for _, v := range e.values(status) {
		if len(texts) == most {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, display(v.Interface()))
	}
	return strings.Join(texts, ", ")
}

// values lists what stands at the path. Null is as if it were not there.
func (e Expression) values(status any) []reflect.Value {
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

// evaluate follows a path, and finds nothing where it leads nowhere: such as an
// index that the list does not have yet. The library panics on some
// combinations of path and value, such as a wildcard and nil, and what a cluster
// says of an object must not bring down an operation.
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

// compare compares one result with the literal, which takes the result's type.
func (e Expression) compare(v reflect.Value) bool {
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
	return false // a map or list equals nothing, and differs from nothing
}

func (e Expression) compareFloat(value float64) bool {
	literal, err := strconv.ParseFloat(e.literal, 64)
	if err != nil || math.IsNaN(literal) || math.IsInf(literal, 0) {
		return e.matchesEqual(false)
	}
	return e.matchesOrder(cmp.Compare(value, literal))
}

// matchesEqual is the outcome for values that have no order.
func (e Expression) matchesEqual(equal bool) bool {
	return e.op == "==" && equal || e.op == "!=" && !equal
}

// matchesOrder is the outcome for numbers, where order is that of the result to the
// literal.
func (e Expression) matchesOrder(order int) bool {
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
