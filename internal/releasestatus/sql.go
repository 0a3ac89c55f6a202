// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestatus

import (
	"context"
	"database/sql"
	"errors"

	"helm.sh/helm/v3/pkg/release"
)

// newestRow selects the newest revision of a release from the table of Helm's driver.
const newestRow = "SELECT version, status FROM releases_v1 WHERE owner = 'helm' AND name = $1 AND namespace = $2 ORDER BY version DESC LIMIT 1"

// fromTable reads the newest row of a release. Helm's driver gives no access to its connection.
func (r *Reader) fromTable(ctx context.Context, namespace, name string) (newest Revision, err error) {
	db, err := sql.Open(r.sqlName, r.options.ConnectionString)
	if err != nil {
		return Revision{}, err
	}
	defer db.Close() //nolint:errcheck // nothing is written
	var status string
	err = db.QueryRowContext(ctx, newestRow, name, namespace).Scan(&newest.Number, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return Revision{}, nil
	}
	newest.Status = release.Status(status)
	return newest, err
}
