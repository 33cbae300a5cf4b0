#!/bin/bash
# <UDF name="username" label="A user besides root, who may use sudo" default="admin" example="admin" />
# <UDF name="passwords" label="Sign in over SSH with passwords, where there is a key" oneOf="yes,no" default="no" />
# <UDF name="upgrades" label="Install security upgrades without asking" oneOf="yes,no" default="yes" />
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

apt-get update -q
apt-get install -qy sudo
id "$USERNAME" > /dev/null 2>&1 || useradd --create-home --shell /bin/bash "$USERNAME"
usermod --append --groups sudo "$USERNAME"

keys=/root/.ssh/authorized_keys
if [ -s "$keys" ]; then
    home=$(getent passwd "$USERNAME" | cut -d: -f6)
    install -d -m 700 -o "$USERNAME" -g "$USERNAME" "$home/.ssh"
    install -m 600 -o "$USERNAME" -g "$USERNAME" "$keys" "$home/.ssh/authorized_keys"
    # the user has no password to be asked for
    echo "$USERNAME ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/90-first-user
    chmod 440 /etc/sudoers.d/90-first-user
    if [ "$PASSWORDS" = no ]; then
        # the first line that names a setting counts
        sed -i '1i PasswordAuthentication no\nPermitRootLogin prohibit-password' /etc/ssh/sshd_config
        sshd -t
        systemctl reload ssh
    fi
else
    echo "there is no key, so that signing in stays as it is" >&2
fi

if [ "$UPGRADES" = yes ]; then
    apt-get install -qy unattended-upgrades
    printf 'APT::Periodic::Update-Package-Lists "1";\nAPT::Periodic::Unattended-Upgrade "1";\n' \
        > /etc/apt/apt.conf.d/20auto-upgrades
fi
