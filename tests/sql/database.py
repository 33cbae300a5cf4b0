"""A database of the tests' own, with so many rows that the planner has a choice. Each run has the same rows."""

import hashlib
from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from accounts.models import Event, GlobalGrants, Message, OAuthAccessToken, OAuthClient
from compute.models import Address, AddressPool, Job, PacketFilter
from managed.models import Service
from tests.bench.data import REGIONS, Sizes, fill, token
from tests.bench.data import _insert as insert
from tests.databases import another_database

SIZES = Sizes(accounts=2_000, instances=10_000, addresses=False)
JOBS, LIVE = 20_000, 200
TOKEN = token(1)
OAUTH_TOKEN = "oauth-token-of-1"
NOW = "statement_timestamp()"


@pytest.fixture(scope="module")
def populated(django_db_setup, django_db_blocker) -> Iterator[None]:
    """Connect the default connection to it. The statistics cover every row, because tables are below 30,000
    rows."""
    with django_db_blocker.unblock(), another_database():
        call_command("migrate", verbosity=0, interactive=False)
        connection.ensure_connection()
        _stop_autovacuum(connection.connection)
        fill(connection.connection, SIZES)
        with connection.connection.transaction():
            _fill_more(connection.connection)
        connection.connection.execute("VACUUM ANALYZE")
        yield


def _stop_autovacuum(rows: psycopg.Connection) -> None:
    """Make plans independent of when it runs: a table that was vacuumed has cheaper index-only scans."""
    tables = rows.execute("SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'").fetchall()
    for (table,) in tables:
        rows.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")


def _fill_more(rows: psycopg.Connection) -> None:
    _tokens(rows)
    _addresses(rows)
    insert(
        rows, Event, f"generate_series(1, {JOBS}) AS n",
        id="n", account_id=f"n % {SIZES.accounts} + 1", action="'compute_boot'",
        status=f"CASE WHEN n <= {LIVE} THEN 'scheduled' ELSE 'finished' END", entity_type="'compute'",
        entity_id="n", entity_url="''", entity_label="'web-' || n",
    )  # fmt: skip
    insert(
        rows, Job, f"generate_series(1, {JOBS}) AS n",
        id="n", instance_id=f"n % {SIZES.instances} + 1", event_id="n", kind="'boot'", step="'start'", data="'{}'",
        state=f"CASE WHEN n <= {LIVE} THEN 'active' ELSE 'done' END", created=NOW,
        run_at=f"{NOW} - interval '1 minute'",
        deadline_at=f"{NOW} + interval '1 hour'", finished_at=f"CASE WHEN n > {LIVE} THEN {NOW} END",
    )  # fmt: skip
    insert(
        rows, PacketFilter, f"generate_series(1, {SIZES.instances}) AS n",
        instance_id="n", wanted="2", applied=f"CASE WHEN n <= {LIVE} THEN 1 ELSE 2 END", changed=NOW, error="''",
        attempt="0", fence="0", run_at=f"{NOW} - interval '1 minute'",
    )  # fmt: skip
    insert(
        rows, Message, "generate_series(1, 10000) AS n",
        channel="'mail'", recipient="'a@example.com'", encrypted="'x'", created=NOW, given_up="n > 100", fence="0",
        run_at=f"{NOW} - n * interval '1 second'",
    )  # fmt: skip
    insert(
        rows, Service, "generate_series(1, 20000) AS n",
        account_id=f"n % {SIZES.accounts} + 1", label="'service-' || n", service_type="'url'", timeout="10",
        address="'https://example.com'", status="'ok'",
        next_check_at=f"{NOW} + (n - 100) * interval '1 second'",
    )  # fmt: skip
    rows.execute("UPDATE accounts_account SET managed = true")


def _tokens(rows: psycopg.Connection) -> None:
    """Insert an OAuth client, a token of it for each user, and grants of every second user."""
    users = f"generate_series(1, {SIZES.accounts}) AS n"
    insert(
        rows, OAuthClient, "(VALUES (1)) AS one", id="1", client_id="'client'", account_id="1", status="'active'",
        client_secret="'client_secret_sha256$x'",
    )  # fmt: skip
    insert(
        rows, OAuthAccessToken, "generate_series(1, 10000) AS n",
        id="n", user_id=f"n % {SIZES.accounts} + 1", application_id="1", token="'oauth-token-of-' || n",
        token_checksum="encode(sha256(('oauth-token-of-' || n)::bytea), 'hex')", scope="'*'",
        expires=f"{NOW} + interval '1 hour'",
    )  # fmt: skip
    insert(rows, GlobalGrants, users, user_id="n")
    rows.execute(
        "INSERT INTO accounts_personaltoken (user_id, label, scopes, prefix, digest, created)"
        f" SELECT n % {SIZES.accounts} + 1, 'other', '*', 'x', encode(sha256(('other ' || n)::bytea), 'hex'), now()"
        " FROM generate_series(1, 10000) AS n"
    )


def _addresses(rows: psycopg.Connection) -> None:
    """Insert a pool for each region with 10,000 addresses, half of which are in use."""
    regions = f"unnest(ARRAY{list(REGIONS)}) WITH ORDINALITY AS r (region, n)"
    insert(
        rows, AddressPool, regions,
        id="n", region_id="region", kind="'public'", network="'198.' || 17 + n || '.0.0/16'",
        gateway="('198.' || 17 + n || '.0.1')::inet",
    )  # fmt: skip
    insert(
        rows, Address, "generate_series(1, 20000) AS n JOIN compute_addresspool AS pool ON pool.id = n % 2 + 1",
        pool_id="pool.id", region_id="pool.region_id", address="'198.18.0.10'::inet + n", prefix="16",
        gateway="pool.gateway", public="true", instance_id=f"CASE WHEN n <= {SIZES.instances} THEN n END",
    )  # fmt: skip


def checksum(secret: str) -> str:
    """Return the digest by which a token is found."""
    return hashlib.sha256(secret.encode()).hexdigest()
