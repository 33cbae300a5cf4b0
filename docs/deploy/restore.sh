#!/bin/sh
# restore.sh BACKUP: restore a backup of backup.sh into an empty database, and the files of tickets into their folder.
#
# DATABASE_URL is the database. It must exist and have no tables. ATTACHMENTS_DIR (or STATE_DIR) is the folder.
# after-restore.sql must be in the folder of this script. No process of the installation may run.
#
# Afterwards, follow docs/upgrading.md, "If the database is lost". Use the SECRET_KEY and ENCRYPTION_KEYS from the time of
# the backup. Jobs that were running continue by themselves.
set -eu
umask 077
began=$(date +%s)
: "${DATABASE_URL:?is not set. It is the address of the database}"
[ $# -eq 1 ] || { echo "usage: restore.sh BACKUP" >&2; exit 2; }
files=${ATTACHMENTS_DIR:-${STATE_DIR:?is not set, nor ATTACHMENTS_DIR. Set one of them: the files of tickets go there}/attachments}
after=$(dirname "$0")/after-restore.sql
[ -r "$after" ] || { echo "restore.sh: $after is missing" >&2; exit 1; }

(cd "$1" && sha256sum --check --strict --quiet SHA256SUMS)
tables=$(psql --no-psqlrc --tuples-only --no-align --dbname="$DATABASE_URL" --command="
    SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")
[ "$tables" -eq 0 ] || { echo "restore.sh: the database has $tables tables, but it must be empty" >&2; exit 1; }

# Before the rows: afterwards, the database has tables, and a second run is refused.
[ ! -f "$1/attachments.tar" ] || mkdir -p "$files"

# One transaction: everything is restored, or nothing.
pg_restore --exit-on-error --single-transaction --no-owner --no-privileges --dbname="$DATABASE_URL" "$1/database.dump"
# Adjust the rows to the hosts, which still have the changes since the backup.
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="$DATABASE_URL" --file="$after" || {
    echo "restore.sh: all rows are restored, but $after failed: do not start any process. Empty the database and restore again." >&2
    exit 1
}
[ ! -f "$1/attachments.tar" ] || tar --extract --file="$1/attachments.tar" --directory="$files"
# Hide warnings about system tables, which only a superuser may analyze.
psql --no-psqlrc --quiet --dbname="$DATABASE_URL" --command="SET client_min_messages = error" --command="ANALYZE"

echo "Restored in $(($(date +%s) - began)) s."
