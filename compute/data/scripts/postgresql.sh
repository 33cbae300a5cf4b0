#!/bin/bash
# <UDF name="database" label="The database, and the user it belongs to" default="app" example="app" />
# <UDF name="db_password" label="The user's password" example="a long one" />
# <UDF name="clients" label="The network that may connect, besides the server itself" default=""
#      example="192.168.128.0/17" />
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

apt-get update -q
apt-get install -qy postgresql
systemctl enable --now postgresql

sudo -u postgres psql --quiet --set ON_ERROR_STOP=1 --set name="$DATABASE" --set secret="$DB_PASSWORD" <<'END'
CREATE ROLE :"name" LOGIN PASSWORD :'secret';
CREATE DATABASE :"name" OWNER :"name";
END

if [ -n "$CLIENTS" ]; then
    for folder in /etc/postgresql/*/main; do
        echo "listen_addresses = '*'" > "$folder/conf.d/listen.conf"
        printf 'host "%s" "%s" %s md5\n' "$DATABASE" "$DATABASE" "$CLIENTS" >> "$folder/pg_hba.conf"
    done
    systemctl restart postgresql
fi
