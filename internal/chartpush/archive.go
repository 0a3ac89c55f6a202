// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/provenance"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// Archive is a chart archive that can be uploaded, with its provenance file.
type Archive struct {
	Metadata *chart.Metadata
	// Digest is the SHA-256 digest of the archive, in hexadecimal.
	Digest string

	data       []byte
	provenance []byte // nil if there is no provenance file
}

// FileName returns the name of the archive in a repository.
func (a *Archive) FileName() string { return a.Metadata.Name + "-" + a.Metadata.Version + ".tgz" }

// ReadArchive reads the archive at path, and the provenance file path.prov if there is one. It
// returns an error if the archive is no valid chart, or if the provenance file is not for this
// archive. The signature itself is not checked.
func ReadArchive(path string) (*Archive, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("cannot push directory, must provide chart archive (.tgz)")
	}
	loaded, err := chartloader.LoadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be pushed: %w", path, err)
	}
	a := &Archive{Metadata: loaded.Metadata}
	if a.data, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(a.data)
	a.Digest = hex.EncodeToString(digest[:])
	a.provenance, err = os.ReadFile(path + ".prov")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.provenance = nil
		return a, nil
	case err == nil:
		err = a.checkProvenance()
	}
	if err != nil {
		return nil, fmt.Errorf("%s.prov does not belong to %s: %w; sign the chart again with \"helm package --sign\", or delete the file", path, path, err)
	}
	return a, nil
}

// checkProvenance returns an error if the provenance file is not for the archive.
func (a *Archive) checkProvenance() error {
	block, _ := clearsign.Decode(a.provenance)
	if block == nil {
		return errors.New("it is not a provenance file")
	}
	// As in Helm, the message consists of two YAML documents: Chart.yaml, and the digests.
	_, digests, found := bytes.Cut(block.Plaintext, []byte("\n...\n"))
	if !found {
		return errors.New("it contains no digests")
	}
	var sums provenance.SumCollection
	if err := yaml.Unmarshal(digests, &sums); err != nil {
		return fmt.Errorf("its digests cannot be read: %w", err)
	}
	digest, found := sums.Files[a.FileName()]
	if !found {
		// Clients look for the digest by this name when they verify the chart.
		return fmt.Errorf("it contains no digest for %s, the file name in repositories", a.FileName())
	}
	if strings.TrimPrefix(digest, "sha256:") != a.Digest {
		return fmt.Errorf("it is for %s, but the archive is sha256:%s", digest, a.Digest)
	}
	return nil
}
