// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
)

// median returns the median of the numbers: for an even count, the mean of the two in the
// middle.
func median(numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(numbers))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// exponent returns the e for which y = a·x^e fits best: the slope of the logarithms.
func exponent(x, y []float64) float64 {
	var sumX, sumY, sumXX, sumXY float64
	for i := range x {
		logX, logY := math.Log(x[i]), math.Log(y[i])
		sumX, sumY = sumX+logX, sumY+logY
		sumXX, sumXY = sumXX+logX*logX, sumXY+logX*logY
	}
	n := float64(len(x))
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}

// rounded rounds a number to a number of decimal places.
func rounded(x float64, places int) float64 {
	shift := math.Pow10(places)
	return math.Round(x*shift) / shift
}

// number formats a number with about three significant digits.
func number(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.3f", x)
	case x < 100:
		return fmt.Sprintf("%.2f", x)
	default:
		return fmt.Sprintf("%.1f", x)
	}
}
