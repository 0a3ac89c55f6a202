// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

// notes explain, by what is measured, why an aim is not met. They are shown only
// then.
var notes = map[string]string{}
