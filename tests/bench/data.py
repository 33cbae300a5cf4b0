"""The rows of the benchmark: by default 100,000 instances of 1,000 accounts, made in a few seconds.

Instance ``i`` belongs to account ``(i - 1) % accounts + 1``. An account's rows are scattered over the table, as
after years of use. The answers of both servers can be checked by arithmetic.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection as django_connection
from django.db import models
from psycopg import sql

from accounts.models import Account, PersonalToken, User
from compute.models import (
    Address,
    AddressPool,
    Config,
    ConfigDevice,
    Disk,
    Host,
    Image,
    Instance,
    InstanceType,
    Kernel,
    Reservation,
)
from regions.models import Region

REGIONS = ("us-east", "eu-central")
TYPES = ("g6-nanode-1", "g6-standard-1", "g6-standard-2", "g6-standard-4")
IMAGE = "compute/debian11"
KERNELS = ("compute/latest-64bit", "compute/grub2")
ROOM = "2000000000"
"""Capacity of each host for each resource: enough for all instances that any round creates."""
ROOT_PASSWORD = "Xk9#mQ2$vL7pWz4n"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of rows. With `addresses`, each instance has one address, and the pools have at least as many
    free ones."""

    accounts: int = 1_000
    instances: int = 100_000
    addresses: bool = True

    @property
    def hosts(self) -> int:
        """The number of hosts that the instances need. What is used of a host is stored as an integer."""
        return 20 * max(1, self.instances // 100_000)

    @property
    def key(self) -> str:
        """A key that changes whenever the rows would: it depends on the sizes and on this file."""
        with open(__file__) as source:
            return f"{self}{source.read()}"


def token(account: int) -> str:
    """The personal access token of account number `account` (from 1)."""
    return hashlib.sha256(f"bench {account}".encode()).hexdigest()


def fill(connection: psycopg.Connection, sizes: Sizes) -> None:
    """Insert all rows in one transaction. The database must be migrated, and empty except for a catalogue."""
    with connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = off")
        _skip_foreign_key_checks(connection)
        _catalogue(connection, sizes)
        _accounts(connection, sizes)
        _instances(connection, sizes)
        _reservations(connection)
        _parts(connection)
        if sizes.addresses:
            _addresses(connection, sizes)
        _set_sequences(connection)


def _skip_foreign_key_checks(connection: psycopg.Connection) -> None:
    """Skip the checks of foreign keys. The rows are consistent, and checking each takes longer than inserting
    it."""
    if connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (True,):
        connection.execute("SET LOCAL session_replication_role = replica")


def _database_knows(field: models.Field) -> bool:
    """Tell whether the field's column has a default in the database."""
    return field.db_default is not models.NOT_PROVIDED


def _insert(connection: psycopg.Connection, model: type[models.Model], source: str, **columns: str) -> None:
    """Run ``INSERT INTO model SELECT columns FROM source``, each column an SQL expression.

    Fields that `columns` leaves out get the values that Django would give them, unless the database has
    defaults.
    """
    expressions: dict[str, sql.Composable] = {}
    for field in model._meta.local_concrete_fields:
        column = str(field.column)
        if field.attname in columns:
            expressions[column] = sql.SQL(columns.pop(field.attname))
        elif getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False):
            expressions[column] = sql.SQL("now()")
        elif field.primary_key or (not field.has_default() and (field.null or _database_knows(field))):
            continue  # the database's own
        else:
            expressions[column] = sql.Literal(_default(field))
    assert not columns, f"{model.__name__} has no {', '.join(columns)}"
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ON CONFLICT DO NOTHING").format(
        sql.Identifier(model._meta.db_table),
        sql.SQL(", ").join(map(sql.Identifier, expressions)),
        sql.SQL(", ").join(expressions.values()),
        sql.SQL(source),
    )
    connection.execute(statement)


def _default(field: models.Field) -> Any:
    return field.get_db_prep_save(field.get_default(), django_connection)


def _catalogue(connection: psycopg.Connection, sizes: Sizes) -> None:
    _insert(
        connection, Region, f"unnest(ARRAY{list(REGIONS)}) AS id",
        id="id", country="'us'", capabilities="ARRAY['Computes']",
    )  # fmt: skip
    _insert(
        connection, InstanceType, f"unnest(ARRAY{list(TYPES)}) WITH ORDINALITY AS t (id, n)",
        id="id", label="'Compute ' || n || 'GB'", type_class="'standard'", memory="1024 * n", disk="25600 * n",
        vcpus="n", transfer="1000 * n", network_out="1000 * n", price_hourly="0.0075 * n",
        price_monthly="5 * n",
    )  # fmt: skip
    _insert(
        connection, Image, "(VALUES (1)) AS one",
        id=f"'{IMAGE}'", label="'Debian 11'", vendor="'Debian'", size="1300", is_public="true",
        created="now()",
    )  # fmt: skip
    _insert(
        connection, Kernel, f"unnest(ARRAY{list(KERNELS)}) AS id",
        id="id", label="id", version="'6.1'", architecture="'x86_64'",
    )  # fmt: skip
    _insert(
        connection, Host,
        f"generate_series(1, {sizes.hosts}) AS n, (SELECT ARRAY{list(REGIONS)} AS ids) AS regions",
        id="n", uuid="gen_random_uuid()", label="'bench-host-' || n", region_id="ids[n % 2 + 1]",
        memory=ROOM, vcpus=ROOM, disk=ROOM,
    )  # fmt: skip


def _accounts(connection: psycopg.Connection, sizes: Sizes) -> None:
    """Insert accounts 1 to n, each with one unrestricted user and one full token. All three have the same
    number."""
    numbers = f"generate_series(1, {sizes.accounts}) AS n"
    _insert(connection, Account, numbers, id="n", euuid="gen_random_uuid()", email="'owner' || n || '@example.com'")
    _insert(
        connection, User, numbers,
        id="n", account_id="n", username="'owner' || n", email="'owner' || n || '@example.com'", password="'!'",
    )  # fmt: skip
    tokens = (
        f"generate_series(1, {sizes.accounts}) AS n, "
        "LATERAL (SELECT encode(sha256(('bench ' || n)::bytea), 'hex') AS token) AS t"
    )
    _insert(
        connection, PersonalToken, tokens,
        id="n", user_id="n", label="'bench'", scopes="'*'", prefix="left(token, 16)",
        digest="encode(sha256(token::bytea), 'hex')",
    )  # fmt: skip


def _instances(connection: psycopg.Connection, sizes: Sizes) -> None:
    # m differs from one instance of an account to the next in every remainder; n may not
    source = (
        f"generate_series(1, {sizes.instances}) AS n, "
        f"LATERAL (SELECT n + (n - 1) / {sizes.accounts} AS m) AS mixed, "
        f"(SELECT ARRAY{list(REGIONS)} AS regions, ARRAY{list(TYPES)} AS types) AS catalogue"
    )
    _insert(
        connection, Instance, source,
        id="n", account_id=f"(n - 1) % {sizes.accounts} + 1", label="'web-' || n",
        region_id="regions[n % 2 + 1]", type_id="types[m % 4 + 1]", host_id=f"n % {sizes.hosts} + 1",
        image_id=f"CASE WHEN m % 10 <> 1 THEN '{IMAGE}' END",
        status="CASE m % 10 WHEN 0 THEN 'offline' ELSE 'running' END",
        tags="CASE m % 3 WHEN 0 THEN '{}' WHEN 1 THEN ARRAY['web'] ELSE ARRAY['db', 'production'] END",
        ipv4=f"ARRAY[host({_address('n')})]",
        ipv6="'2001:db8:' || to_hex(n % 2 + 1) || '::' || to_hex(n / 65536 + 1) || ':' || to_hex(n % 65536)"
             " || '/128'",
        alert_cpu="90 * (m % 4 + 1)",
        backups_enabled="m % 5 = 0", backups_available="m % 5 = 0",
        backups_day="CASE m % 5 WHEN 0 THEN 'Saturday' END", backups_window="CASE m % 5 WHEN 0 THEN 'W22' END",
        created="now() - n % 1000 * interval '1 hour'", updated="now() - n % 500 * interval '1 hour'",
    )  # fmt: skip


def _reservations(connection: psycopg.Connection) -> None:
    """Insert the reservation of each instance on its host, and add up what is used of each host."""
    table = Instance._meta.db_table
    _insert(
        connection, Reservation, f"{table} AS i JOIN {InstanceType._meta.db_table} AS t ON t.id = i.type_id",
        host_id="i.host_id", instance_id="i.id", memory="t.memory", vcpus="t.vcpus", disk="t.disk",
    )  # fmt: skip
    connection.execute(
        "UPDATE compute_host AS h SET memory_used = r.memory, vcpus_used = r.vcpus, disk_used = r.disk"
        " FROM (SELECT host_id, sum(memory) AS memory, sum(vcpus) AS vcpus, sum(disk) AS disk"
        " FROM compute_reservation GROUP BY host_id) AS r WHERE r.host_id = h.id"
    )


def _parts(connection: psycopg.Connection) -> None:
    """Insert two disks and a configuration profile for each instance that is offline, so that it can be booted."""
    table = Instance._meta.db_table
    source = f"{table} AS i WHERE i.status = 'offline'"
    _insert(
        connection, Disk, source,
        id="2 * i.id", instance_id="i.id", label="'Debian 11 Disk'", size="25088", status="'ready'",
    )  # fmt: skip
    _insert(
        connection, Disk, source,
        id="2 * i.id + 1", instance_id="i.id", label="'512MB Swap Image'", size="512", filesystem="'swap'",
        status="'ready'",
    )  # fmt: skip
    _insert(
        connection, Config, source,
        id="i.id", instance_id="i.id", label="'My Debian 11 Disk Profile'", kernel_id="'compute/grub2'",
    )  # fmt: skip
    for slot, disk in (("sda", "2 * i.id"), ("sdb", "2 * i.id + 1")):
        _insert(connection, ConfigDevice, source, config_id="i.id", slot=f"'{slot}'", disk_id=disk)


def _address(number: str) -> str:
    """Return the SQL of the address of instance `number`, in the benchmark range. Odd and even numbers have a
    /16 each."""
    return f"(inet '198.18.0.10' + ({number} % 2) * 65536 + ({number} / 2) % 65000)"


def _addresses(connection: psycopg.Connection, sizes: Sizes) -> None:
    """Insert pools of a /16 for each region: one address for each instance, the others free."""
    assert sizes.instances <= 100_000, "the benchmark range has no room for more"
    regions = f"unnest(ARRAY{list(REGIONS)}) WITH ORDINALITY AS r (region, n)"
    _insert(
        connection, AddressPool, regions,
        id="n", region_id="region", kind="'public'", network="'198.' || 17 + n || '.0.0/16'",
        gateway="('198.' || 17 + n || '.0.1')::inet",
    )  # fmt: skip
    _insert(
        connection, AddressPool, regions,
        id="2 + n", region_id="region", kind="'slaac'", network="'2001:db8:' || n || '::/64'",
        gateway="('2001:db8:' || n || '::1')::inet",
    )  # fmt: skip
    source = f"generate_series(0, 129999) AS n JOIN {AddressPool._meta.db_table} AS pool ON pool.id = n % 2 + 1"
    _insert(
        connection, Address, source,
        pool_id="pool.id", region_id="pool.region_id", address=_address("n"), prefix="16",
        gateway="pool.gateway", public="true",
        instance_id=f"CASE WHEN n BETWEEN 1 AND {sizes.instances} THEN n END",
    )  # fmt: skip


def _set_sequences(connection: psycopg.Connection) -> None:
    """Set the sequence of each table to continue after the ids that were given by hand."""
    for model in (Account, User, PersonalToken, Host, Instance, Disk, Config, AddressPool):
        table = model._meta.db_table
        connection.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table} HAVING max(id) > 0"
        )
