// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"reflect"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		numbers []float64
		want    float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{5, 1, 3}, 3},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(test.numbers); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.numbers, got, test.want)
		}
	}
	numbers := []float64{2, 1}
	if median(numbers); numbers[0] != 2 {
		t.Error("median sorts what it is given")
	}
}

func TestExponent(t *testing.T) {
	x := []float64{100, 300, 1000, 3000}
	for _, want := range []float64{0, 0.5, 1, 2} {
		var y []float64
		for _, x := range x {
			y = append(y, 7*math.Pow(x, want))
		}
		if got := exponent(x, y); math.Abs(got-want) > 1e-9 {
			t.Errorf("the exponent is %v, want %v", got, want)
		}
	}
}

func TestNumberFormat(t *testing.T) {
	for x, want := range map[float64]string{0: "0.000", 0.0456: "0.046", 1.2345: "1.234", 12.345: "12.35", 123.45: "123.5"} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 10050: "10,050", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNewRow(t *testing.T) {
	row := NewRow(Install, Ours, []Sample{
		{Wall: 3 * time.Second, CPU: time.Second, Peak: 30, Requests: map[string]int{"create": 4, "list": 1}},
		{Wall: time.Second, CPU: 3 * time.Second, Peak: 10, Requests: map[string]int{"create": 6}},
		{Wall: 2 * time.Second, CPU: 2 * time.Second, Peak: 20, Requests: map[string]int{"create": 5}},
	})
	want := Row{Step: Install, Tool: Ours, Wall: []float64{3, 1, 2}, CPU: 2, Peak: 20, Requests: map[string]int{"create": 5}}
	if !reflect.DeepEqual(row, want) {
		t.Errorf("got  %+v\nwant %+v", row, want)
	}
	if got := spread(row); got != "1.000–3.000" {
		t.Errorf("the spread is %s", got)
	}
	if got := row.seconds(); got != 2 {
		t.Errorf("the median is %v", got)
	}
}
