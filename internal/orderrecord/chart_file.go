// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// Detach returns a copy of the chart ch without its last file, and the data of this file, if it
// is an order record. Otherwise it returns ch and nil. ch can be nil. In contrast to WithRecord,
// it does not decode the order record, so that Attach restores any chart.
func Detach(ch *chart.Chart) (bare *chart.Chart, record []byte) {
	if ch == nil || len(ch.Files) == 0 {
		return ch, nil
	}
	last := len(ch.Files) - 1
	if file := ch.Files[last]; !isRecord(file) || len(file.Data) == 0 {
		return ch, nil
	}
	copied := *ch
	if copied.Files = slices.Clip(ch.Files[:last]); last == 0 {
		copied.Files = nil // as in a chart without files, so that both are stored in the same way
	}
	return &copied, ch.Files[last].Data
}

// Attach is the inverse of Detach: it adds an order record to the files of the chart ch.
func Attach(ch *chart.Chart, record []byte) {
	ch.Files = append(ch.Files, &chart.File{Name: fileName, Data: record})
}

// Decode decodes an order record, as it is stored in a file of a chart.
func Decode(record []byte) (*Record, error) { return decode(record) }

// Encode is the inverse of Decode.
func Encode(r *Record) ([]byte, error) { return encode(r) }
