// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luacompile

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// rewriter replaces the expressions of a script that must call a function of Hooks.
type rewriter struct {
	depth int
	// constants contains the strings, numbers and names in the script.
	constants map[string]bool
	// uses contains the lines in which global variables, and their fields, are first used. The key is
	// "name" or "name.field". Local variables with the same name count as well.
	uses map[string]int
	// functions is the number of functions in the script.
	functions int
	// err is set if the script exceeds a limit.
	err error
}

func newRewriter() *rewriter {
	return &rewriter{constants: map[string]bool{}, uses: map[string]int{}}
}

// enter is called before the parts of node are rewritten, and reports whether the script is not
// nested too deeply. Each call that returns true must be followed by a call of leave.
func (r *rewriter) enter(node ast.PositionHolder) bool {
	if r.depth == maxDepth && r.err == nil {
		r.err = &SyntaxError{Line: node.Line(), Message: fmt.Sprintf("the script is nested more than %d levels deep", maxDepth)}
	}
	if r.err != nil {
		return false
	}
	r.depth++
	return true
}

func (r *rewriter) leave() { r.depth-- }

func (r *rewriter) statements(statements []ast.Stmt) {
	for _, s := range statements {
		if r.enter(s) {
			r.statement(s)
			r.leave()
		}
	}
}

func (r *rewriter) statement(statement ast.Stmt) {
	switch s := statement.(type) {
	case *ast.AssignStmt:
		for i := range s.Lhs {
			r.expression(&s.Lhs[i])
			if field, ok := s.Lhs[i].(*ast.AttrGetExpr); ok {
				field.Key = r.key(field.Key)
			}
		}
		r.expressions(s.Rhs)
	case *ast.LocalAssignStmt:
		r.expressions(s.Exprs)
	case *ast.FuncCallStmt:
		r.expression(&s.Expr)
	case *ast.DoBlockStmt:
		r.statements(s.Stmts)
	case *ast.WhileStmt:
		r.expression(&s.Condition)
		r.statements(s.Stmts)
	case *ast.RepeatStmt:
		r.expression(&s.Condition)
		r.statements(s.Stmts)
	case *ast.IfStmt:
		r.expression(&s.Condition)
		r.statements(s.Then)
		r.statements(s.Else)
	case *ast.NumberForStmt:
		r.expression(&s.Init)
		r.expression(&s.Limit)
		r.expression(&s.Step)
		r.statements(s.Stmts)
	case *ast.GenericForStmt:
		r.expressions(s.Exprs)
		r.statements(s.Stmts)
	case *ast.FuncDefStmt:
		r.expression(&s.Name.Func)
		r.expression(&s.Name.Receiver)
		r.function(s.Func)
	case *ast.ReturnStmt:
		r.expressions(s.Exprs)
	case *ast.BreakStmt, *ast.LabelStmt, *ast.GotoStmt:
	default:
		r.err = &SyntaxError{Line: s.Line(), Message: fmt.Sprintf("statements of the type %T are not supported", s)}
	}
}

func (r *rewriter) expressions(expressions []ast.Expr) {
	for i := range expressions {
		r.expression(&expressions[i])
	}
}

func (r *rewriter) expression(expression *ast.Expr) {
	if *expression == nil || !r.enter(*expression) {
		return
	}
	defer r.leave()
	switch e := (*expression).(type) {
	case *ast.AttrGetExpr:
		if object, key := identifier(e.Object), text(e.Key); object != "" && key != "" {
			r.use(object+"."+key, e)
		}
		r.expression(&e.Object)
		r.expression(&e.Key)
	case *ast.TableExpr:
		for _, field := range e.Fields {
			r.expression(&field.Value)
			if field.Key != nil {
				r.expression(&field.Key)
				field.Key = r.key(field.Key)
			}
		}
	case *ast.FuncCallExpr:
		r.expression(&e.Func)
		r.expression(&e.Receiver)
		r.expressions(e.Args)
	case *ast.LogicalOpExpr:
		r.expression(&e.Lhs)
		r.expression(&e.Rhs)
	case *ast.RelationalOpExpr:
		r.expression(&e.Lhs)
		r.expression(&e.Rhs)
	case *ast.StringConcatOpExpr:
		*expression = r.concatenation(e)
	case *ast.ArithmeticOpExpr:
		r.expression(&e.Lhs)
		r.expression(&e.Rhs)
	case *ast.UnaryMinusOpExpr:
		r.expression(&e.Expr)
	case *ast.UnaryNotOpExpr:
		r.expression(&e.Expr)
	case *ast.UnaryLenOpExpr:
		r.expression(&e.Expr)
	case *ast.FunctionExpr:
		r.function(e)
	case *ast.NumberExpr:
		r.constant(e, e.Value)
	case *ast.StringExpr:
		r.constant(e, e.Value)
	case *ast.IdentExpr:
		r.use(e.Value, e)
		r.constant(e, e.Value)
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.Comma3Expr:
	default:
		r.err = &SyntaxError{Line: e.Line(), Message: fmt.Sprintf("expressions of the type %T are not supported", e)}
	}
}

// use records a use of a name.
func (r *rewriter) use(name string, node ast.PositionHolder) {
	if _, known := r.uses[name]; !known {
		r.uses[name] = node.Line()
	}
}

// identifier returns the name of a variable, or "" for other expressions.
func identifier(e ast.Expr) string {
	if variable, is := e.(*ast.IdentExpr); is {
		return variable.Value
	}
	return ""
}

// text returns the value of a constant string, or "" for other expressions.
func text(e ast.Expr) string {
	if constant, is := e.(*ast.StringExpr); is {
		return constant.Value
	}
	return ""
}

func (r *rewriter) function(function *ast.FunctionExpr) {
	if r.functions++; r.functions > maxFunctions && r.err == nil {
		r.err = &SyntaxError{Line: function.Line(), Message: fmt.Sprintf("the script contains more than %d functions", maxFunctions)}
	}
	r.statements(function.Stmts)
}

// constant counts a constant or name in the script.
func (r *rewriter) constant(node ast.PositionHolder, text string) {
	if r.constants[text] = true; len(r.constants) > maxConstants && r.err == nil {
		r.err = &SyntaxError{Line: node.Line(), Message: fmt.Sprintf("the script contains more than %d different strings, numbers and names", maxConstants)}
	}
}

// maxOperands is the maximum number of operands of a chain of concatenations. The interpreter
// needs a register for each of them, and has 250 for each function.
const maxOperands = 200

// concatenation returns a call for a concatenation. As the operator is right-associative, the
// operands of a .. b .. c are in one chain, which does not count as nesting.
func (r *rewriter) concatenation(chain *ast.StringConcatOpExpr) ast.Expr {
	var operands []ast.Expr
	var rest ast.Expr = chain
	for {
		next, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			operands = append(operands, rest)
			break
		}
		operands = append(operands, next.Lhs)
		rest = next.Rhs
	}
	if len(operands) > maxOperands && r.err == nil {
		r.err = &SyntaxError{Line: chain.Line(), Message: fmt.Sprintf("a concatenation can have at most %d operands", maxOperands)}
	}
	r.expressions(operands)
	return call(concatName, chain, operands)
}

// key returns a call that checks the key of a field. A constant string needs no check.
func (r *rewriter) key(key ast.Expr) ast.Expr {
	if _, isString := key.(*ast.StringExpr); isString {
		return key
	}
	return call(keyName, key, []ast.Expr{key})
}

// call returns a call of a function of Hooks at the position of node. The call has one result.
func call(name string, node ast.PositionHolder, arguments []ast.Expr) ast.Expr {
	function := &ast.IdentExpr{Value: name}
	e := &ast.FuncCallExpr{Func: function, Args: arguments, AdjustRet: true}
	for i, argument := range arguments {
		switch a := argument.(type) {
		case *ast.FuncCallExpr:
			a.AdjustRet = true
		case *ast.Comma3Expr:
			arguments[i] = &ast.Comma3Expr{ExprBase: a.ExprBase, AdjustRet: true}
		}
	}
	for _, position := range []ast.PositionHolder{function, e} {
		position.SetLine(node.Line())
		position.SetLastLine(node.LastLine())
	}
	return e
}
