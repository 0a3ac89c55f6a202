// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"math"
)

// MinContrast is the minimum contrast between text and background according to WCAG 2, level
// AA.
const MinContrast = 4.5

// Contrast returns the contrast ratio of two colors, from 1 (none) to 21. The colors must be
// in the form of computed styles, such as "rgb(255, 0, 0)".
func Contrast(a, b string) (float64, error) {
	x, err := luminance(a)
	if err != nil {
		return 0, err
	}
	y, err := luminance(b)
	if err != nil {
		return 0, err
	}
	return (max(x, y) + 0.05) / (min(x, y) + 0.05), nil
}

func luminance(color string) (float64, error) {
	var rgb [3]float64
	if _, err := fmt.Sscanf(color, "rgb(%f, %f, %f)", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		return 0, fmt.Errorf("the color %q is not opaque: %w", color, err)
	}
	for i, c := range rgb {
		c /= 255
		if c <= 0.04045 {
			rgb[i] = c / 12.92
		} else {
			rgb[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2], nil
}
