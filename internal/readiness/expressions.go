// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/field"
)

// ReasonFailureExpression is the Status.Reason of an object that has failed because one of
// its readiness-failure expressions is true.
const ReasonFailureExpression = "ReadinessFailure"

// Expressions holds the expressions in the annotations helm.sh/readiness-success and
// helm.sh/readiness-failure of an object (docs/reference.md, "Expressions").
type Expressions struct {
	// Success contains the readiness-success expressions. If any is true, the object is
	// ready.
	Success []annotation.ReadinessExpression
	// Failure contains the readiness-failure expressions. If any is true, the object has
	// failed.
	Failure []annotation.ReadinessExpression
}

// Evaluator returns an Evaluator that evaluates first the failure expressions, then the
// success expressions. If there are no success expressions, base decides whether the object
// is ready; if there are no failure expressions, base decides whether it has failed. If the
// object has an observed generation, the expressions are evaluated only after its controller
// has observed the current generation.
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
		return r.apply(verdict, field.Get(obj.Object, "status"))
	}
}

// apply returns the Status that follows from the expressions and from base, the Status that
// the object would have without them. status is the object's status field.
func (r Expressions) apply(base Status, status any) Status {
	if e, holds := firstTrue(r.Failure, status); holds {
		return Status{State: Failed, Reason: ReasonFailureExpression, Message: withDetail("readiness-failure expression "+e.String()+" is true", base)}
	}
	// If there are no failure expressions, base decides about failure: an object that has
	// failed according to base cannot be ready.
	if len(r.Success) == 0 || base.State == Failed && len(r.Failure) == 0 {
		return base
	}
	if e, holds := firstTrue(r.Success, status); holds {
		return ready("ReadinessSuccess", "readiness-success expression %s is true", e)
	}
	return Status{State: InProgress, Reason: "ReadinessSuccessFalse", Message: withDetail(allFalseMessage(r.Success, status), base)}
}

// firstTrue returns the first expression of list that is true for an object's status field.
func firstTrue(list []annotation.ReadinessExpression, status any) (annotation.ReadinessExpression, bool) {
	for _, e := range list {
		if e.Holds(status) {
			return e, true
		}
	}
	return annotation.ReadinessExpression{}, false
}

// allFalseMessage returns the message for users if none of the success expressions in list is
// true. The message shows the actual value for each of them.
func allFalseMessage(list []annotation.ReadinessExpression, status any) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.String() + " (not set)"
		if found := e.ActualValues(status); found != "" {
			texts[i] = e.String() + " (is " + found + ")"
		}
	}
	if len(texts) == 1 {
		return "waiting for the readiness-success expression " + texts[0]
	}
	return "waiting for one of the readiness-success expressions: " + strings.Join(texts, "; ")
}

// withDetail appends the message of base in parentheses, unless the state of base is Ready.
func withDetail(message string, base Status) string {
	if base.State == Ready || base.Message == "" {
		return message
	}
	return message + " (" + base.Message + ")"
}
