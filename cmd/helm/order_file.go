// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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
	cmd.Flags().Var(&orderFileValue{file: file}, orderFlagName, "[not in stock Helm] a local file of the kind Order that says in which order charts and resources are deployed, in addition to what the charts declare; requires --wait=ordered where something is deployed")
	_ = cmd.MarkFlagFilename(orderFlagName, "yaml", "yml") // it fails only if there is no such flag
}

// orderFileValue is the value of --order. It reads the file.
type orderFileValue struct {
	file **action.OrderFile
	path string
}

// String implements pflag.Value.
func (v *orderFileValue) String() string { return v.path }

// Type implements pflag.Value.
func (v *orderFileValue) Type() string { return "file" }

// Set implements pflag.Value.
func (v *orderFileValue) Set(path string) error {
	text, err := readOrderFile(path)
	if err != nil {
		return err
	}
	v.path, *v.file = path, &action.OrderFile{Name: path, Text: text}
	return nil
}

// readOrderFile returns the content of a local order file.
func readOrderFile(path string) ([]byte, error) {
	switch {
	case path == "-":
		return nil, errors.New("an order file cannot be read from standard input: save it to a file")
	case strings.Contains(path, "://"):
		return nil, errors.New("an order file must be a local file, not a URL: download it, and review it")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, orderfile.MaxSize+1))
	if err == nil && len(text) > orderfile.MaxSize {
		err = fmt.Errorf("%s is larger than %d bytes, the maximum size of an order file", path, orderfile.MaxSize)
	}
	return text, err
}
