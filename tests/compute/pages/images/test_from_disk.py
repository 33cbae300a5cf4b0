"""Making an image of a disk: the choice of instance and disk, and the reasons why one cannot be chosen."""

import pytest

from accounts.models import Account
from compute.models import Image, Instance
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, events, instance_with_parts, text
from tests.factories import GlobalGrantsFactory, GrantFactory

pytestmark = pytest.mark.django_db

PAGE = "/home/images/new"


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account, label="web-1")


@pytest.fixture
def other(account) -> Instance:
    return instance_with_parts(account, label="web-2")


def test_an_instance_is_chosen_and_then_a_disk(browser, instance, other):
    shown = text(browser.get(PAGE))
    assert "web-1" in shown
    assert 'name="disk_id"' not in shown
    disk = other.disks.get()
    assert f'value="{disk.pk}" selected' in text(browser.get(f"{PAGE}?instance={other.pk}"))
    given = {"disk_id": disk.pk, "label": "golden", "description": "Of today"}
    answer = browser.post(f"{PAGE}?instance={other.pk}", given, follow=True)
    assert "The image golden is being created." in text(answer)
    made = Image.objects.get(label="golden")
    assert answer.redirect_chain == [(f"/home/images/{made.pk}", 302)]
    assert (made.description, made.status) == ("Of today", "creating")
    assert events(other) == ["disk_imagize"]


def test_the_only_instance_is_chosen(browser, instance):
    assert 'name="disk_id"' in text(browser.get(PAGE))


def test_without_instances_the_page_says_so(browser):
    assert "There is no instance to choose." in text(browser.get(PAGE))


@pytest.mark.parametrize("chosen", ["x", "9" * 30, "0", "%00"])
def test_an_odd_instance_is_no_choice(browser, instance, other, chosen):
    assert 'name="disk_id"' not in text(browser.get(f"{PAGE}?instance={chosen}"))


def test_reasons_stand_at_their_fields(browser, instance):
    answer = browser.post(PAGE, {"disk_id": "x", "label": "x" * 51})
    assert problems(answer, "disk_id") == "Disk is not valid"
    assert problems(answer, "label") == "Length must be at most 50 characters"
    assert not Image.objects.exists()


def test_a_disk_for_which_the_account_has_no_storage_is_disabled(browser, account, instance):
    Account.objects.filter(pk=account.pk).update(quotas={"image_storage": 10})
    reason = "The account's quota of storage of images is 10 MB"
    assert f": {reason}" in text(browser.get(PAGE))
    answer = text(browser.post(PAGE, {"disk_id": instance.disks.get().pk}))
    assert f"{reason}: 0 MB used" in answer
    assert not Image.objects.exists()
    own_page = address_of("instance-disk-image", instance, instance.disks.get().pk)
    assert reason in text(browser.get(own_page))


def test_others_instances_are_not_offered(account, stranger, instance):
    assert f"{PAGE}" not in text(signed_in(stranger).get("/home"))
    assert "web-1" not in text(signed_in(stranger).get(f"{PAGE}?instance={instance.pk}"))
    answer = signed_in(stranger).post(PAGE, {"disk_id": instance.disks.get().pk})
    assert answer.status_code == 200
    assert not Image.objects.exists()
    user = GlobalGrantsFactory(user__account=account).user
    GrantFactory(user=user, entity_id=instance.pk)
    assert signed_in(user).get(PAGE).status_code == 403
