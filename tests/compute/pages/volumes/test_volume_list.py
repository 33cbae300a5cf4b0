"""The list of volumes: rows, filters, verbs, and how it updates itself."""

import re

import pytest
from django.db.models.functions import Now

from accounts.models import Event
from compute.models import Job, Volume
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import begin_job
from tests.compute.pages.parts import text as text_of
from tests.compute.pages.visiting import HTMX
from tests.factories import (
    EventFactory,
    GlobalGrantsFactory,
    GrantFactory,
    InstanceFactory,
    RegionFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db

LIST = "/home/volumes"


def labels(answer) -> list[str]:
    return re.findall(r'<th scope="row"><a href="[^"]+">([^<]*)', text_of(answer))


def polled(answer) -> str:
    """Return the address that the page polls."""
    return LIST + re.findall(r'id="part"[^>]* hx-get="([^"]+)"', text_of(answer))[0]


def verbs(answer, label: str) -> list[str]:
    """Return the verbs in the menu of a volume that are available."""
    menu = re.search(rf'aria-label="Actions of {label}".*?</details>', text_of(answer), re.DOTALL)
    return re.findall(r'<a class="dropdown-item(?: danger)?" href="[^"]+">([^<]+)', menu[0]) if menu else []


def work_on(volume: Volume, kind: str = "volume_resize", percent: int = 40) -> Job:
    """Make the volume busy."""
    event = EventFactory(
        account=volume.account, action=kind, entity_type="volume", entity_id=volume.pk,
        status=Event.Status.STARTED, percent_complete=percent,
    )  # fmt: skip
    return Job.objects.create(volume=volume, event=event, kind=kind, step="x", deadline_at=event.created)


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def test_a_row_shows_all_facts(browser, account):
    instance = InstanceFactory(account=account, label="web-1")
    volume = VolumeFactory(account=account, label="data", size=40, instance=instance, tags=["blue & green"])
    page = text_of(browser.get(LIST))
    for shown in ("40 GB", "us-test", "active", 'href="?tags=blue+%26+green"'):
        assert shown in page
    assert f'<a href="/home/instances/{instance.pk}">web-1</a>' in page
    assert f'<a href="/home/volumes/{volume.pk}">data</a>' in page


def test_an_account_without_volumes_is_led_to_create_one(browser):
    page = text_of(browser.get(LIST))
    assert "A volume is storage that is independent of instances." in page
    assert 'href="/home/volumes/new"' in page


def test_users_see_the_volumes_that_they_may_see(restricted, stranger, account):
    seen, _ = (VolumeFactory(account=account, label=label) for label in ("seen", "hidden"))
    GrantFactory(user=restricted, entity_type="volume", entity_id=seen.pk)
    page = signed_in(restricted).get(LIST)
    assert labels(page) == ["seen"]
    assert verbs(page, "seen") == []
    assert "Create volume" not in text_of(page)
    assert labels(signed_in(stranger).get(LIST)) == []


def test_a_restricted_user_sees_no_label_of_an_instance_without_a_grant(account):
    user = GlobalGrantsFactory(user__account=account, add_volumes=True).user
    instance = InstanceFactory(account=account, label="web-1")
    volume = VolumeFactory(account=account, label="data", instance=instance)
    GrantFactory(user=user, entity_type="volume", entity_id=volume.pk, permissions="read_write")
    page = signed_in(user).get(LIST)
    for shown in (page, signed_in(user).get(f"{LIST}/{volume.pk}")):
        assert "web-1" not in text_of(shown)
        assert "an instance that you may not see" in text_of(shown)
        assert f"/home/instances/{instance.pk}" not in text_of(shown)
    attach = f"{LIST}/{volume.pk}/attach"
    assert "The volume is attached to an instance, which you may not change." in text_of(
        signed_in(user).get(attach)
    )
    assert verbs(page, "data") == ["Resize", "Clone", "Edit"]
    GrantFactory(user=user, entity_type="compute", entity_id=instance.pk, permissions="read_write")
    assert f'<a href="/home/instances/{instance.pk}">web-1</a>' in text_of(signed_in(user).get(LIST))
    assert verbs(signed_in(user).get(LIST), "data") == ["Detach", "Resize", "Clone", "Edit", "Delete"]


class TestVerbs:
    def test_a_free_volume_has_all(self, browser, account):
        VolumeFactory(account=account, label="data")
        assert verbs(browser.get(LIST), "data") == ["Attach", "Resize", "Clone", "Edit", "Delete"]

    def test_a_running_instance_keeps_its_volumes(self, browser, account):
        VolumeFactory(account=account, label="data", instance=InstanceFactory(account=account, status="running"))
        page = browser.get(LIST)
        assert verbs(page, "data") == ["Detach", "Resize", "Clone", "Edit"]
        assert "This volume must be detached before it can be deleted." in text_of(page)

    def test_a_volume_that_grows_has_the_reasons(self, browser, account):
        VolumeFactory(account=account, label="data", status="resizing")
        page = browser.get(LIST)
        assert verbs(page, "data") == ["Attach", "Edit", "Delete"]
        assert "Cannot resize a volume that is resizing." in text_of(page)

    def test_a_busy_instance_is_named_as_the_reason(self, browser, account):
        volume = VolumeFactory(account=account, label="data", instance=InstanceFactory(account=account))
        begin_job(volume.instance)
        page = browser.get(LIST)
        assert verbs(page, "data") == ["Resize", "Clone", "Edit"]
        assert "Another job runs on the instance. Try again later." in text_of(page)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("label=DAT", ["data"]),
        ("status=creating", ["spare"]),
        ("region=eu-test", ["spare"]),
        ("attached=yes", ["data"]),
        ("attached=no", ["spare"]),
        ("attached=maybe", []),
        ("tags=blue", ["data"]),
        ("order=-label", ["spare", "data"]),
        ("order=size", ["spare", "data"]),
        ("order=instance", ["data", "spare"]),
        ("label=%00", []),
    ],
)
def test_filters_and_order(browser, account, query, found):
    VolumeFactory(account=account, label="data", tags=["blue"], size=40, instance=InstanceFactory(account=account))
    VolumeFactory(account=account, label="spare", status="creating", region=RegionFactory(id="eu-test"))
    VolumeFactory(label="theirs")
    assert labels(browser.get(f"{LIST}?{query}")) == found


class TestUpdates:
    def test_the_pages_poll_quickly_while_a_job_of_the_instance_runs(self, browser, account):
        volume = VolumeFactory(account=account, label="data", instance=InstanceFactory(account=account))
        for page in (LIST, f"{LIST}/{volume.pk}"):
            assert "every 20s" in text_of(browser.get(page))
        begin_job(volume.instance)
        for page in (LIST, f"{LIST}/{volume.pk}"):
            part = text_of(browser.get(page))
            assert "every 2s" in part
            assert "data-settled" not in part
        Job.objects.update(state="done", finished_at=Now())
        for page in (LIST, f"{LIST}/{volume.pk}"):
            assert "every 20s" in text_of(browser.get(page))

    def test_the_rows_come_when_something_has_changed(self, browser, account):
        volume = VolumeFactory(account=account, label="data")
        page = browser.get(f"{LIST}?label=a&page=1")
        assert "every 20s" in text_of(page)
        address = polled(page)
        assert browser.get(address, headers=HTMX).status_code == 204
        work_on(volume)
        part = browser.get(address, headers=HTMX)
        assert 'value="40"' in text_of(part)
        assert "every 2s" in text_of(part)
        assert "<html" not in text_of(part)
        assert 'id="foot" hx-swap-oob="true"' in text_of(part)
        assert 'href="?label=a&order=-label"' in text_of(part), "links of the part are those of the page"
        assert browser.get(polled(part), headers=HTMX).status_code == 204

    def test_new_rows_come_and_without_any_row_the_page_is_loaded_again(self, browser, account):
        VolumeFactory(account=account, label="data")
        address = polled(browser.get(LIST))
        VolumeFactory(account=account, label="logs")
        assert labels(browser.get(address, headers=HTMX)) == ["data", "logs"]
        Volume.objects.all().delete()
        assert browser.get(address, headers=HTMX)["HX-Refresh"] == "true"
