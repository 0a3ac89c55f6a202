// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/pkg/action"
)

const (
	orderFlagName      = "order"
	reuseOrderFlagName = "reuse-order"
)

// addOrderFlag adds the flag --order, which sets file.
func addOrderFlag(cmd *cobra.Command, file **action.OrderFile) {
	flag := &localFileFlag{what: "an order file", maxSize: orderfile.MaxSize, use: func(path string, content []byte) error {
		*file = &action.OrderFile{Name: path, Text: content}
		return nil
	}}
	flag.add(cmd, orderFlagName, "[not in stock Helm] a local file of the kind Order that says in which order charts and resources are deployed, in addition to what the charts declare; requires --wait=ordered where something is deployed")
}
