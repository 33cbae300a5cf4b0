"""Statements that are prepared on the connection return the same as Django's cursor."""

import contextlib
import json
import uuid
from datetime import datetime

import psycopg
import pytest
from django.db import (
    DataError,
    IntegrityError,
    NotSupportedError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)

from accounts.models import TicketReply, User
from compute.models import VLAN, Config, IPv6Range
from config.db import prepared
from config.db.prepared import numbered
from tests.config.api.routes import routes
from tests.factories import HostMigrationFactory, VolumeFactory
from tests.policy import BEFORE, Scene, address, scene_of

pytestmark = pytest.mark.django_db(transaction=True)
READS = [route for route in routes() if route.method == "get"]


def test_placeholders_are_numbered():
    assert numbered("a = %s AND b LIKE '%%x' AND c = %s") == b"a = $1 AND b LIKE '%x' AND c = $2"


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT %s::int, %s::bigint, %s::bool, %s::text, %s::text", (1, 2**62, True, "é'\\", None)),
        ("SELECT '{\"a\": [1, 2.50]}'::jsonb, NULL::jsonb", ()),
        ("SELECT '192.0.2.1'::inet, '2001:db8::1'::inet, ARRAY['a', 'b'], '{}'::text[]", ()),
        ("SELECT 1.5::float8, 1.50::numeric, timestamp '2024-01-02 03:04:05.6', date '2024-01-02'", ()),
        ("SELECT %s::uuid, ''::text WHERE true", (str(uuid.uuid4()),)),
        ("SELECT 1 WHERE false", ()),
    ],
)
def test_every_type_reads_alike_both_ways(sql, parameters):
    for _ in range(2):
        assert prepared.fetch(sql, parameters) == prepared.fetch_ordinarily(sql, parameters)


def test_errors_are_djangos():
    with pytest.raises(DataError):
        prepared.fetch("SELECT %s::int", ("x",))
    assert prepared.fetch("SELECT %s::int", ("1",)) == [(1,)]


def test_a_statement_that_the_server_forgot_is_prepared_anew():
    assert prepared.fetch("SELECT %s::int + 1", (1,)) == [(2,)]
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    connection.connection._prepared.clear()
    assert prepared.fetch("SELECT %s::int + 1", (1,)) == [(2,)]


def test_a_statement_whose_table_changed_is_prepared_anew():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changing (a int)")
    try:
        assert prepared.fetch("SELECT * FROM changing", ()) == []
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE changing ADD b text")
            cursor.execute("INSERT INTO changing VALUES (1, 'x')")
        assert prepared.fetch("SELECT * FROM changing", ()) == [(1, "x")]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE changing")


@pytest.mark.parametrize("within_a_transaction", [False, True])
def test_a_statement_is_ended_in_time_and_no_other_one(within_a_transaction):
    def limit() -> str:
        return prepared.fetch_ordinarily("SHOW statement_timeout", ())[0][0]

    block = transaction.atomic if within_a_transaction else contextlib.nullcontext
    before = limit()
    with block():
        assert prepared.fetch_ordinarily("SELECT %s::int, current_setting('statement_timeout')", (1,), 7) == [
            (1, "7s")
        ]
        assert limit() == before
    with pytest.raises(prepared.TookTooLong), block():
        prepared.fetch_ordinarily("SELECT pg_sleep(600)", (), 0.01)
    with pytest.raises(DataError), block():
        prepared.fetch_ordinarily("SELECT %s::int", ("x",), 7)
    with pytest.raises(prepared.TookTooLong), prepared.ending_after(0.01):
        prepared.fetch_ordinarily("SELECT pg_sleep(600)", ())
    with prepared.ending_after(7):
        assert limit() == "7s"
    assert limit() == before


def test_a_statement_with_a_time_limit_outlives_a_lost_connection():
    assert prepared.fetch_ordinarily("SELECT 1", (), 7) == [(1,)]
    with pytest.raises(OperationalError):
        prepared.fetch_ordinarily("SELECT pg_terminate_backend(pg_backend_pid())", ())
    assert prepared.fetch_ordinarily("SELECT 1", (), 7) == [(1,)]


def on_server() -> dict[str, datetime]:
    """Return the statements that are prepared on this session, each with the time of its PREPARE."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, prepare_time FROM pg_prepared_statements")
        return dict(cursor.fetchall())


def warm() -> dict[str, datetime]:
    """Prepare a statement in each way: by the kit, and by psycopg, which prepares after five times.

    Returns these two. New statements may evict those of earlier tests: psycopg keeps 100.
    """
    prepared.fetch("SELECT %s::int + 2", (1,))
    with connection.cursor() as cursor:
        for _ in range(7):
            cursor.execute("SELECT %s::int + 3", (1,))
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE statement ~ '::int [+] [23]$'")
        names = {name for (name,) in cursor.fetchall()}
    assert len(names) == 2
    return {name: prepared_at for name, prepared_at in on_server().items() if name in names}


def undo_a_transaction() -> None:
    with transaction.atomic():
        User.objects.create_user("undone", "undone@example.com")
        transaction.set_rollback(True)


def undo_to_a_savepoint() -> None:
    with transaction.atomic(), transaction.atomic():
        User.objects.create_user("undone", "undone@example.com")
        transaction.set_rollback(True)


def violate_a_constraint() -> None:
    user = User.objects.create_user("twice", "twice@example.com")
    try:
        with pytest.raises(IntegrityError), transaction.atomic():
            User.objects.create_user("twice", "twice@example.com")
    finally:
        user.delete()


@pytest.mark.parametrize("roll_back", [undo_a_transaction, undo_to_a_savepoint, violate_a_constraint])
def test_statements_outlive_a_rollback(roll_back, monkeypatch):
    before = warm()
    prepares = []
    monkeypatch.setattr(prepared.Link, "prepare", lambda self, sql: prepares.append(sql))
    for _ in range(3):
        roll_back()
        assert prepared.fetch("SELECT %s::int + 2", (1,)) == [(3,)]
    assert prepares == []
    assert before.items() <= on_server().items()


REFUSED = {
    "/v4/tags": {"label": "taken"},
    "/v4/domains": {"domain": "taken.example.com", "type": "master", "soa_email": "dns@example.com"},
    "/v4/account/users": {"username": "taken", "email": "taken@example.com", "restricted": True},
}
"""Creates that are refused the second time: by a unique index, whose violation rolls back, or by an earlier
check."""


def test_refused_requests_leave_statements_prepared(api):
    for _ in range(8):  # psycopg prepares after five
        for path, body in REFUSED.items():
            api.post(path, body)
    before = on_server()
    assert before
    refused = [api.post(path, body).status_code for _ in range(20) for path, body in REFUSED.items()]
    assert set(refused) == {400}
    assert on_server() == before, "none is lost, and none is made anew"


def test_statements_do_not_outlive_the_rollback_of_a_change_of_the_schema():
    before = warm()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TYPE passing AS ENUM ('a')")
        transaction.set_rollback(True)
    assert not before.keys() & on_server().keys()
    assert prepared.fetch("SELECT %s::int + 2", (1,)) == [(3,)]


def test_a_statement_of_psycopgs_whose_table_changed_is_made_anew_after_its_rollback():
    """Another process makes the change, like a migration during the server's run."""
    other = connection.copy()

    def change(sql: str) -> None:
        with other.cursor() as cursor:
            cursor.execute(sql)

    def read() -> int:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT * FROM changing")
            return len(cursor.description)

    try:
        change("CREATE TABLE changing (a int)")
        assert [read() for _ in range(7)] == [1] * 7
        change("ALTER TABLE changing ADD b text")
        with pytest.raises(NotSupportedError):
            read()
        assert read() == 2
    finally:
        change("DROP TABLE changing")
        other.close()


def test_a_statement_of_psycopgs_whose_table_changed_is_made_anew_where_nothing_rolls_back():
    """As in a worker, whose claims are statements outside of transactions. Requests end meanwhile."""
    other = connection.copy()

    def change(sql: str) -> None:
        with other.cursor() as cursor:
            cursor.execute(sql)

    def read() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM changing")
            return len(cursor.description)

    try:
        change("CREATE TABLE changing (a int)")
        assert [read() for _ in range(7)] == [1] * 7
        [stale] = [name for name in on_server() if not name.startswith("api_")]
        change("ALTER TABLE changing ADD b text")
        with pytest.raises(NotSupportedError):
            read()
        close_old_connections()
        assert [read() for _ in range(7)] == [2] * 7
        assert stale not in on_server()
    finally:
        change("DROP TABLE changing")
        other.close()


def test_bad_data_leaves_a_statement_prepared():
    with connection.cursor() as cursor:
        for _ in range(7):
            cursor.execute("SELECT 1 / %s::int", [1])
        before = on_server()
        with pytest.raises(DataError):
            cursor.execute("SELECT 1 / %s::int", [0])
        cursor.execute("SELECT 1 / %s::int", [1])
    assert before.items() <= on_server().items()


def test_a_statement_is_named_by_its_sql(monkeypatch):
    prepared.fetch("SELECT %s::int + 4", (1,))
    name = prepared.name_of("SELECT %s::int + 4")
    assert name.decode() in on_server()
    assert name != prepared.name_of("SELECT %s::int + 5")
    # like a client behind a pooler, whose session has a statement that another client prepared
    monkeypatch.setattr(prepared, "_links", prepared._Links())
    assert prepared.fetch("SELECT %s::int + 4", (1,)) == [(5,)]


def test_nothing_is_prepared_where_the_setting_is_off(settings):
    settings.PREPARED_STATEMENTS = False
    connection.close()
    try:
        for number in range(10):
            assert prepared.fetch("SELECT %s::int + 4", (number,)) == [(number + 4,)]
        assert on_server() == {}
    finally:
        connection.close()
        connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = False


def lose_connection():
    """End this test's connection as a restart of the database does."""
    with psycopg.connect(**{**connection.get_connection_params(), "cursor_factory": psycopg.Cursor}) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (connection.connection.info.backend_pid,))


@pytest.mark.parametrize("fetch", [prepared.fetch, prepared.fetch_ordinarily])
def test_a_lost_connection_is_made_anew(fetch):
    fetch("SELECT 1", ())
    lose_connection()
    assert fetch("SELECT 1", ()) == [(1,)]


def test_an_error_without_a_code_is_a_lost_connection():
    """After a failed write libpq reports neither: its connection looks open."""
    connection.ensure_connection()
    link = prepared.Link(connection.connection)
    nothing = link.connection.pgconn.make_empty_result(psycopg.pq.ExecStatus.FATAL_ERROR)
    assert isinstance(link.error_of(nothing), psycopg.OperationalError)
    assert link.connection.closed
    assert prepared.fetch("SELECT 1", ()) == [(1,)], "on a new one"


@pytest.mark.parametrize("fetch", [prepared.fetch, prepared.fetch_ordinarily])
def test_a_lost_connection_takes_its_transaction_along(fetch):
    def within_one():
        with transaction.atomic():
            lose_connection()
            fetch("SELECT 1", ())

    connection.ensure_connection()
    with pytest.raises(OperationalError):
        within_one()


def test_a_connection_lost_before_the_time_limit_is_set_is_djangos_error():
    def within_one():
        with transaction.atomic():
            lose_connection()
            prepared.fetch_ordinarily("SELECT 1", (), 7)

    connection.ensure_connection()
    with pytest.raises(OperationalError):
        within_one()


def test_a_connection_lost_within_a_time_limit_is_djangos_error():
    connection.ensure_connection()
    with pytest.raises(OperationalError), prepared.ending_after(7):
        lose_connection()


@pytest.mark.parametrize("fetch", [prepared.fetch, prepared.fetch_ordinarily])
def test_a_cancelled_statement_is_not_repeated(fetch):
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 50")
    before = connection.connection
    try:
        with pytest.raises(OperationalError):
            fetch("SELECT 1 FROM pg_sleep(5)", ())
        assert connection.connection is before
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "x_filter"),
    [("/v4/regions", None), ("/v4/regions", {"country": "us"}), ("/v4/regions/us-east", None), ("/healthz", None)],
)
def test_a_restarted_database_is_no_error_for_requests_without_a_token(client, path, x_filter):
    headers = {"X-Filter": json.dumps(x_filter)} if x_filter else {}
    before = client.get(path, headers=headers)
    lose_connection()
    after = client.get(path, headers=headers)
    assert (after.status_code, after.content) == (before.status_code, before.content)
    assert after.status_code in (200, 404)


def fill_all_lists(scene: Scene) -> None:
    """Add to the policy's scene what its lists lack: something scheduled, measured, sent, shared."""
    for prepare in {prepare for operation, prepare in BEFORE.items() if operation.startswith("GET ")}:
        prepare(scene)
    HostMigrationFactory(instance=scene.compute)
    VolumeFactory(account=scene.account, region=scene.world.region, instance=scene.compute)
    TicketReply.objects.create(ticket=scene.ticket, description="It still is.", created_by=scene.member.username)
    Config.objects.filter(pk=scene.config.pk).update(interfaces=[{"purpose": "vlan", "label": "back"}])
    VLAN.objects.create(account=scene.account, region=scene.world.region, label="back")
    IPv6Range.objects.create(
        account=scene.account, region=scene.world.region, pool=scene.range.pool, kind=IPv6Range.Kind.POOL,
        range="2001:db8:5001::", prefix=116,
    )  # fmt: skip


def test_every_read_answers_the_same_both_ways(world, monkeypatch):
    """In other tests a transaction is open, so statements go through the cursor. Servers use prepared ones."""
    scene = scene_of(world)
    fill_all_lists(scene)
    empty = []
    for caller in (caller for caller in scene.callers if caller.name in ("none", "r/o", "owner")):
        for route in READS:
            path = address(route, scene, caller)
            first = caller.api.get(path)
            with monkeypatch.context() as patch:
                patch.setattr(prepared, "fetch", prepared.fetch_ordinarily)
                assert caller.api.get(path).content == first.content, path
            if caller.name == "owner":
                assert first.status_code < 300, (path, first.content)
                empty += [path] if route.action == "list" and not first.json()["data"] else []
    assert empty == []
    lists = [route for route in READS if route.action == "list"]
    assert len([name for name in on_server() if name.startswith("api_")]) > len(lists)
