"""Findings of `manage.py check --deploy --database default` about an installation's rows."""

import pytest
from django.core.checks import run_checks
from django.db import DatabaseError

from compute.models import AddressPool, Config, Heartbeat, Host, InstanceType, Kernel
from compute.services import readiness
from compute.services.heartbeats import Process, record
from regions.models import Region

pytestmark = pytest.mark.django_db


def finding_ids(**more) -> list[str]:
    found = run_checks(include_deployment_checks=True, databases=["default"], **more)
    return [each.id for each in found if each.id >= "skerry.W029"]


@pytest.fixture
def complete(world, settings, tmp_path):
    """A complete installation of two machines."""
    settings.PRODUCTION = True
    Host.objects.update(driver="qemu")
    for name in readiness.SHARED:
        setattr(settings, name, tmp_path / name)
    for kind in ("worker", "clock"):
        record(Process(kind, "1", hostname=f"of-{kind}"))
    return settings


def test_nothing_is_said_of_a_complete_one(complete):
    assert finding_ids() == []


def test_an_empty_one_lacks_everything(db):
    assert finding_ids() == ["skerry.W030", "skerry.W031", "skerry.W033", "skerry.W036", "skerry.W040"]


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        (Heartbeat.objects.filter(kind="worker"), "W030"), (Heartbeat.objects.filter(kind="clock"), "W031"),
        (Host.objects.all(), "W034"), (AddressPool.objects.filter(kind="public"), "W035"),
        (InstanceType.objects.all(), "W036"),
    ],
)  # fmt: skip
def test_each_lack_is_a_finding(complete, rows, number):
    rows.delete()
    assert finding_ids() == [f"skerry.{number}"]


def test_a_kernel_that_the_platform_names_is_missed(complete):
    Config.objects.all().delete()
    Kernel.objects.get(pk="compute/grub2").delete()
    assert finding_ids() == ["skerry.W040"]


def test_a_region_that_is_retired_is_no_place(complete):
    Region.objects.update(retired=True)
    assert finding_ids() == ["skerry.W033"]


def test_files_of_several_machines_are_not_kept_on_each(complete):
    complete.UPLOADS_DIR = complete.STATE_DIR / "uploads"
    assert finding_ids() == ["skerry.W032"]
    [found] = [sentence for _, sentence in readiness.findings()]
    assert found.startswith("UPLOADS_DIR in STATE_DIR, but processes run on 2 machines")
    Heartbeat.objects.update(hostname="one")
    assert finding_ids() == []


def test_simulated_hosts_are_no_production(complete):
    Host.objects.update(driver="simulated")
    assert finding_ids() == ["skerry.W037"]
    complete.PRODUCTION = False
    assert finding_ids() == []


def test_a_database_that_cannot_be_asked_is_a_finding_and_no_traceback(complete, monkeypatch):
    def fail() -> None:
        raise DatabaseError("relation does not exist")

    monkeypatch.setattr(readiness, "findings", fail)
    assert finding_ids() == ["skerry.W029"]


def test_commands_that_name_no_database_do_not_ask_it(complete, django_assert_num_queries):
    with django_assert_num_queries(0):
        run_checks(include_deployment_checks=True)


def test_the_number_of_queries_is_fixed(complete, django_assert_max_num_queries):
    with django_assert_max_num_queries(7):
        list(readiness.findings())
