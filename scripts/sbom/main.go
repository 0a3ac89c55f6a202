// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials (SBOM) of a Go binary to stdout, in
// CycloneDX 1.6 JSON. The SBOM lists the modules that are recorded in the binary. The command
// does not use the network, and its output depends only on the binary and the flags.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	name := flags.String("name", "helm", "name of the binary")
	version := flags.String("version", "", "version of the binary")
	spdxID := flags.String("license", "Apache-2.0", "SPDX identifier of its license")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: sbom [-name NAME] [-version VERSION] [-license SPDX-ID] BINARY")
	}
	data, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("read the build information of %s: %w", flags.Arg(0), err)
	}
	sum := sha256.Sum256(data)
	described := component{
		Type: "application", Ref: "binary", Name: *name, Version: *version,
		Hashes:   []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Licenses: []license{{licenseID{*spdxID}}},
		Properties: []property{
			{"platform", setting(info, "GOOS") + "/" + setting(info, "GOARCH")},
		},
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(describe(described, info))
}

// bom contains the fields of a CycloneDX SBOM that are used here.
type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []license  `json:"licenses,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	License licenseID `json:"license"`
}

type licenseID struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref  string   `json:"ref"`
	Uses []string `json:"dependsOn,omitempty"`
}

// describe returns the SBOM of a binary, whose first component is the standard library. It
// contains no dependencies between modules, because the binary does not record them.
func describe(binary component, info *debug.BuildInfo) bom {
	components := []component{library("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, library(module.Path, module.Version, module.Sum))
	}
	uses := dependency{Ref: binary.Ref}
	for _, c := range components {
		uses.Uses = append(uses.Uses, c.Ref)
	}
	return bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{binary}, Components: components, Dependencies: []dependency{uses},
	}
}

// library returns the component for a module, with its checksum from go.sum.
func library(path, version, sum string) component {
	purl := "pkg:golang/" + path + "@" + url.QueryEscape(cmp.Or(version, "unknown"))
	c := component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
	if sum != "" {
		c.Properties = []property{{"go.sum", sum}}
	}
	return c
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return "unknown"
}
