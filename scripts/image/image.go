// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Command image writes a container image for several platforms as an OCI image layout. The image
// consists of a static binary on an empty base, and a home directory and a directory for temporary
// files, which its user can write to. The command does not use the network, and the image depends
// only on the binaries and the flags: it contains the binaries of the release archives.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// user is the user and group of the process in a container. It is not root, and has no name.
const user = 65532

// The media types of the OCI image specification, version 1.1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// object is a JSON object.
type object = map[string]any

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "", "version of the image")
	created := flags.Int64("created", 0, "time of the image, in seconds since 1970")
	output := flags.String("output", "", "directory to write the OCI image layout to")
	program := flags.String("program", "helm", "name of the program in the image")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || *output == "" {
		return errors.New("missing arguments: -output DIRECTORY and at least one ARCHITECTURE=BINARY are required")
	}
	i := &imageWriter{directory: *output, program: *program, created: time.Unix(*created, 0).UTC(), labels: map[string]string{
		"org.opencontainers.image.title": "Ordered Helm", "org.opencontainers.image.version": *version,
		"org.opencontainers.image.source": "https://github.com/ordered-helm/helm", "org.opencontainers.image.licenses": "Apache-2.0",
	}}
	var manifests []descriptor
	for _, arg := range flags.Args() {
		architecture, binary, _ := strings.Cut(arg, "=")
		manifest, err := i.manifest(architecture, binary)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		manifests = append(manifests, manifest)
	}
	index, err := i.writeJSON(typeIndex, object{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests, "annotations": i.labels})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": *version}
	return i.writeLayout(index)
}

// imageWriter writes an image to a directory.
type imageWriter struct {
	directory string
	// program is the name of the program.
	program string
	created time.Time
	labels  map[string]string
}

// manifest writes the layer, the configuration and the manifest for one architecture.
func (i *imageWriter) manifest(architecture, binary string) (descriptor, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return descriptor{}, err
	}
	archive, err := i.layer(content)
	if err != nil {
		return descriptor{}, err
	}
	layer, err := i.writeBlob(typeLayer, archive)
	if err != nil {
		return descriptor{}, err
	}
	config, err := i.writeJSON(typeConfig, object{
		"created": i.created, "architecture": architecture, "os": "linux",
		"config": object{
			"User": fmt.Sprintf("%d:%d", user, user), "Entrypoint": []string{"/usr/local/bin/" + i.program}, "WorkingDir": "/home/helm",
			"Env": []string{"PATH=/usr/local/bin", "HOME=/home/helm"}, "Labels": i.labels,
		},
		"rootfs":  object{"type": "layers", "diff_ids": []string{layer.Digest}}, // the layer is not compressed
		"history": []object{{"created": i.created, "created_by": "scripts/image"}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := i.writeJSON(typeManifest, object{
		"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": []descriptor{layer}, "annotations": i.labels,
	})
	manifest.Platform = &platform{Architecture: architecture, OS: "linux"}
	return manifest, err
}

// layer returns the file system of the image as a tar archive.
func (i *imageWriter) layer(binary []byte) ([]byte, error) {
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: "home/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "home/helm/", Mode: 0o755, Uid: user, Gid: user},
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777},
		{Typeflag: tar.TypeDir, Name: "usr/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "usr/local/", Mode: 0o755},
		{Typeflag: tar.TypeDir, Name: "usr/local/bin/", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "usr/local/bin/" + i.program, Mode: 0o755, Size: int64(len(binary))},
	} {
		h.ModTime = i.created
		if err := archive.WriteHeader(&h); err != nil {
			return nil, err
		}
	}
	if _, err := archive.Write(binary); err != nil {
		return nil, err
	}
	err := archive.Close()
	return b.Bytes(), err
}

func (i *imageWriter) writeJSON(mediaType string, value any) (descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return i.writeBlob(mediaType, content)
}

func (i *imageWriter) writeBlob(mediaType string, content []byte) (descriptor, error) {
	digest := fmt.Sprintf("%x", sha256.Sum256(content))
	err := i.writeFile(filepath.Join("blobs", "sha256", digest), content)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: len(content)}, err
}

// writeLayout writes the files with which an OCI image layout begins.
func (i *imageWriter) writeLayout(index descriptor) error {
	for name, value := range map[string]any{
		"oci-layout": object{"imageLayoutVersion": "1.0.0"},
		"index.json": object{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{index}},
	} {
		content, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := i.writeFile(name, content); err != nil {
			return err
		}
	}
	return nil
}

func (i *imageWriter) writeFile(name string, content []byte) error {
	path := filepath.Join(i.directory, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
