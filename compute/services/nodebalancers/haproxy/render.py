"""Rendering load balancers as a configuration of HAProxy.

Clients' values in it go through `quoted`, or are numbers, addresses or one of a few words.
"""

import hashlib
import string
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from compute.models import NodeBalancer, NodeBalancerConfig, NodeBalancerNode

TITLE = "# Written by manage.py balance, which writes it anew."
PLAIN = frozenset((string.ascii_letters + string.digits + "-_./:@%?&=+,").encode())
RECOMMENDED = (
    "ssl-min-ver TLSv1.2 ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
    "ECDHE-RSA-CHACHA20-POLY1305"
)
"""Mozilla's intermediate configuration, without finite-field key exchange."""
LEGACY = "ssl-min-ver TLSv1.0 ciphers DEFAULT:@SECLEVEL=0"
BIND = "    bind "
COOKIE = "NB_SRVID"
MAX_CONNECTIONS = 10_000
"""The most simultaneous connections on one port."""
UNREACHABLE_FAILURES = 1_000_000
"""A number of failed checks in a row that is never reached."""

Config = NodeBalancerConfig
Node = NodeBalancerNode


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of the files that HAProxy's configuration names, and the `user` that HAProxy switches to; empty to
    keep its own."""

    folder: Path
    socket: Path
    user: str = ""

    @property
    def states(self) -> Path:
        """The file with the states of servers before the last reload."""
        return self.folder / "servers.state"

    @property
    def certificates(self) -> Path:
        return self.folder / "certificates"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A configuration's text, its certificates by path, and the revision in its description."""

    text: str
    certificates: dict[Path, str]
    revision: str


def render(
    balancers: Iterable[NodeBalancer], keys: dict[int, str], places: Places, unbindable: Collection[str] = ()
) -> Rendered:
    """Return the configuration for these load balancers, whose configs and nodes are prefetched.

    `keys` are private keys by the id of their config. An https config without its key is left out, and so are
    `unbindable` listeners. The same rows give the same text.
    """
    lines: list[str] = []
    certificates: dict[Path, str] = {}
    for balancer in balancers:
        lines += _throttle(balancer)
        for config in balancer.configs.all():
            bound = [each for each in listeners(balancer, config) if each not in unbindable]
            if not bound:
                continue
            path = None
            if config.protocol == Config.Protocol.HTTPS:
                if config.pk not in keys:
                    continue
                path, pem = certificate(config, keys[config.pk], places)
                certificates[path] = pem
            lines += ["", *_frontend(balancer, config, bound, path), "", *_backend(balancer, config)]
    body = "\n".join([*_head(places), *lines])
    revision = f"skerry-{hashlib.sha256(body.encode()).hexdigest()[:16]}"
    return Rendered(f"{TITLE}\nglobal\n    description {revision}\n{body}\n", certificates, revision)


def listeners(balancer: NodeBalancer, config: Config) -> list[str]:
    """The addresses and ports that a config listens on, in HAProxy's form: `198.18.0.2:80`, `[2001:db8::1]:80`."""
    both = [balancer.ipv4, f"[{balancer.ipv6}]"] if balancer.ipv6 else [balancer.ipv4]
    return [f"{address}:{config.port}" for address in both]


def listeners_of(text: str) -> set[str]:
    """All listeners of a configuration."""
    return {line.split()[1] for line in text.splitlines() if line.startswith(BIND)}


def certificate(config: Config, key: str, places: Places) -> tuple[Path, str]:
    """Return the path of a config's certificate, named after its content, and the content: chain and key."""
    pem = f"{config.ssl_cert}{key}"
    digest = hashlib.sha256(pem.encode()).hexdigest()[:16]
    return places.certificates / f"{config.pk}-{digest}.pem", pem


def quoted(text: str) -> str:
    """Return the text as one word of HAProxy's configuration, whatever characters it contains."""
    return "".join(chr(byte) if byte in PLAIN else f"\\x{byte:02x}" for byte in text.encode())


# --- names, which come back in what HAProxy tells -----------------------------------------------------------


def proxy_name(balancer_id: int, config_id: int) -> str:
    return f"nb{balancer_id}-{config_id}"


def balancer_of(proxy: str) -> int:
    """The id of the load balancer, from a proxy's name."""
    return int(proxy.removeprefix("nb").partition("-")[0])


def server_name(node: Node) -> str:
    """Return a server's name. It includes the address, so that a node with a new address is a new server of unknown
    state."""
    return f"n{node.pk}-{node.address}"


def node_of(server: str) -> tuple[int, str]:
    """The id and the address of the node, from a server's name."""
    pk, _, address = server.removeprefix("n").partition("-")
    return int(pk), address


# --- sections -----------------------------------------------------------------------------------------------


def _head(places: Places) -> Iterator[str]:
    """The rest of the global section, and the sections that hold for all load balancers."""
    yield "    log stdout format raw daemon warning"
    yield "    localpeer skerry"
    # for processes that a reload replaced, with their remaining connections
    yield "    hard-stop-after 1h"
    if places.user:
        yield f"    user {places.user}"
    yield f"    stats socket {quoted(str(places.socket))} mode 600 level admin expose-fd listeners"
    yield f"    server-state-file {quoted(str(places.states))}"
    # else the first check of a node comes up to an interval after each reload
    yield "    max-spread-checks 3s"
    yield "    spread-checks 5"
    yield ""
    yield "defaults"
    yield "    log global"
    yield "    option dontlog-normal"
    yield "    option contstats"
    yield "    option redispatch"
    yield "    retries 3"
    yield "    load-server-state-from-file global"
    yield "    timeout connect 5s"
    yield "    timeout queue 30s"
    yield "    timeout http-request 10s"
    yield "    timeout http-keep-alive 10s"
    yield "    timeout client 60s"
    yield "    timeout server 60s"
    yield "    timeout tunnel 1h"
    yield ""
    # the old process hands its stick tables on to the process that a reload starts
    yield "peers skerry"
    owner = f" user {places.user}" if places.user else ""
    yield f"    bind unix@{quoted(str(places.folder / 'peers.sock'))} mode 600{owner}"
    yield "    server skerry"


def _throttle(balancer: NodeBalancer) -> Iterator[str]:
    """The table in which a load balancer counts its clients' connections on all its ports."""
    if balancer.client_conn_throttle:
        yield ""
        yield f"backend nb{balancer.pk}-throttle"
        yield "    stick-table type ipv6 size 100k expire 10s store conn_rate(1s)"


def _frontend(
    balancer: NodeBalancer, config: Config, bound: Iterable[str], certificate: Path | None
) -> Iterator[str]:
    name = proxy_name(balancer.pk, config.pk)
    tls = ""
    if certificate:
        suite = LEGACY if config.cipher_suite == Config.CipherSuite.LEGACY else RECOMMENDED
        tls = f" ssl crt {quoted(str(certificate))} alpn h2,http/1.1 {suite}"
    yield f"frontend {name}"
    yield f"    mode {_mode(config)}"
    for listener in bound:
        yield f"{BIND}{listener}{tls}"
    yield f"    maxconn {MAX_CONNECTIONS}"
    if balancer.client_conn_throttle:
        yield f"    tcp-request connection track-sc0 src table nb{balancer.pk}-throttle"
        yield f"    tcp-request connection reject if {{ sc0_conn_rate gt {balancer.client_conn_throttle} }}"
    if _mode(config) == "http":
        yield "    option forwardfor"
        yield f"    http-request set-header X-Forwarded-Proto {config.protocol}"
    yield f"    default_backend {name}"


def _backend(balancer: NodeBalancer, config: Config) -> Iterator[str]:
    yield f"backend {proxy_name(balancer.pk, config.pk)}"
    yield f"    mode {_mode(config)}"
    yield f"    balance {config.algorithm}"
    if config.algorithm == Config.Algorithm.SOURCE:
        # a node that comes or goes moves its own clients only
        yield "    hash-type consistent"
    yield "    option allbackups"
    if config.stickiness == Config.Stickiness.TABLE:
        yield "    stick-table type ipv6 size 100k expire 30m peers skerry"
        yield "    stick on src"
    elif config.stickiness == Config.Stickiness.HTTP_COOKIE:
        secure = " secure" if config.protocol == Config.Protocol.HTTPS else ""
        yield f"    cookie {COOKIE} insert indirect nocache httponly{secure}"
    yield from _check(balancer, config)
    for node in config.nodes.all():
        # a rejected node gets nothing, not even checks
        if node.mode != Node.Mode.REJECT:
            yield f"    server {server_name(node)} {node.address} {' '.join(_options(config, node))}"


def _check(balancer: NodeBalancer, config: Config) -> Iterator[str]:
    if config.check_type == Config.Check.NONE:
        return
    yield f"    timeout check {min(config.check_timeout, config.check_interval)}s"
    if config.check_type == Config.Check.CONNECTION:
        return
    path = config.check_path if config.check_path.startswith("/") else f"/{config.check_path}"
    yield "    option httpchk"
    yield f"    http-check send meth GET uri {quoted(path)} ver HTTP/1.1 hdr Host {quoted(balancer.hostname)}"
    yield "    http-check expect status 200-399"
    if config.check_type == Config.Check.HTTP_BODY:
        yield f"    http-check expect string {quoted(config.check_body)}"


def _options(config: Config, node: Node) -> Iterator[str]:
    # with weight 0 only the clients that stick to a node still reach it: that is how HAProxy drains
    yield f"weight {0 if node.mode == Node.Mode.DRAIN else node.weight}"
    if node.mode == Node.Mode.BACKUP:
        yield "backup"
    if config.stickiness == Config.Stickiness.HTTP_COOKIE:
        yield f"cookie n{node.pk}"
    if config.proxy_protocol != Config.ProxyProtocol.NONE:
        yield "send-proxy" if config.proxy_protocol == Config.ProxyProtocol.V1 else "send-proxy-v2"
    if not config.watched:
        return
    interval = f"{config.check_interval}s"
    if config.check_type != Config.Check.NONE:
        yield f"check inter {interval} rise 1 fall {config.check_attempts}"
    else:
        # only traffic shows that a node is down, and only a connection that it is back
        yield f"check inter 1d fastinter {interval} downinter {interval} rise 1 fall {UNREACHABLE_FAILURES}"
    if config.proxy_protocol != Config.ProxyProtocol.NONE:
        yield "check-send-proxy"
    if config.check_passive:
        layer = "layer7" if _mode(config) == "http" else "layer4"
        yield f"observe {layer} error-limit {config.check_attempts} on-error mark-down"


def _mode(config: Config) -> str:
    return "tcp" if config.protocol == Config.Protocol.TCP else "http"
