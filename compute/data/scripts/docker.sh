#!/bin/bash
# <UDF name="compose" label="Docker Compose as well" oneOf="yes,no" default="yes" />
# <UDF name="image" label="An image to run from the first boot on, none if empty" default="" example="nginx:stable" />
# <UDF name="ports" label="Its published ports, separated by blanks" default="" example="80:80 443:443" />
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

apt-get update -q
apt-get install -qy docker.io
if [ "$COMPOSE" = yes ]; then
    apt-get install -qy docker-compose
fi
systemctl enable --now docker

if [ -n "$IMAGE" ]; then
    publish=()
    for port in $PORTS; do
        publish+=(--publish "$port")
    done
    docker run --detach --name app --restart unless-stopped "${publish[@]}" "$IMAGE"
fi
