"""The addresses at which workers and other hosts reach hosts. Nothing of a customer's may connect to them."""

from urllib.parse import urlsplit

from compute.services.heartbeats import own_connection

_KNOWN = """
SELECT location, host(underlay) FROM compute_host WHERE location LIKE '%://%' OR underlay IS NOT NULL
"""


def reached_at() -> list[str]:
    """Return names and addresses of all hosts that are other machines: in their locations, and those between hosts.

    Uses a connection of its own, because threads without one call it. Raises the errors of the database.
    """
    with own_connection() as own, own.cursor() as cursor:
        cursor.execute(_KNOWN)
        rows = cursor.fetchall()
    return [address for location, underlay in rows for address in (_host_of(location), underlay) if address]


def _host_of(location: str) -> str | None:
    """Return the host in a location such as ``ssh://root@hv1:22/var/lib/skerry``; None if no driver can read it."""
    try:
        return urlsplit(location).hostname
    except ValueError:
        return None
