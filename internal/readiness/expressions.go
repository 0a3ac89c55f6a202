// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/annotation"
)

// ReasonFailureExpression is the Reason of what failed by its own rules.
const ReasonFailureExpression = "ReadinessFailure"

// Expressions are what an object says itself about being ready and having failed
// (docs/reference.md, "Expressions").
type Expressions struct {
	// Success are the expressions of which any one makes the object ready.
	Success []annotation.Expression
	// Failure are those of which any one makes it fail for good.
	Failure []annotation.Expression
}

// Evaluator returns the Evaluator that asks the rules, failure first, and base for
// the side that they say nothing about. They are asked of a status that belongs
// to the object's present generation, as far as its controller tells.
func (r Expressions) Evaluator(base Evaluator) Evaluator {
	if len(r.Success) == 0 && len(r.Failure) == 0 {
		return base
	}
	return func(ctx context.Context, obj *unstructured.Unstructured) Status {
		verdict := base(ctx, obj)
		if verdict.State == Terminating {
			return verdict
		}
		if lag, lags := generationLag(obj); lags {
			return lag
		}
		return r.apply(verdict, field(obj, "status"))
	}
}

// apply puts the rules over the verdict of the base.
func (r Expressions) apply(base Status, status any) Status {
	if e, holds := firstTrue(r.Failure, status); holds {
		return Status{State: Failed, Reason: ReasonFailureExpression, Message: withDetail("the readiness-failure expression "+e.String()+" holds", base)}
	}
	// With expressions for both sides, they alone decide. With one side left to
	// the base, what failed for it can never be ready.
	if len(r.Success) == 0 || base.State == Failed && len(r.Failure) == 0 {
		return base
	}
	if e, holds := firstTrue(r.Success, status); holds {
		return ready("ReadinessSuccess", "the readiness-success expression %s holds", e)
	}
	return Status{State: InProgress, Reason: "ReadinessSuccessFalse", Message: withDetail(allFalseMessage(r.Success, status), base)}
}

func firstTrue(list []annotation.Expression, status any) (annotation.Expression, bool) {
	for _, e := range list {
		if e.Holds(status) {
			return e, true
		}
	}
	return annotation.Expression{}, false
}

// allFalseMessage says of each expression what it found instead.
func allFalseMessage(list []annotation.Expression, status any) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.String() + " (nothing is there)"
		if found := e.ActualValues(status); found != "" {
			texts[i] = e.String() + " (it is " + found + ")"
		}
	}
	if len(texts) == 1 {
		return "the readiness-success expression does not hold so far: " + texts[0]
	}
	return "none of the readiness-success expressions holds so far: " + strings.Join(texts, "; ")
}

// withDetail adds what the base says of an object that it does not find ready.
func withDetail(message string, base Status) string {
	if base.State == Ready || base.Message == "" {
		return message
	}
	return message + " (" + base.Message + ")"
}
