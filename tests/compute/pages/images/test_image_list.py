"""The lists of images: the account's own and the platform's, with their verbs for each user."""

import pytest
from django.test import Client

from accounts.models import User
from compute.models import Image
from compute.services.images.images import begin_upload
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.compute.pages.visiting import HTMX
from tests.factories import GlobalGrantsFactory, GrantFactory, ImageFactory
from tests.world import World

pytestmark = pytest.mark.django_db

LIST, PUBLIC = "/home/images", "/home/images/public"


def labels(browser: Client, address: str) -> list[str]:
    return [row.object.label for row in browser.get(address).context["rows"]]


def verbs(browser: Client, address: str = LIST) -> list[tuple[str, str]]:
    (row,) = browser.get(address).context["rows"]
    return [(verb.label, verb.reason) for verb in row.verbs]


def test_own_and_public_images_have_a_list_each(browser, image):
    ImageFactory(label="Debian 13", vendor="Debian", deprecated=True)
    assert labels(browser, LIST) == ["golden"]
    assert labels(browser, PUBLIC) == ["Debian 13"]
    assert verbs(browser) == [("Create instance", ""), ("Edit", ""), ("Delete", "")]
    assert verbs(browser, PUBLIC) == [("Create instance", "")]
    assert "deprecated" in text(browser.get(PUBLIC))


def test_filters_and_order_are_in_the_address(browser, image, account):
    ImageFactory(id="private/8", number=8, account=account, is_public=False, label="Alpine", status="creating")
    assert labels(browser, LIST) == ["Alpine", "golden"]
    assert labels(browser, f"{LIST}?order=-label") == ["golden", "Alpine"]
    assert labels(browser, f"{LIST}?status=creating") == ["Alpine"]
    assert labels(browser, f"{LIST}?label=GOLD") == ["golden"]
    for label, vendor, deprecated in (("Debian 13", "Debian", False), ("Debian 9", "Debian", True)):
        ImageFactory(label=label, vendor=vendor, deprecated=deprecated)
    assert labels(browser, f"{PUBLIC}?vendor=Debian&deprecated=false") == ["Debian 13"]
    shown = browser.get(f"{PUBLIC}?deprecated=false")
    assert shown.context["filtered"], "No is a filter, which can be cleared."
    assert labels(browser, f"{PUBLIC}?deprecated=nonsense&page=99&order=nothing") == ["Debian 13", "Debian 9"]


def test_an_empty_list_says_how_to_get_an_image(browser, account):
    shown = text(browser.get(LIST))
    assert "You have no images of your own yet" in shown
    for address in ("/home/images/upload", "/home/images/new"):
        assert f'href="{address}"' in shown
    user = GlobalGrantsFactory(user__account=account).user
    shown = text(signed_in(user).get(LIST))
    assert "You see no images of your account" in shown
    assert "/home/images/upload" not in shown


def test_restricted_users_see_granted_images(account, image):
    user = GlobalGrantsFactory(user__account=account).user
    browser = signed_in(user)
    assert labels(browser, LIST) == []
    grant = GrantFactory(user=user, entity_type="image", entity_id=7)
    assert labels(browser, LIST) == ["golden"]
    assert verbs(browser) == []
    grant.permissions = "read_write"
    grant.save()
    assert verbs(browser) == [("Edit", ""), ("Delete", "")]


def test_another_account_sees_only_public_images(stranger, image):
    ImageFactory(label="Debian 13")
    assert labels(signed_in(stranger), LIST) == []
    assert labels(signed_in(stranger), PUBLIC) == ["Debian 13"]


def test_rows_update_themselves(world: World, django_assert_num_queries):
    browser = signed_in(User.objects.get(pk=world.actor.person))
    made = begin_upload(world.actor, label="mine", description=None, region=world.region.pk)
    assert verbs(browser) == [
        ("Create instance", "This image is not ready: its status is pending_upload."),
        ("Upload file", ""),
        ("Edit", ""),
        ("Delete", ""),
    ]
    seen = browser.get(LIST).context["seen"]
    assert browser.get(f"{LIST}?seen={seen}", headers=HTMX).status_code == 204
    Image.objects.filter(pk=made.pk).update(status=Image.Status.AVAILABLE, size=700)
    rows = text(browser.get(f"{LIST}?seen={seen}", headers=HTMX))
    assert rows.lstrip().startswith("<tbody")
    assert "700 MB" in rows
    made.delete()
    assert browser.get(f"{LIST}?seen={seen}", headers=HTMX)["HX-Refresh"] == "true"
