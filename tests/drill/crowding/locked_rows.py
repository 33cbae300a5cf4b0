"""Requests that need a row which another session has locked."""

import threading
from contextlib import AbstractContextManager

import psycopg
from psycopg import sql

from accounts.models import Account
from compute.models import Instance
from tests.drill.client import IMAGE, PASSWORD, REGION
from tests.drill.crowding.attacker import Attacker, playing
from tests.drill.crowding.load import api
from tests.drill.standstill.customers import statuses, wait_for

LOCKED_WITHIN = 60.0


def account(attacker: Attacker) -> AbstractContextManager[None]:
    """Add domains to an account whose row is locked."""
    body = {"type": "master", "soa_email": "dns@example.com"}
    requests = [
        api(attacker.token, "POST", "/domains", {**body, "domain": f"{number}.{attacker.name}.example.com"})
        for number in range(attacker.form.posts)
    ]
    return _sending_locked(attacker, Account._meta.db_table, attacker.account.pk, requests)


def instance(attacker: Attacker) -> AbstractContextManager[None]:
    """Reboot and rename an instance whose row is locked."""
    body = {"region": REGION, "type": "g6-nanode-1", "image": IMAGE, "root_pass": PASSWORD, "label": "locked"}
    pk = attacker.made("/compute/instances", body)["id"]
    if not wait_for(lambda: statuses([pk]) == {pk: "running"}):
        raise RuntimeError(f"an instance is not created: {statuses([pk])}")
    both = [
        api(attacker.token, "POST", f"/compute/instances/{pk}/reboot", {}),
        api(attacker.token, "PUT", f"/compute/instances/{pk}", {"label": "relocked"}),
    ]
    requests = [both[number % 2] for number in range(attacker.form.posts)]
    return _sending_locked(attacker, Instance._meta.db_table, pk, requests)


def _sending_locked(attacker: Attacker, table: str, pk: int, requests: list[bytes]) -> AbstractContextManager[None]:
    """Send the requests while the row is locked. The others are measured as long as the lock lasts."""
    locked = threading.Event()

    def lock_rows() -> None:
        with psycopg.connect(attacker.site.conninfo) as session:
            session.execute(sql.SQL("SELECT FROM {} WHERE id = %s FOR UPDATE").format(sql.Identifier(table)), [pk])
            locked.set()
            # The database would end an idle transaction.
            session.execute("SELECT pg_sleep(%s)", [attacker.form.lock_seconds])

    def play(stopped: threading.Event) -> None:
        holder = threading.Thread(target=lock_rows, daemon=True)
        holder.start()
        if not locked.wait(LOCKED_WITHIN):
            raise RuntimeError(f"the row {pk} of {table} cannot be locked")
        attacker.send(requests)
        holder.join()

    return playing(play)
