"""The benchmark is fair: both servers answer and write the same. No timing is checked."""

import io
import json
from typing import Any

import pytest
from django.db import connection
from django.forms.models import model_to_dict
from django.test import Client

from accounts.models import Event
from compute.models import Address, Config, ConfigDevice, Disk, Instance, Job, PacketFilter, Reservation
from tests.bench import bare, check, data
from tests.bench.data import Sizes
from tests.bench.traffic import PATH, create_body, filter_of, filtered_lists, owner

pytestmark = pytest.mark.django_db

SIZES = Sizes(accounts=3, instances=30)


@pytest.fixture
def seeded(monkeypatch):
    """The benchmark's rows, which both servers see inside this test's transaction."""
    with connection.cursor() as cursor:
        # opens the test's transaction, in which `fill` has a savepoint: otherwise it would commit
        cursor.execute("SELECT 1")
    psycopg_connection = connection.connection
    data.fill(psycopg_connection, SIZES)
    monkeypatch.setattr(bare.local, "cursor", psycopg_connection.cursor(binary=True), raising=False)


def ask_ours(path: str, account: int, body: bytes | None = None, x_filter: str = "") -> Any:
    headers = {"Authorization": f"Bearer {data.token(account)}"}
    if x_filter:
        headers["X-Filter"] = x_filter
    client = Client(headers=headers)
    if body is None:
        answer = client.get(f"/v4{path}")
    else:
        answer = client.post(f"/v4{path}", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def ask_bare(path: str, account: int, body: bytes | None = None, x_filter: str = "") -> Any:
    statuses = []
    environ = {
        "REQUEST_METHOD": "GET" if body is None else "POST",
        "PATH_INFO": f"/v4{path}",
        "HTTP_AUTHORIZATION": f"Bearer {data.token(account)}",
        "wsgi.input": io.BytesIO(body or b""),
    }
    if x_filter:
        environ["HTTP_X_FILTER"] = x_filter
    content = bare.application(environ, lambda status, headers: statuses.append(status))
    assert statuses == ["200 OK"], content
    return json.loads(b"".join(content))


@pytest.mark.usefixtures("seeded")
def test_the_benchmark_seeds_the_promised_rows():
    assert Instance.objects.count() == SIZES.instances
    assert Address.objects.filter(instance__isnull=False).count() == SIZES.instances
    for instance in Instance.objects.prefetch_related("addresses"):
        assert [str(row.address) for row in instance.addresses.all()] == instance.ipv4
        assert instance.account_id == owner(instance.pk, SIZES)


@pytest.mark.usefixtures("seeded")
def test_both_servers_answer_alike():
    check.same_answers(ask_ours, ask_bare, SIZES)


def test_the_load_of_filtered_lists_sends_the_filters_that_are_checked():
    loads = filtered_lists(SIZES)
    for account in range(1, SIZES.accounts + 1):
        request = next(loads).decode()
        assert f"\r\nX-Filter: {filter_of(account)}\r\n" in request
        assert data.token(account) in request


@pytest.mark.usefixtures("seeded")
def test_both_servers_write_alike():
    ours, bares = (written_by(ask(PATH, 1, create_body(1))["id"]) for ask in (ask_ours, ask_bare))
    check.compare(ours, bares, "the rows of a create")


def written_by(pk: int) -> dict[str, Any]:
    """Return the rows of the new instance, without ids, random values and times."""
    instance = Instance.objects.get(pk=pk)
    disks = Disk.objects.filter(instance=instance).order_by("pk")
    job = Job.objects.select_related("event").get(instance=instance)
    assert job.data.pop("config") == instance.configs.get().pk
    assert isinstance(job.event, Event)
    assert job.event.entity_id == pk
    assert instance.ipv6 is not None
    return {
        "instance": plain(instance, "label", "ipv4", "ipv6", "host"),
        "reservations": [plain(each, "host") for each in Reservation.objects.filter(instance=instance)],
        "filters": [plain(each, "changed", "run_at") for each in PacketFilter.objects.filter(instance=instance)],
        "its host": [instance.host_id] == [each.host_id for each in instance.reservations.all()],
        "address": [instance.ipv4] == [[str(row.address)] for row in instance.addresses.all()],
        "ipv6": instance.ipv6.replace(f"{pk >> 16 & 255:02x}:{pk & 65535:x}/", "xx:x/"),
        "disks": [plain(disk) for disk in disks],
        "configs": [plain(config) for config in Config.objects.filter(instance=instance)],
        "devices": [
            (device.slot, list(disks).index(device.disk))
            for device in ConfigDevice.objects.filter(config__instance=instance)
        ],
        "job": {
            **plain(job, "event", "encrypted", "run_at", "notified_at", "deadline_at"),
            "encrypted": bool(job.encrypted),
        },
        "event": plain(job.event, "entity_id", "entity_label", "entity_url"),
    }


def plain(row: Any, *drawn: str) -> dict[str, Any]:
    return model_to_dict(row, exclude=["id", "instance", "created", *drawn])
