"""The lower limit: the cost of the same work on the same application server without a framework.

A handwritten WSGI function lists, retrieves and creates instances. It uses one SQL statement to authenticate,
one for the work, a dict for each row, and orjson. It keeps one connection for each thread, with prepared
statements.

The function writes the rows that our create writes, under the same durability, and its answers have the same
fields. It has no rate limits, grants, error bodies or request log, and validates no input. It has no language
of filters. It has one SQL statement for the only kind of filter that the benchmark sends, and reads the values
of that filter.

Run by ``granian --interface wsgi tests.bench.bare:application`` with DATABASE_URL set.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus

import orjson
import psycopg
from cryptography.fernet import Fernet
from psycopg.rows import tuple_row

PAGE_SIZE = 100
WORD = os.environ.get("API_WORD") or "compute"
"""The word for an instance in paths and ids of images. Answers have the neutral word, `compute`."""

AUTHENTICATE = """
    SELECT u.account_id, u.username, t.scopes
    FROM accounts_personaltoken AS t
    JOIN accounts_user AS u ON u.id = t.user_id
    JOIN accounts_account AS a ON a.id = u.account_id
    WHERE t.digest = %s AND (t.expiry IS NULL OR t.expiry > now()) AND u.is_active AND a.is_active
"""

COLUMNS = """
    i.id, i.label, i.region_id, i.type_id, i.image_id, i.status, i."group", i.tags, i.ipv4, i.ipv6,
    i.alert_cpu, i.alert_io, i.alert_network_in, i.alert_network_out, i.alert_transfer_quota,
    i.backups_enabled, i.backups_available, i.backups_day, i.backups_window,
    i.backups_last_successful AT TIME ZONE 'UTC', i.watchdog_enabled,
    i.created AT TIME ZONE 'UTC', i.updated AT TIME ZONE 'UTC',
    h.uuid, t.disk, t.memory, t.vcpus, t.gpus, t.transfer
"""
PARTS = "JOIN compute_host AS h ON h.id = i.host_id JOIN compute_instancetype AS t ON t.id = i.type_id"


def page_of(condition: str, order: str) -> str:
    """Return the SQL of page 1 of the instances that meet the condition. Each row begins with the total."""
    return f"""
        WITH total AS (SELECT count(*) AS results FROM compute_instance AS i WHERE {condition})
        SELECT total.results, {COLUMNS}
        FROM total, compute_instance AS i {PARTS}
        WHERE {condition} ORDER BY {order} LIMIT {PAGE_SIZE}
    """


LIST = page_of("i.account_id = %(account)s", "i.id")

FILTERED_LIST = page_of(
    "i.account_id = %(account)s AND i.region_id = %(region)s"
    " AND (strpos(i.label, %(part)s) > 0 OR i.tags && %(tags)s::varchar[])",
    "i.label DESC, i.id",
)

RETRIEVE = f"""
    SELECT {COLUMNS} FROM compute_instance AS i {PARTS} WHERE i.account_id = %(account)s AND i.id = %(id)s
"""

FREEST = """
            SELECT c.id FROM compute_host AS c
             WHERE c.region_id = %(region)s AND c.enabled AND c.maintenance IS NULL
               AND c.memory_used + t.memory <= c.memory AND c.vcpus_used + t.vcpus <= c.vcpus
               AND c.disk_used + t.disk <= c.disk
             ORDER BY LEAST(
                 (c.memory - c.memory_used)::float8 / c.memory, (c.vcpus - c.vcpus_used)::float8 / c.vcpus,
                 (c.disk - c.disk_used)::float8 / c.disk) DESC, c.id
             LIMIT 1 FOR NO KEY UPDATE"""
"""The host to place an instance on. As in our code, a host that is locked is waited for only if there is no
other."""

# The rows that `compute.services.instances.instances.create` writes for an image deploy. One statement, so one
# transaction.
CREATE = f"""
    WITH ids AS (
        SELECT nextval(pg_get_serial_sequence('compute_instance', 'id')) AS instance,
               nextval(pg_get_serial_sequence('compute_disk', 'id')) AS disk,
               nextval(pg_get_serial_sequence('compute_disk', 'id')) AS swap,
               nextval(pg_get_serial_sequence('compute_config', 'id')) AS config,
               nextval(pg_get_serial_sequence('accounts_event', 'id')) AS event
    ), chosen AS MATERIALIZED (
        SELECT COALESCE(({FREEST} SKIP LOCKED), ({FREEST})) AS id
          FROM compute_instancetype AS t WHERE t.id = %(type)s
    ), host AS (
        UPDATE compute_host AS h
           SET memory_used = memory_used + t.memory, vcpus_used = vcpus_used + t.vcpus,
               disk_used = disk_used + t.disk
          FROM compute_instancetype AS t
         WHERE t.id = %(type)s AND h.id = (SELECT id FROM chosen)
        RETURNING h.id
    ), slaac AS (
        SELECT network::inet FROM compute_addresspool WHERE region_id = %(region)s AND kind = 'slaac' LIMIT 1
    ), taken AS (
        UPDATE compute_address SET instance_id = (SELECT instance FROM ids)
        WHERE id = (
            SELECT id FROM compute_address
            WHERE region_id = %(region)s AND public AND instance_id IS NULL AND nodebalancer_id IS NULL
            ORDER BY released ASC NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING host(address) AS address
    ), i AS (
        INSERT INTO compute_instance (
            id, account_id, label, region_id, type_id, image_id, host_id, status, "group", tags, ipv4, ipv6,
            alert_cpu, alert_io, alert_network_in, alert_network_out, alert_transfer_quota,
            backups_enabled, backups_available, watchdog_enabled, created, updated)
        SELECT ids.instance, %(account)s, 'compute' || ids.instance, %(region)s, t.id, image.id, host.id,
            'provisioning', '', '{{}}', ARRAY[taken.address],
            host(set_masklen(slaac.network, 128) | (
                '::f03c:' || to_hex((ids.instance >> 24 & 255) << 8 | 255) || ':'
                || to_hex(65024 | (ids.instance >> 16 & 255)) || ':' || to_hex(ids.instance & 65535)
            )::inet) || '/128',
            90 * t.vcpus, 10000, 10, 10, 80, false, false, true, now(), now()
        FROM ids, host, slaac, taken, compute_instancetype AS t, compute_image AS image
        WHERE t.id = %(type)s AND image.id = %(image)s
        RETURNING *
    ), reserved AS (
        INSERT INTO compute_reservation (host_id, instance_id, memory, vcpus, disk)
        SELECT i.host_id, i.id, t.memory, t.vcpus, t.disk FROM i JOIN compute_instancetype AS t ON t.id = i.type_id
    ), filter AS (
        INSERT INTO compute_packetfilter (instance_id, wanted, applied, mail_ports_closed)
        SELECT i.id, 1, 1, true FROM i
    ), disks AS (
        INSERT INTO compute_disk (id, instance_id, label, size, filesystem, status, image_id, created, updated)
        SELECT ids.disk, i.id, image.label || ' Disk', t.disk - 512, 'ext4', 'not ready', image.id, now(), now()
        FROM ids, i
        JOIN compute_instancetype AS t ON t.id = i.type_id
        JOIN compute_image AS image ON image.id = i.image_id
        UNION ALL
        SELECT ids.swap, i.id, '512MB Swap Image', 512, 'swap', 'not ready', NULL, now(), now() FROM ids, i
    ), config AS (
        INSERT INTO compute_config (
            id, instance_id, label, kernel_id, comments, memory_limit, run_level, virt_mode, root_device,
            helpers, interfaces, rescue, created, updated)
        SELECT ids.config, i.id, 'My ' || image.label || ' Disk Profile', 'compute/grub2', '', 0, 'default',
            'paravirt', '/dev/sda', %(helpers)s::jsonb, '[]'::jsonb, false, now(), now()
        FROM ids, i JOIN compute_image AS image ON image.id = i.image_id
    ), devices AS (
        INSERT INTO compute_configdevice (config_id, slot, disk_id)
        SELECT ids.config, 'sda', ids.disk FROM ids, i UNION ALL SELECT ids.config, 'sdb', ids.swap FROM ids, i
    ), event AS (
        INSERT INTO accounts_event (
            id, account_id, action, status, username, created, percent_complete, message, seen, read,
            entity_type, entity_id, entity_label, entity_url,
            secondary_type, secondary_id, secondary_label, secondary_url)
        SELECT ids.event, i.account_id, 'compute_create', 'scheduled', %(username)s, now(), 0, '', false, false,
            'compute', i.id, i.label, '/v4/compute/instances/' || i.id,
            'image', image.id, image.label, '/v4/images/' || image.id
        FROM ids, i JOIN compute_image AS image ON image.id = i.image_id
    ), job AS (
        INSERT INTO compute_job (
            instance_id, event_id, kind, state, step, data, encrypted, error, cancelled, attempt, fence,
            created_by, created, run_at, notified_at, deadline_at)
        SELECT i.id, ids.event, 'provision', 'active', 'define',
            jsonb_build_object('version', 1, 'boot', true, 'config', ids.config), %(encrypted)s, '', false, 0, 0,
            %(username)s, now(), now() - interval '30 seconds', now(), now() + interval '1 hour'
        FROM ids, i
    )
    SELECT {COLUMNS} FROM i {PARTS}
"""

HELPERS = orjson.dumps(
    dict.fromkeys(("updatedb_disabled", "distro", "modules_dep", "network", "devtmpfs_automount"), True)
).decode()
fernet = Fernet(Fernet.generate_key())


def instance(row: tuple) -> dict:
    """Return the contract's instance for one row of COLUMNS."""
    (
        pk, label, region, type_, image, status, group, tags, ipv4, ipv6,
        cpu, io, network_in, network_out, transfer_quota,
        enabled, available, day, window, last_successful, watchdog,
        created, updated, host, disk, memory, vcpus, gpus, transfer,
    ) = row  # fmt: skip
    return {
        "id": pk,
        "label": label,
        "group": group,
        "status": status,
        "created": created,
        "updated": updated,
        "type": type_,
        "ipv4": ipv4,
        "ipv6": ipv6,
        "image": image,
        "region": region,
        "specs": {"disk": disk, "memory": memory, "vcpus": vcpus, "gpus": gpus, "transfer": transfer},
        "alerts": {
            "cpu": cpu,
            "network_in": network_in,
            "network_out": network_out,
            "transfer_quota": transfer_quota,
            "io": io,
        },
        "backups": {
            "enabled": enabled,
            "available": available,
            "schedule": {"day": day, "window": window},
            "last_successful": last_successful,
        },
        "hypervisor": "kvm",
        "watchdog_enabled": watchdog,
        "tags": tags,
        "host_uuid": host,
    }


local = threading.local()


def execute(query: str, parameters: Sequence | dict) -> psycopg.Cursor:
    """Run `query` on this thread's connection, prepared at its first use."""
    cursor = getattr(local, "cursor", None)
    if cursor is None:
        connection = psycopg.connect(
            os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=0, row_factory=tuple_row
        )
        cursor = local.cursor = connection.cursor(binary=True)
    return cursor.execute(query, parameters)


def list_instances(account: int, x_filter: str | None) -> dict:
    """Page 1, under a filter if there is one."""
    if x_filter is None:
        rows = execute(LIST, {"account": account}).fetchall()
    else:
        rows = execute(FILTERED_LIST, {"account": account, **values_of(x_filter)}).fetchall()
    results = rows[0][0] if rows else 0
    return {
        "data": [instance(row[1:]) for row in rows],
        "page": 1,
        "pages": max(1, -(-results // PAGE_SIZE)),
        "results": results,
    }


def values_of(x_filter: str) -> dict:
    """Return the values of a filter made by `tests.bench.traffic.filter_of`, in the order of FILTERED_LIST."""
    wanted = orjson.loads(x_filter)
    by_label, by_tags = wanted["+or"]
    return {
        "region": wanted["region"],
        "part": by_label["label"]["+contains"],
        "tags": by_tags["tags"]["+or"],
    }


def retrieve_instance(account: int, pk: int) -> dict | None:
    row = execute(RETRIEVE, {"account": account, "id": pk}).fetchone()
    return instance(row) if row else None


def create_instance(account: int, username: str, body: dict) -> dict | None:
    """Deploy an image. Returns the instance.

    Writes its address, disks, profile, event and job. The job's secrets are encrypted.
    """
    secrets = {"root_pass": body["root_pass"], "authorized_keys": []}
    parameters = {
        "account": account,
        "username": username,
        "region": body["region"],
        "type": body["type"],
        "image": body["image"].replace(f"{WORD}/", "compute/", 1),
        "helpers": HELPERS,
        "encrypted": fernet.encrypt(orjson.dumps(secrets)),
    }
    row = execute(CREATE, parameters).fetchone()
    return instance(row) if row else None


OPTIONS = orjson.OPT_OMIT_MICROSECONDS


def application(environ: dict, start_response: Callable) -> list[bytes]:
    """Serve ``GET`` and ``POST /v4/compute/instances`` and ``GET /v4/compute/instances/<id>``. Else answer 401
    or 404."""
    status, body = HTTPStatus.OK, respond(environ)
    if body is None:
        status, body = HTTPStatus.NOT_FOUND, {"errors": [{"field": None, "reason": "Not found"}]}
    content = orjson.dumps(body, option=OPTIONS)
    start_response(
        f"{status.value} {status.phrase}",
        [("Content-Type", "application/json"), ("Content-Length", str(len(content)))],
    )
    return [content]


def respond(environ: dict) -> dict | None:
    """Return the body of the answer, or None if nothing is at the path."""
    digest = hashlib.sha256(environ["HTTP_AUTHORIZATION"].removeprefix("Bearer ").encode()).hexdigest()
    caller = execute(AUTHENTICATE, (digest,)).fetchone()
    if caller is None:
        return None
    account, username, _ = caller
    path = environ["PATH_INFO"].removeprefix(f"/v4/{WORD}/instances")
    if path:
        return retrieve_instance(account, int(path.removeprefix("/")))
    if environ["REQUEST_METHOD"] == "POST":
        return create_instance(account, username, orjson.loads(environ["wsgi.input"].read()))
    return list_instances(account, environ.get("HTTP_X_FILTER"))
