#!/bin/sh
# backup.sh FOLDER: back up a running installation into a new folder below FOLDER. The last line of the output is the
# new folder.
#
# Set DATABASE_URL and ATTACHMENTS_DIR (or STATE_DIR) as for the processes. pg_dump must have the version of the server
# or a newer one. SECRET_KEY and ENCRYPTION_KEYS are not in the backup. Store them in another place: with the backup and
# the keys, anyone can read everything. Without ENCRYPTION_KEYS, nobody can decrypt the secrets.
set -eu
umask 077
began=$(date +%s)
: "${DATABASE_URL:?is not set. It is the address of the database}"
[ $# -eq 1 ] || { echo "usage: backup.sh FOLDER" >&2; exit 2; }
files=${ATTACHMENTS_DIR:-${STATE_DIR:?is not set, nor ATTACHMENTS_DIR. Set one of them: the files of tickets are there}/attachments}
# The first file of a ticket creates the folder. If the folder above is missing too, the variable is wrong.
[ -d "$files" ] || [ -d "$(dirname "$files")" ] || { echo "backup.sh: the folder does not exist: $(dirname "$files")" >&2; exit 1; }

backup=$1/skerry-$(date -u +%Y%m%dT%H%M%SZ)
partial=$backup.partial
mkdir -p "$1"
mkdir "$partial"

# The database comes first. A file is written before its row, so each row of the dump has its file in the archive.
pg_dump --format=custom --no-owner --no-privileges --file="$partial/database.dump" --dbname="$DATABASE_URL"
if [ -d "$files" ]; then
    # Exit code 1 means that a file changed meanwhile. This is no error: no row of the dump refers to that file.
    tar --create --file="$partial/attachments.tar" --directory="$files" . || [ $? -eq 1 ]
else
    echo "The folder $files does not exist, so this backup has no files of tickets."
fi
(cd "$partial" && sha256sum -- * >SHA256SUMS)
mv "$partial" "$backup"

echo "Backed up in $(($(date +%s) - began)) s: $(du -sh "$backup" | cut -f1). The backup does not contain SECRET_KEY and ENCRYPTION_KEYS."
echo "$backup"
