#!/bin/sh
# restore.sh BACKUP: bring a backup of backup.sh into an empty database, and the files of tickets into their folder.
#
# DATABASE_URL names the database, which has to be there and without tables; ATTACHMENTS_DIR (or STATE_DIR) the folder.
# after-restore.sql has to be beside this file. Nothing else may run yet. Afterwards: manage.py migrate, where the release is
# newer than the backup, then all processes, with the SECRET_KEY and ENCRYPTION_KEYS of then. Jobs that were under way go
# on by themselves.
set -eu
umask 077
began=$(date +%s)
: "${DATABASE_URL:?is not set: it says which database}"
[ $# -eq 1 ] || { echo "usage: restore.sh BACKUP" >&2; exit 2; }
files=${ATTACHMENTS_DIR:-${STATE_DIR:?is not set, nor ATTACHMENTS_DIR: one of them says where the files of tickets go}/attachments}
after=$(dirname "$0")/after-restore.sql
[ -r "$after" ] || { echo "restore.sh: $after is missing" >&2; exit 1; }

(cd "$1" && sha256sum --check --strict --quiet SHA256SUMS)
tables=$(psql --no-psqlrc --tuples-only --no-align --dbname="$DATABASE_URL" --command="
    SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")
[ "$tables" -eq 0 ] || { echo "restore.sh: the database has $tables tables: it has to be empty" >&2; exit 1; }

# All of it or nothing.
pg_restore --exit-on-error --single-transaction --no-owner --no-privileges --dbname="$DATABASE_URL" "$1/database.dump"
# What was done since the backup is still on the hosts.
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="$DATABASE_URL" --file="$after" || {
    echo "restore.sh: all rows are there, but $after failed: start no process. Empty the database and restore again." >&2
    exit 1
}
if [ -f "$1/attachments.tar" ]; then
    mkdir -p "$files"
    tar --extract --file="$1/attachments.tar" --directory="$files"
fi
# The owner of a database is warned of each table of the system's, which only a superuser may analyze.
psql --no-psqlrc --quiet --dbname="$DATABASE_URL" --command="SET client_min_messages = error" --command="ANALYZE"

echo "Restored in $(($(date +%s) - began)) s."
