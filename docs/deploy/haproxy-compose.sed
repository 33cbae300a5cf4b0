# Adapts haproxy.cfg to the containers of compose.yaml:
# sed -f haproxy-compose.sed -e 's/cloud\.example\.com/YOUR.NAME/g' haproxy.cfg > …
# In the image, HAProxy does not run as root, and there is no syslog.
/^    user haproxy$/d
/^    group haproxy$/d
s|^    log /dev/log local0$|    log stdout format raw local0|
# Resolve names again and again, because a recreated container may have another address.
/^defaults$/i\
resolvers engine\
    parse-resolv-conf\
    hold valid 1s\

s|^    default-server check .*$|& resolvers engine init-addr libc,none|
s|^    server web1 127\.0\.0\.1:8000.*$|    server web1 web1:8000|
s|^    server web2 127\.0\.0\.2:8000$|    server web2 web2:8000|
s|^    server stream1 127\.0\.0\.1:8001$|    server stream1 stream:8000|
