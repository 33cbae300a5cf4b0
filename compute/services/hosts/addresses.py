"""Where hosts are reached, by workers and by each other: addresses that nothing of a customer's may lead to."""

from urllib.parse import urlsplit

from compute.services.heartbeats import own_connection

_KNOWN = """
SELECT location, host(underlay) FROM compute_host WHERE location LIKE '%://%' OR underlay IS NOT NULL
"""


def reached_at() -> list[str]:
    """Names and addresses of all hosts that are other machines: their locations', and those between hosts.

    Has a connection of its own, since threads ask that have none. Raises what the database does.
    """
    with own_connection() as own, own.cursor() as cursor:
        cursor.execute(_KNOWN)
        rows = cursor.fetchall()
    return [address for location, underlay in rows for address in (_host_of(location), underlay) if address]


def _host_of(location: str) -> str | None:
    """The host in a location such as ``ssh://root@hv1:22/var/lib/skerry``; None in one that no driver can read."""
    try:
        return urlsplit(location).hostname
    except ValueError:
        return None
