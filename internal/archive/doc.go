// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive packs and unpacks charts without losing fields of Chart.yaml. Helm keeps
// only the fields of its own types, and would lose what a chart declares about order and
// hooks (docs/reference.md, "Chart.yaml"). The archives are in the canonical form, which
// stock Helm can load (see chartloader.CanonicalFiles).
package archive
