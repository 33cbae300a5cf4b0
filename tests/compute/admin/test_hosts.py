"""Hosts in the admin: their capacity and their maintenance."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now

from compute.models import Host, Job
from compute.services.hosts import maintenance
from compute.worker import engine
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db


def run_all(driver) -> None:
    maintenance.keep_up()
    for job in Job.objects.filter(finished_at=None):
        engine.run(job.pk, driver)


def test_maintenance_begins_after_a_question_and_is_logged(admin, running, driver):
    host = running.host
    asked = admin.post(page_address(host).replace("/change/", "/do/begin-maintenance/"))
    assert "stay off until the maintenance ends" in asked.content.decode()
    host.refresh_from_db()
    assert host.maintenance is None

    response = do(admin, host, "begin-maintenance")
    assert "instances that will be shut down: 1." in messages_of(response)
    assert "will be shut down: 1" in LogEntry.objects.get().change_message
    run_all(driver)
    running.refresh_from_db()
    assert running.status == "stopped"
    assert "in maintenance" in admin.get(list_address(Host)).content.decode()

    assert "booted again: 1." in messages_of(do(admin, host, "end-maintenance"))
    run_all(driver)
    running.refresh_from_db()
    assert running.status == "running"


def test_a_second_beginning_is_refused(admin, running):
    do(admin, running.host, "begin-maintenance")
    assert "in maintenance already" in messages_of(do(admin, running.host, "begin-maintenance"))


def test_an_onlooker_may_not(onlooker, running):
    assert do(onlooker, running.host, "begin-maintenance").status_code == 403
    running.host.refresh_from_db()
    assert running.host.maintenance is None


def test_the_page_tells_capacity_use_and_who_holds_it(admin, running):
    page = admin.get(page_address(running.host)).content.decode()
    assert 'name="memory"' in page
    assert 'name="memory_used"' not in page
    assert f"{running.type.memory // 1024} GB" in page
    assert running.label in page


def test_capacity_cannot_be_set_below_its_use(admin, running):
    host = running.host
    fields = {"label": host.label, "enabled": "on", "driver": "simulated", "memory": 1, "vcpus": host.vcpus}
    fields["disk"] = host.disk // 1024
    response = admin.post(page_address(host), fields)
    assert response.status_code == 200, "the form is shown again"
    assert "Must be at least 2 GB, which instances use." in response.content.decode()
    admin.post(page_address(host), {**fields, "memory": 2})
    host.refresh_from_db()
    assert (host.memory, host.memory_used) == (2048, 2048)


def test_the_driver_is_one_there_is_that_of_the_region_and_that_of_its_instances(admin, running):
    host, other = running.host, HostFactory(region=running.region)
    fields = {"enabled": "on", "memory": host.memory // 1024, "vcpus": host.vcpus, "disk": host.disk // 1024}
    for there, driver, expected in (
        (other, "qemu", "The hosts of a region have one driver"),
        (host, "qemu", "Must not change while instances are on the host: only the present driver knows them."),
        (other, "nothing", "Select a valid choice."),
    ):
        response = admin.post(page_address(there), {**fields, "label": there.label, "driver": driver})
        assert response.status_code == 200, "the form is shown again"
        assert expected in response.content.decode()
        there.refresh_from_db()
        assert there.driver == "simulated"


def test_an_address_between_hosts_is_unique_and_sent_to_all_hosts(admin, running):
    host, other = running.host, HostFactory(region=running.region, underlay="198.18.0.2")
    later = Now() + timedelta(hours=1)
    fields = {"label": host.label, "enabled": "on", "driver": "simulated", "memory": host.memory // 1024}
    fields |= {"vcpus": host.vcpus, "disk": host.disk // 1024}
    for address, expected in (
        ("198.18.0.2", "Another host has this address."),
        ("127.0.0.1", "Must be an address that other hosts can reach."),
        ("fd00::1", "Enter a valid IPv4 address."),
    ):
        response = admin.post(page_address(host), {**fields, "underlay": address})
        assert expected in response.content.decode()
    Host.objects.update(reconcile_at=later)
    admin.post(page_address(host), {**fields, "underlay": "198.18.0.1"})
    host.refresh_from_db()
    assert host.underlay == "198.18.0.1"
    assert set(Host.objects.filter(reconcile_at__lte=Now())) == {host, other}


def test_a_full_host_is_reported(admin, running):
    assert "Full hosts" not in admin.get("/admin/").content.decode()
    Host.objects.filter(pk=running.host_id).update(memory=running.type.memory)
    assert "Full hosts: 1" in admin.get("/admin/").content.decode()
    assert "memory 100%" in admin.get(list_address(Host)).content.decode()
