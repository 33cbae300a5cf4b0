"""Parses the address of a service into the target of its checks."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from compute.punycode import to_ascii
from compute.services.common.dns_names import is_alias
from config.egress.guard import Address
from config.errors import Invalid, wrong_length
from managed.models import Service

PORTS = {"http": 80, "https": 443}
NOT_VALID = "address is not valid"
MAX_ADDRESS_LENGTH = 100
"""The maximum number of characters in an address."""
_HOST = re.compile(r"(?P<before>\s*(?:[A-Za-z]+://)?)(?P<host>[^:/?#@\\]+)(?P<rest>.*)", re.DOTALL)
_IN_BRACKETS = re.compile(r"\[[0-9A-Fa-f:.]+\](:[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a check. `url` is set for services of type url, and has no fragment."""

    host: str
    port: int
    url: str | None = None

    @property
    def literal(self) -> Address | None:
        """The host as an address, or None if it is a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def normalised(service_type: str, address: str) -> str:
    """Return an address as it is stored: without a fragment, and with a Unicode host as punycode.

    Raises `Invalid` on ``address``.
    """
    kept = parse(service_type, address).url or _with_ascii_host(address).strip()
    if len(kept) > MAX_ADDRESS_LENGTH:  # the canonical spelling of an IPv6 address may be longer than the given one
        raise Invalid(wrong_length(None, MAX_ADDRESS_LENGTH), "address")
    return kept


def parse(service_type: str, address: str) -> Target:
    """Return the target of ``https://host:port/path?query``, or for tcp of ``tcp://host:port`` and ``host:port``.

    Raises `Invalid` on ``address``, also for usernames and passwords in it, which everybody could read.
    """
    if service_type == Service.Type.URL:
        return of_url(address)
    split = _split(address if "://" in address else f"tcp://{address}")
    port = _port(split)
    if split.scheme != "tcp" or port is None or split.path.strip("/") or split.query or split.fragment:
        raise Invalid("address must be host:port", "address")
    return Target(_host(split), port)


def of_url(address: str) -> Target:
    """Return the target of a URL, a service's own or that of a redirect. Raises `Invalid`."""
    split = _split(address)
    if split.scheme not in PORTS:
        raise Invalid("address must begin with http:// or https://", "address")
    host, port = _host(split), _port(split)
    literal = f"[{host}]" if ":" in host else host
    netloc = literal if port is None else f"{literal}:{port}"
    url = urlunsplit((split.scheme, netloc, split.path, split.query, ""))
    return Target(host, PORTS[split.scheme] if port is None else port, url)


def _with_ascii_host(address: str) -> str:
    found = None if address.isascii() else _HOST.fullmatch(address)
    return f"{found['before']}{to_ascii(found['host'])}{found['rest']}" if found else address


def _split(address: str) -> SplitResult:
    address = _with_ascii_host(address)
    # Python's parser drops tabs and line ends that others keep: the URL checked must be the URL requested.
    if not address.isascii() or not address.isprintable() or " " in address.strip() or "\\" in address:
        raise Invalid(NOT_VALID, "address")
    try:
        split = urlsplit(address.strip())
    except ValueError:
        raise Invalid(NOT_VALID, "address") from None
    if "@" in split.netloc:
        raise Invalid("address must not contain a username or password: use credentials", "address")
    # Python's parser ignores characters next to the brackets.
    if ("[" in split.netloc or "]" in split.netloc) and not _IN_BRACKETS.fullmatch(split.netloc):
        raise Invalid(NOT_VALID, "address")
    return split


def _port(split: SplitResult) -> int | None:
    try:
        port = split.port
    except ValueError:
        raise Invalid("the port in address must be 1-65535", "address") from None
    if port == 0:
        raise Invalid("the port in address must be 1-65535", "address")
    return port


def _host(split: SplitResult) -> str:
    """Return the host: an address in its canonical spelling, or a name.

    Other spellings (``0x7f.1``) are no names.
    """
    host = split.hostname or ""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    if not is_alias(host) or _is_number(host.removesuffix(".").rpartition(".")[2]):
        raise Invalid(NOT_VALID, "address")
    return host


def _is_number(label: str) -> bool:
    return label.isdigit() or bool(re.fullmatch(r"0[xX][0-9A-Fa-f]*", label))
