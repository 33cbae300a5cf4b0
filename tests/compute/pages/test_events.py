"""The page of the account's events: filters, links to pages of entities, and updates."""

import pytest

from accounts.actors import Actor
from accounts.models import Event
from accounts.pages.entity_links import addresses_of
from compute.models import Volume
from tests.accounts.signing_in import words
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import HTMX, restricted_at, text_of
from tests.factories import (
    DomainFactory,
    EventFactory,
    GlobalGrantsFactory,
    GrantFactory,
    ImageFactory,
    InstanceFactory,
    ServiceFactory,
    UserFactory,
    VolumeFactory,
)

PAGE = "/home/events"
pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account):
    return InstanceFactory(account=account, label="web-1")


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def event_of(instance, action: str = "compute_boot", **fields) -> Event:
    about = {"entity_type": "compute", "entity_id": instance.pk, "entity_label": instance.label}
    return EventFactory(account=instance.account, action=action, **{**about, "username": "owner", **fields})


def shown(answer) -> list[str]:
    """Return the actions of the listed events, in order."""
    return [row.event.action for row in answer.context["rows"]]


def test_the_newest_is_first_and_links_to_its_entity(browser, account, instance):
    event_of(instance)
    gone = event_of(instance, "compute_delete", entity_id=instance.pk + 1, entity_label="old-1")
    user = UserFactory(account=account)
    EventFactory(account=account, action="user_create", entity_type="user", entity_id=user.pk, entity_label="robin")
    EventFactory(account=account, action="account_update", entity_type="account", entity_id=account.pk)
    answer = browser.get(PAGE)
    assert shown(answer) == ["account_update", "user_create", "compute_delete", "compute_boot"]
    links = [row.address for row in answer.context["rows"]]
    assert links == ["/home/account", f"/home/users/{user.pk}", None, f"/home/instances/{instance.pk}"]
    assert gone.entity_label in words(answer)


@pytest.mark.parametrize("page", [PAGE, "/home"])
def test_events_without_an_action_of_their_own_say_what_happened(browser, account, page):
    def counts() -> tuple[int, int]:
        shown = words(browser.get(page))
        return shown.count("shop is up."), shown.count("Settings of the account were changed.")

    EventFactory(account=account, action="account_update", entity_type="account", entity_id=account.pk)
    _, in_filter = counts()
    service = {"entity_type": "managed_service", "entity_id": 1, "entity_label": "shop"}
    EventFactory(account=account, action="account_settings_update", message="shop is up.", **service)
    assert counts() == (1, in_filter)
    EventFactory(account=account, action="account_settings_update", entity_type="account", entity_id=account.pk)
    assert counts() == (1, in_filter + 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"action": "compute_resize"}, ["compute_resize"]),
        ({"status": "failed"}, ["compute_resize"]),
        ({"kind": "volume"}, ["volume_create"]),
        ({"label": "WEB"}, ["compute_resize", "compute_boot"]),
        ({"user": "robin"}, ["volume_create"]),
        ({"since": "2020-01-01", "until": "2999-01-01"}, ["volume_create", "compute_resize", "compute_boot"]),
    ],
)
def test_filters_choose_events(browser, instance, given, expected):
    event_of(instance)
    event_of(instance, "compute_resize", status="failed", message="The host is full.")
    event_of(instance, "volume_create", entity_type="volume", entity_label="data", username="robin")
    assert shown(browser.get(PAGE, given)) == expected


@pytest.mark.parametrize("given", [{"action": "x"}, {"until": "2020-01-01"}, {"since": "soon"}, {"user": "\0"}])
def test_a_filter_that_nothing_matches_says_so(browser, instance, given):
    event_of(instance)
    assert "No events match" in words(browser.get(PAGE, given))


def test_a_restricted_user_sees_the_events_of_its_objects(account, instance):
    event_of(instance)
    event_of(InstanceFactory(account=account, label="hidden-1"))
    EventFactory(account=account, action="user_create", entity_type="user", entity_id=1, entity_label="robin")
    page = text_of(restricted_at(instance).get(PAGE))
    assert "web-1" in page
    assert "hidden-1" not in page
    assert "robin" not in page


def second(volume: Volume) -> dict[str, str]:
    """The columns of an event with the volume as its second entity."""
    address = f"/v4/volumes/{volume.pk}"
    return {
        "secondary_type": "volume", "secondary_id": str(volume.pk), "secondary_label": volume.label,
        "secondary_url": address,
    }  # fmt: skip


def test_second_objects_have_links_too(browser, account, instance):
    image = ImageFactory(id="private/7", number=7, account=account, is_public=False, label="golden")
    event_of(
        instance, "disk_imagize", secondary_type="image", secondary_id=image.pk, secondary_label="golden",
        secondary_url=f"/v4/images/{image.pk}",
    )  # fmt: skip
    event_of(
        instance, "compute_create", secondary_type="image", secondary_id="compute/debian11",
        secondary_label="Debian 11", secondary_url="/v4/images/compute/debian11",
    )  # fmt: skip
    record = {"secondary_id": "3", "secondary_label": "www", "secondary_url": "/v4/domains/2/records/3"}
    domain = DomainFactory(pk=3, account=account)
    about = {"entity_type": "domain", "entity_id": domain.pk, "entity_label": domain.label}
    EventFactory(account=account, action="dns_record_create", **about, secondary_type="domain", **record)
    answer = browser.get(PAGE)
    links = [row.secondary_address for row in answer.context["rows"]]
    assert links == [None, None, f"/home/images/{image.pk}"]
    for label in ("golden", "Debian 11", "www"):
        assert label in words(answer)


def test_events_of_managed_services_link_to_them(browser, account, restricted):
    service = ServiceFactory(account=account, label="shop")
    account.managed = True
    account.save()
    EventFactory(
        account=account, action="managed_service_create", entity_type="managed_service", entity_id=service.pk,
        entity_label="shop", entity_url=f"/v4/managed/services/{service.pk}",
    )  # fmt: skip
    [row] = browser.get(PAGE).context["rows"]
    assert row.address == f"/home/monitoring/{service.pk}"
    assert words(browser.get(row.address))
    assert addresses_of(Actor(account.pk, restricted.pk, restricted=True), [("managed_service", service.pk)]) == {}


@pytest.mark.parametrize("page", ["/home/events", "/home", "/home/instances/{pk}", "/home/instances/{pk}/activity"])
def test_a_restricted_user_reads_no_label_of_a_second_object_without_a_grant(account, instance, page):
    hidden, seen = (VolumeFactory(account=account, label=label) for label in ("payroll", "backups"))
    for volume in (hidden, seen):
        event_of(instance, "compute_update", status="failed", **second(volume))
    user = GlobalGrantsFactory(user__account=account).user
    GrantFactory(user=user, entity_id=instance.pk)
    GrantFactory(user=user, entity_type="volume", entity_id=seen.pk)
    text = text_of(signed_in(user).get(page.format(pk=instance.pk)))
    assert "backups" in text
    assert "payroll" not in text
    owner = UserFactory(account=account)
    assert "payroll" in text_of(signed_in(owner).get(page.format(pk=instance.pk)))


def test_another_account_sees_nothing(stranger, instance):
    event_of(instance)
    assert "Nothing has happened yet" in words(signed_in(stranger).get(PAGE))


def test_the_table_updates_itself(browser, instance):
    event = event_of(instance, status="started", percent_complete=40)
    address = f"{PAGE}?label=web&order=time"
    page = browser.get(address)
    assert "40 %" in words(page)
    again = f"{address}&seen={page.context['seen']}"
    assert browser.get(again, headers=HTMX).status_code == 204
    Event.objects.filter(pk=event.pk).update(percent_complete=60)
    part = browser.get(again, headers=HTMX)
    assert "60 %" in words(part)
    assert part.content.count(b"seen=") == 1
    assert b"<html" not in part.content
