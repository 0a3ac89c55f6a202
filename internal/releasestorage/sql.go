// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// namespaceOf returns the namespace in which Helm's driver stores a release.
func namespaceOf(rel *release.Release) string { return cmp.Or(rel.Namespace, "default") }

// sqlDriver is Helm's storage driver for PostgreSQL, but keeps the unknown fields of the
// releases that it updates. As Helm's driver gives no access to the rows of its table, it
// opens connections of its own for that.
type sqlDriver struct {
	*driver.SQL
	connectionString string
	fields           *fieldCache
}

// Create stores a new release.
func (d *sqlDriver) Create(key string, rel *release.Release) error {
	err := d.SQL.Create(key, rel)
	if err == nil {
		d.fields.recordCreated(namespaceOf(rel) + "/" + key)
	}
	return err
}

// Update replaces a stored release.
func (d *sqlDriver) Update(key string, rel *release.Release) error {
	namespace := namespaceOf(rel)
	unknown, err := d.fields.unknownFields(namespace+"/"+key, func() (string, error) { return d.read(key, namespace) })
	if err != nil {
		return err
	}
	if unknown == nil {
		return d.SQL.Update(key, rel)
	}
	text, err := json.Marshal(rel)
	if err != nil {
		return err
	}
	written, err := Encode(text)
	if err != nil {
		return err
	}
	if written, err = unknown.addToStored(written); err != nil {
		return err
	}
	return d.withDatabase(func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "UPDATE releases_v1 SET body = $1, status = $2, modifiedAt = $3 WHERE key = $4 AND namespace = $5",
			written, rel.Info.Status.String(), time.Now().Unix(), key, namespace)
		return err
	})
}

// Delete deletes a stored release.
func (d *sqlDriver) Delete(key string) (*release.Release, error) {
	rel, err := d.SQL.Delete(key)
	if err == nil {
		d.fields.recordDeleted(namespaceOf(rel) + "/" + key)
	}
	return rel, err
}

// read returns a release as it is stored.
func (d *sqlDriver) read(key, namespace string) (stored string, err error) {
	err = d.withDatabase(func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT body FROM releases_v1 WHERE key = $1 AND namespace = $2", key, namespace).Scan(&stored)
	})
	return stored, err
}

// withDatabase calls do with a connection to the database.
func (d *sqlDriver) withDatabase(do func(context.Context, *sql.DB) error) error {
	db, err := sql.Open("postgres", d.connectionString) // the package of Helm's driver registers this name
	if err != nil {
		return err
	}
	defer db.Close()                                     //nolint:errcheck // nothing is written any more
	if err := do(context.Background(), db); err != nil { //nolint:forbidigo // methods of storage drivers have no context
		return fmt.Errorf("release storage: %w", err)
	}
	return nil
}
