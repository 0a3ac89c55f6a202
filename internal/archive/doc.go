// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive packs and unpacks charts without losing fields of their Chart.yaml. Helm
// keeps only the fields of its own types, and would therefore lose the declarations of
// order and hooks (docs/reference.md, "Chart.yaml"). Packed charts are in the form that
// stock Helm can load (see chartloader.CanonicalFiles).
package archive
