#!/bin/sh
# backup.sh FOLDER: back up an installation while it runs, into a new folder below FOLDER, which is its last line.
#
# DATABASE_URL and ATTACHMENTS_DIR (or STATE_DIR) say what, as for all processes. pg_dump has to be of the server's
# version or newer. The keys are not in it: SECRET_KEY and ENCRYPTION_KEYS belong somewhere else, for who has both has
# everything, and who has no ENCRYPTION_KEYS cannot read what is encrypted.
set -eu
umask 077
began=$(date +%s)
: "${DATABASE_URL:?is not set: it says which database}"
[ $# -eq 1 ] || { echo "usage: backup.sh FOLDER" >&2; exit 2; }
files=${ATTACHMENTS_DIR:-${STATE_DIR:?is not set, nor ATTACHMENTS_DIR: one of them says where the files of tickets are}/attachments}
# The folder of tickets comes with their first file; one above it that is not there is a mistake.
[ -d "$files" ] || [ -d "$(dirname "$files")" ] || { echo "backup.sh: there is no folder $(dirname "$files")" >&2; exit 1; }

backup=$1/skerry-$(date -u +%Y%m%dT%H%M%SZ)
partial=$backup.partial
mkdir -p "$1"
mkdir "$partial"

# The database first: a file is written before its row, so that each row of the dump has its file in what follows.
pg_dump --format=custom --no-owner --no-privileges --file="$partial/database.dump" --dbname="$DATABASE_URL"
if [ -d "$files" ]; then
    # A file that is deleted or written meanwhile (1) is no error: no row of the dump is about it.
    tar --create --file="$partial/attachments.tar" --directory="$files" . || [ $? -eq 1 ]
else
    echo "There is no folder $files: no files of tickets are in this backup."
fi
(cd "$partial" && sha256sum -- * >SHA256SUMS)
mv "$partial" "$backup"

echo "Backed up in $(($(date +%s) - began)) s: $(du -sh "$backup" | cut -f1). Not in it: SECRET_KEY and ENCRYPTION_KEYS."
echo "$backup"
