"""Reverse names: checking their form, and that their forward record contains the address."""

from collections.abc import Callable

from django.conf import settings
from django.utils.module_loading import import_string

from accounts.services import attempts
from compute.services.common.dns_names import is_host
from config.db.elsewhere import ask_elsewhere
from config.egress import resolver
from config.errors import Invalid

Resolver = Callable[[str, float], frozenset[str]]


class Unresolved(Exception):
    """No name server resolved a name in time."""


def checked(account_id: int, name: str, address: str) -> str:
    """Return `name`, or raise `Invalid` on ``rdns``.

    The name must be a host name with a dot in it. If the setting RDNS_CHECK is on, the name must resolve to
    `address`. The request waits for unknown name servers, so the time is limited (RDNS_TIMEOUT). So is the number
    of lookups for one account, beyond which it raises `TooMany`.
    """
    if not is_host(name) or "." not in name or name.endswith("."):
        raise Invalid("rdns is not valid", "rdns")
    if settings.RDNS_CHECK:
        attempts.check("reverse_name", f"account:{account_id}")
        if address not in ask_elsewhere(_addresses_of, name):
            raise Invalid(f"No A record of this name has the address {address}.", "rdns")
    return name


def _addresses_of(name: str) -> frozenset[str]:
    resolver: Resolver = import_string(settings.RDNS_RESOLVER)
    try:
        return resolver(name, settings.RDNS_TIMEOUT)
    except Unresolved:
        raise Invalid("The name servers did not answer in time. Try again later.", "rdns") from None


def system_resolver(name: str, timeout: float) -> frozenset[str]:
    """Return all addresses of a name; none if there is no such name.

    The name servers are those of the setting PROBE_NAMESERVERS or the system's. Raises `Unresolved` if no server
    answers in `timeout` seconds.
    """
    try:
        return frozenset(map(str, resolver.resolve(name, timeout)))
    except resolver.Unanswered as error:
        raise Unresolved from error
    except resolver.Unresolved:
        return frozenset()
