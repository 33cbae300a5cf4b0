#!/bin/bash
# <UDF name="domain" label="The name under which it is reached, any if empty" default="" example="www.example.com" />
# <UDF name="heading" label="The heading of its first page" default="It works" />
# <UDF name="email" label="Where to be told of the certificate; without it, and without a name, there is none"
#      default="" example="webmaster@example.com" />
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

apt-get update -q
apt-get install -qy nginx

root=/var/www/site
mkdir -p "$root"
escaped=$(printf %s "$HEADING" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g')
printf '<!doctype html>\n<meta charset="utf-8">\n<title>%s</title>\n<h1>%s</h1>\n' "$escaped" "$escaped" > "$root/index.html"

cat > /etc/nginx/sites-available/site <<END
server {
    listen 80 default_server;
    listen [::]:80 default_server;
    server_name ${DOMAIN:-_};
    root $root;
}
END
ln -sf /etc/nginx/sites-available/site /etc/nginx/sites-enabled/site
rm -f /etc/nginx/sites-enabled/default
nginx -t
systemctl enable nginx
systemctl restart nginx

if [ -n "$DOMAIN" ] && [ -n "$EMAIL" ]; then
    apt-get install -qy certbot python3-certbot-nginx
    # the name may not lead here yet: the site is there without a certificate then
    certbot --nginx --non-interactive --agree-tos --redirect --email "$EMAIL" --domain "$DOMAIN" \
        || echo "no certificate for $DOMAIN yet: run certbot --nginx when the name leads here" >&2
fi
