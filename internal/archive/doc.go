// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive packs charts and unpacks them again without losing anything
// that their Chart.yaml says. Helm's own packing keeps only the fields that its
// types have, so what a chart declares of its order and its hooks would be gone
// (docs/reference.md, "Chart.yaml"). What is packed is in the legal spelling,
// which every Helm can load.
package archive
