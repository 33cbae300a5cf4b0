"""Volumes for staff: their owners, their events, detaching and deleting them."""

import pytest
from django.contrib.admin.models import LogEntry

from accounts.models import Event
from compute.models import Job, Volume
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import volume_of
from tests.config.admin.pages import list_address, messages_of, page_address
from tests.factories import VolumeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def attached(world, driver, running) -> Volume:
    return volume_of(world, driver, instance=running, tags=("archive",))


def use(admin, volume: Volume, verb: str):
    address = page_address(volume).replace("/change/", f"/do/{verb}/")
    return admin.post(address, {"confirmed": "yes"}, follow=True)


def test_the_page_shows_attachments_and_events(admin, attached, running):
    text = admin.get(page_address(attached)).content.decode()
    for part in ("data", "20 GB", "NVMe", f"skerry-volume-{attached.pk}", "web-1", "archive", "sdc"):
        assert part in text
    for kind in ("volume_create", "volume_attach"):
        assert kind in text
        assert f"job {attached.jobs.get(kind=kind).pk}" in text


def test_the_pages_of_its_instance_and_account_link_to_it(admin, attached, running, world):
    for obj in (running, world.account):
        assert page_address(attached) in admin.get(page_address(obj)).content.decode()


def test_the_page_of_a_job_of_a_volume_alone_links_to_it(admin, world, driver):
    volume = volume_of(world, driver)
    assert page_address(volume) in admin.get(page_address(volume.jobs.get())).content.decode()


@pytest.mark.parametrize("term", ["dat", "{volume.pk}"])
def test_it_is_found_by_its_id_and_how_its_label_begins(admin, attached, world, term):
    other = VolumeFactory(label="other")
    text = admin.get(list_address(Volume), {"q": term.format(volume=attached)}).content.decode()
    assert page_address(attached) in text
    assert page_address(other) not in text


def test_staff_detach_and_delete_it_as_customers_do(admin, attached, driver):
    refused = use(admin, attached, "delete")
    assert "must be detached before it can be deleted" in messages_of(refused)
    answer = use(admin, attached, "detach")
    assert "was started" in messages_of(answer)
    assert work(Job.objects.get(finished_at=None), driver).state == "done"
    assert Event.objects.get(action="volume_detach").username == "staff"
    assert "deleted. Its data will be deleted" in messages_of(use(admin, attached, "delete"))
    assert work(Job.objects.get(finished_at=None), driver).state == "done"
    assert not driver.volumes
    assert LogEntry.objects.count() == 3
