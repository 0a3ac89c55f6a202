// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import (
	"encoding/json"
	"fmt"
	"reflect"

	lua "github.com/yuin/gopher-lua"
)

// Scalar converts a Go value: nil, a boolean, a number or a string. Other values are errors.
func Scalar(value any) (lua.LValue, error) {
	switch value := value.(type) {
	case nil:
		return lua.LNil, nil
	case bool:
		return lua.LBool(value), nil
	case string:
		return lua.LString(value), nil
	case int:
		return lua.LNumber(value), nil
	case int64:
		return lua.LNumber(value), nil
	case float64:
		return lua.LNumber(value), nil
	case json.Number:
		number, err := value.Float64()
		return lua.LNumber(number), err
	}
	switch r := reflect.ValueOf(value); {
	case r.CanInt():
		return lua.LNumber(r.Int()), nil
	case r.CanUint():
		return lua.LNumber(r.Uint()), nil
	case r.CanFloat():
		return lua.LNumber(r.Float()), nil
	case r.Kind() == reflect.String:
		return lua.LString(r.String()), nil
	}
	return nil, fmt.Errorf("scripts cannot use a value of the Go type %T", value)
}
