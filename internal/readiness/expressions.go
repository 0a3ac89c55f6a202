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

// ReasonFailureExpression is the Reason of an object for which a failure expression is
// true.
const ReasonFailureExpression = "ReadinessFailure"

// Expressions are conditions that a chart sets with annotations of an object, to say when
// it is ready or has failed (docs/reference.md, "Expressions").
type Expressions struct {
	// Success lists expressions. If any of them is true, the object is ready.
	Success []annotation.Expression
	// Failure lists expressions. If any of them is true, the object has failed.
	Failure []annotation.Expression
}

// Evaluator returns an Evaluator that applies the expressions, failure first. If Success is
// empty, base decides when the object is ready; if Failure is empty, base decides when it
// has failed. The object is not ready before its controller has observed the current
// generation, if the controller reports the observed generation.
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

// apply decides from the expressions and from base, the Status of the Evaluator without
// them. status is the field status of the object.
func (r Expressions) apply(base Status, status any) Status {
	if e, holds := firstTrue(r.Failure, status); holds {
		return Status{State: Failed, Reason: ReasonFailureExpression, Message: withDetail("readiness-failure expression "+e.String()+" is true", base)}
	}
	// If both lists are given, only they decide. If the base decides about failure, an
	// object that it considers failed cannot be ready.
	if len(r.Success) == 0 || base.State == Failed && len(r.Failure) == 0 {
		return base
	}
	if e, holds := firstTrue(r.Success, status); holds {
		return ready("ReadinessSuccess", "readiness-success expression %s is true", e)
	}
	return Status{State: InProgress, Reason: "ReadinessSuccessFalse", Message: withDetail(allFalseMessage(r.Success, status), base)}
}

// firstTrue returns the first expression that is true for the field status of an object.
func firstTrue(list []annotation.Expression, status any) (annotation.Expression, bool) {
	for _, e := range list {
		if e.Holds(status) {
			return e, true
		}
	}
	return annotation.Expression{}, false
}

// allFalseMessage returns the message that none of the success expressions is true. It
// shows the value in the object for each of them.
func allFalseMessage(list []annotation.Expression, status any) string {
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

// withDetail appends the message of base, if base is not ready and has a message.
func withDetail(message string, base Status) string {
	if base.State == Ready || base.Message == "" {
		return message
	}
	return message + " (" + base.Message + ")"
}
