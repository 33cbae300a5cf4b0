"""One check of one service, over the network.

The host is looked up once, `config.egress.guard` checks its addresses, and the connection goes to these addresses.
If the name resolves differently a moment later, nothing changes. Each redirect is treated the same way.
"""

import asyncio
import errno
import os
import socket
import ssl
import time
from urllib.parse import quote, urljoin

import aiohappyeyeballs
import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from config.egress import guard
from config.egress.guard import Address
from config.egress.resolver import Unresolved, resolve_async
from config.errors import Invalid
from managed.models import Service
from managed.prober import tls
from managed.prober.connections import Connector
from managed.prober.text import Search, Unreadable, charset_of
from managed.services import targets
from managed.services.probing import Outcome, Probe
from managed.services.targets import Target

MAX_REDIRECTS = 5
STAGGER_SECONDS = 0.25
"""Seconds for one address of a name before the next address is tried in parallel."""
MAX_ADDRESSES = 8
"""The maximum number of addresses of a name that are tried: hundreds must not turn a check into a network scan."""
LATE_SECONDS = 1.0
"""Seconds beyond a check's timeout after which the delay is this process's fault, and not the service's."""
MAX_LINE_LENGTH = 64 * 1024
"""The maximum number of bytes in a line of headers. Some sites have policies of tens of thousands of bytes."""
HEADERS = {"User-Agent": "Skerry-Managed", "Accept": "*/*", "Accept-Encoding": "identity"}
"""A request asks for no compression, which costs a server more than it saves.

Compressed answers are read all the same.
"""
REDIRECTED = (301, 302, 303, 307, 308)


REFUSED = {
    guard.FORBIDDEN: "it resolves or redirects to an address that the platform does not check",
    guard.NEEDS_REGION: "it resolves or redirects to a private address, but has no region",
    guard.NO_REGION: "it has a region, but resolves or redirects to an address that is not private",
}
CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))
"""Characters that URLs contain unencoded. Others are percent-encoded in the target of a redirect."""


class Down(Exception):
    """The service is down. The text says why, for people."""


class Stalled(Exception):
    """This process was too busy to tell whether the service answers in time."""


async def check(probe: Probe) -> Outcome:
    """Check a service within `probe.timeout` seconds, and return the outcome. No behaviour of a server raises.

    Raises `Stalled` if this process noticed the timeout too late. Other checks, or a machine that was frozen, must
    not turn a service that is up into a problem.
    """
    begun = time.monotonic()
    try:
        async with asyncio.timeout(probe.timeout):
            await (_ask_url(probe) if probe.service_type == Service.Type.URL else _ask_tcp(probe))
    except TimeoutError:
        if time.monotonic() - begun > probe.timeout + LATE_SECONDS:
            raise Stalled from None
        return Outcome(error=f"there was no answer within {probe.timeout} s")
    except Invalid:
        return Outcome(error="its address is not valid")
    except (Down, Unresolved) as error:
        return Outcome(error=str(error))
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Outcome(error=_words(error))
    return Outcome(milliseconds=(time.monotonic() - begun) * 1000)


async def _ask_tcp(probe: Probe) -> None:
    target = targets.parse(probe.service_type, probe.address)
    addresses = await _addresses(target, probe.private)
    infos = [_info(address, target.port) for address in addresses]
    connected = await aiohappyeyeballs.start_connection(infos, happy_eyeballs_delay=STAGGER_SECONDS)
    connected.close()


async def _ask_url(probe: Probe) -> None:
    target = targets.parse(probe.service_type, probe.address)
    for _ in range(MAX_REDIRECTS + 1):
        onward = await _get(target, probe)
        if onward is None:
            return
        target = _redirected(target, onward)
    raise Down(f"it redirects more than {MAX_REDIRECTS} times")


def _redirected(target: Target, onward: str) -> Target:
    # Encoded before joining: Python's parser drops tabs that other parsers keep.
    onward = quote(onward.strip(" "), safe=CHARACTERS, errors="surrogateescape")
    try:
        return targets.of_url(urljoin(str(target.url), onward))
    except (Invalid, ValueError):
        raise Down("it redirects to an address that is not valid") from None


async def _get(target: Target, probe: Probe) -> str | None:
    """Request one URL. Return the address that it redirects to, or None for a final answer that is good."""
    url = URL(str(target.url), encoded=True)
    if url.raw_host != target.host.lower() or url.port != target.port:
        raise Down("its address is not valid")  # two parsers disagree: the guard could be bypassed
    addresses = await _addresses(target, probe.private)
    connector = Connector(
        resolver=_Pinned(addresses),
        use_dns_cache=False,
        ssl=tls.shared_context(),
        force_close=True,
        happy_eyeballs_delay=STAGGER_SECONDS,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None),  # the timeout of the whole check applies
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        max_line_size=MAX_LINE_LENGTH,
        max_field_size=MAX_LINE_LENGTH,
    )
    try:
        async with session, session.get(url, allow_redirects=False, headers=HEADERS) as response:
            onward = response.headers.get("Location")
            if response.status in REDIRECTED and onward:
                return onward
            if response.status >= 400:
                raise Down(f"it answered {response.status}")
            if probe.body and not await _contains(response, probe.body):
                raise Down("the text was not in the answer")
    except aiohttp.ClientError:
        if connector.flooded:
            raise Down("its answer does not end") from None
        raise
    return None


async def _contains(response: aiohttp.ClientResponse, text: str) -> bool:
    """Tell whether the beginning of an answer contains `text`. Reading stops once the text is found."""
    try:
        charset = charset_of(response.headers.get("Content-Type", ""))
        search = Search(text, charset, response.headers.get("Content-Encoding", ""))
        while not search.ended and (part := await response.content.readany()):
            if search.feed(part):
                return True
    except Unreadable as error:
        raise Down(str(error)) from error
    return False


async def _addresses(target: Target, private: bool) -> list[Address]:
    literal = target.literal
    addresses = [literal] if literal is not None else await resolve_async(target.host)
    refusal = guard.refusal(addresses, private)
    if refusal is not None:
        raise Down(REFUSED[refusal])
    both = [address for address in addresses if address.version == 6], [a for a in addresses if a.version == 4]
    return [address for family in both for address in family[: MAX_ADDRESSES // 2]]


class _Pinned(AbstractResolver):
    """A resolver that returns the addresses that the guard checked, and makes no look-up."""

    def __init__(self, addresses: list[Address]):
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing to close."""


def _info(address: Address, port: int) -> aiohappyeyeballs.AddrInfoType:
    if address.version == 4:
        return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port)
    return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port, 0, 0)


def _words(error: Exception) -> str:
    """Return an error in words for people, without the platform's addresses and Python's names."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not valid: {getattr(error.certificate_error, 'verify_message', '')}"
    if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
        return "the TLS handshake failed"
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError) or _cut_off(error):
        return "it closed the connection before the end of the answer"
    if isinstance(error, aiohttp.ClientConnectorError | OSError):
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        # Addresses that fail in different ways have no common errno.
        return "the connection failed" + (f": {os.strerror(cause.errno).lower()}" if cause.errno else "")
    return "the answer is not HTTP"


def _cut_off(error: Exception) -> bool:
    """Tell whether an established connection was reset."""
    connecting = isinstance(error, aiohttp.ClientConnectorError)
    return isinstance(error, OSError) and not connecting and error.errno in (errno.ECONNRESET, errno.EPIPE)
