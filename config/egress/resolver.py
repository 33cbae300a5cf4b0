"""Resolves host names with the name servers of the setting PROBE_NAMESERVERS, or with the system's."""

import asyncio
import ipaddress
import socket
from itertools import chain
from typing import Any

import dns.asyncbackend
import dns.asyncresolver
import dns.exception
import dns.rdatatype
import dns.resolver
from django.conf import settings
from dns._asyncio_backend import Backend
from dns.nameserver import Do53Nameserver

from config.egress.guard import Address

LOCAL: Address = ipaddress.IPv4Address("127.0.0.1")
GRACE_SECONDS = 1.0
"""Seconds to wait for the second answer (A or AAAA) once the first has come."""
MAX_ANSWER_BYTES = 4096
"""The maximum number of bytes in an answer: some 250 addresses.

Parsing an answer of 64 KB takes a good part of a second and blocks the prober's loop. Anybody with a name server
could stop the loop this way.
"""
NO_ANSWER = (dns.exception.Timeout, dns.resolver.NoNameservers, OSError)
"""The errors of a query that no name server answers, or that fails at all of them."""


class Unresolved(Exception):
    """The name has no address, or no name server answered in time."""


class Unanswered(Unresolved):
    """No name server answered for the name: it may have addresses."""


class _TooLong(dns.exception.FormError):
    """An answer longer than `MAX_ANSWER_BYTES`. A `FormError`, so that it is handled like a malformed answer."""


class _Stream(dns.asyncbackend.StreamSocket):
    """A TCP connection to a name server, for answers too long for a datagram: the length first, then the answer."""

    def __init__(self, real: dns.asyncbackend.StreamSocket):
        super().__init__(real.family, real.type)
        self._real = real

    async def sendall(self, what: bytes, timeout: float | None) -> None:
        await self._real.sendall(what, timeout)

    async def close(self) -> None:
        await self._real.close()

    async def recv(self, size: int, timeout: float | None) -> bytes:
        if size > MAX_ANSWER_BYTES:
            raise _TooLong
        return await self._real.recv(size, timeout)


class _Bounded(Backend):
    """Makes connections that refuse answers longer than `MAX_ANSWER_BYTES`."""

    async def make_socket(self, af: int, socktype: int, *args: Any, **kwargs: Any) -> Any:
        made = await super().make_socket(af, socktype, *args, **kwargs)
        return _Stream(made) if socktype == socket.SOCK_STREAM else made


def resolve(host: str, timeout: float | None = None) -> list[Address]:
    """Return all addresses of a name, A and AAAA.

    Raises `Unresolved` after at most `timeout` seconds, by default PROBE_DNS_TIMEOUT.
    """
    return asyncio.run(resolve_async(host, timeout))


def is_local(host: str) -> bool:
    """Tell whether a name is always this machine (RFC 6761): ``localhost``, or a name below it."""
    return host.rstrip(".").lower().rpartition(".")[2] == "localhost"


async def resolve_async(host: str, timeout: float | None = None) -> list[Address]:
    """Return all addresses of a name, as `resolve` does, for the prober's loop.

    Both record types are queried at once, and one answer is enough: some name servers fail or do not answer if they
    have no AAAA record.
    """
    if is_local(host):
        return [LOCAL]
    try:
        resolver = _resolver()
    except dns.exception.DNSException as error:
        raise Unanswered("no name server is known") from error
    resolver.lifetime = settings.PROBE_DNS_TIMEOUT if timeout is None else timeout
    answers = await _both(resolver, host)
    found = list(chain.from_iterable(answer for answer in answers if isinstance(answer, list)))
    if found:
        return found
    if any(isinstance(answer, NO_ANSWER) for answer in answers):
        raise Unanswered(f"no name server answered for {host}")
    raise Unresolved(f"the name {host} was not found")


async def _both(resolver: dns.asyncresolver.Resolver, host: str) -> list[list[Address] | Exception]:
    """Return the answers or errors of both queries.

    If one answer has addresses and the other query exceeds `GRACE_SECONDS`, return the one answer alone.
    """
    kinds = (dns.rdatatype.AAAA, dns.rdatatype.A)
    tasks = [asyncio.create_task(_ask(resolver, host, kind)) for kind in kinds]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        enough = any(isinstance(task.result(), list) and task.result() for task in done)
        done, _ = await asyncio.wait(tasks, timeout=GRACE_SECONDS if enough else None)
    finally:
        for task in tasks:
            task.cancel()
    return [task.result() for task in tasks if task in done]


async def _ask(
    resolver: dns.asyncresolver.Resolver, host: str, kind: dns.rdatatype.RdataType
) -> list[Address] | Exception:
    # The dot at the end prevents a search in this machine's search domains.
    absolute = host if host.endswith(".") else f"{host}."
    try:
        answer = await resolver.resolve(absolute, kind, raise_on_no_answer=False, backend=_Bounded())
    except (dns.exception.DNSException, OSError, ValueError) as error:
        return error
    return [ipaddress.ip_address(record.address) for record in answer.rrset or ()]


def _resolver() -> dns.asyncresolver.Resolver:
    """Return a resolver. It is configured again for each name, since a laptop changes networks.

    Servers are ``address`` or ``address@port``.
    """
    resolver = dns.asyncresolver.Resolver(configure=not settings.PROBE_NAMESERVERS)
    if settings.PROBE_NAMESERVERS:
        split = (server.partition("@") for server in settings.PROBE_NAMESERVERS)
        resolver.nameservers = [Do53Nameserver(address, int(port or 53)) for address, _, port in split]
    return resolver
