"""Uploading an image: the form, and the page that sends the file."""

import gzip
import re
import time

import pytest
from django.test import Client

from accounts.models import Account, Event
from compute.models import Image, Job
from compute.services.images.uploads import USED
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.compute.pages.visiting import owner_of
from tests.compute.run_jobs import work
from tests.factories import GlobalGrantsFactory, GrantFactory, UserFactory
from tests.world import World

pytestmark = pytest.mark.django_db

PAGE = "/home/images/upload"


@pytest.fixture
def browser(world: World) -> Client:
    return owner_of(world)


@pytest.fixture
def image(browser, world: World) -> Image:
    browser.post(PAGE, {"label": "mine", "region": world.region.pk, "description": "Raw"})
    return Image.objects.get(label="mine")


def address_of(browser: Client, image: Image) -> str | None:
    """Return the address that the page's script gets."""
    return browser.post(f"/home/images/{image.pk}/upload").json()["upload_to"]


def test_an_upload_begins_and_leads_to_the_page_that_sends_the_file(browser, world, driver):
    answer = browser.post(PAGE, {"label": "mine", "region": world.region.pk, "description": "Raw"}, follow=True)
    image = Image.objects.get(label="mine")
    assert answer.redirect_chain == [(f"/home/images/{image.pk}/upload", 302)]
    assert (image.description, image.status) == ("Raw", "pending_upload")
    assert Event.objects.get().action == "image_upload"
    shown = text(answer)
    assert "frame/upload.js" in shown
    assert "/uploads/images/" not in shown
    address = address_of(browser, image)
    sent = Client().generic("PUT", address, gzip.compress(bytes(5000)))
    assert (sent.status_code, sent.json()) == (200, {})
    work(Job.objects.get(), driver)
    image.refresh_from_db()
    assert image.status == "available"
    for page in (f"/home/images/{image.pk}/upload", f"/home/images/{image.pk}/upload/command"):
        assert browser.get(page)["Location"] == f"/home/images/{image.pk}"
    assert address_of(browser, image) is None
    assert USED in text(browser.post(f"/home/images/{image.pk}/upload/command"))


def test_the_address_of_the_script_lasts_for_minutes_and_a_new_attempt_has_a_new_one(browser, image, monkeypatch):
    first = address_of(browser, image)
    command = text(browser.post(f"/home/images/{image.pk}/upload/command"))
    (of_command,) = re.findall(r"curl -T disk.img.gz '([^']+)'", command)
    real = time.time
    monkeypatch.setattr("django.core.signing.time.time", lambda: real() + 125)
    file = gzip.compress(bytes(5000))
    assert Client().generic("PUT", first, file).status_code == 404
    assert Client().generic("PUT", of_command, b"no gzip").status_code == 400
    assert Client().generic("PUT", address_of(browser, image), file).status_code == 200


def test_a_command_is_made_for_users_who_give_their_password(browser, image):
    page = f"/home/images/{image.pk}/upload/command"
    assert page in text(browser.get(f"/home/images/{image.pk}/upload"))
    assert "curl" not in text(browser.get(page))
    shown = text(browser.post(page))
    (address,) = re.findall(r"curl -T disk.img.gz '([^']+)'", shown)
    assert Client().generic("PUT", address, gzip.compress(bytes(5000))).status_code == 200
    session = browser.session
    session["confirmed"] = 0
    session.save()
    for answer in (browser.get(page), browser.post(page)):
        assert answer["Location"].startswith("/home/confirm?")


def test_reasons_stand_at_their_fields(browser, world):
    answer = browser.post(PAGE, {"label": "x" * 51, "region": "mars"})
    assert problems(answer, "label") == "Length must be at most 50 characters"
    assert problems(answer, "region") == "Region is not valid"
    assert problems(browser.post(PAGE, {}), "region") == "Region is required"
    assert problems(browser.post(PAGE, {"label": "a\0"}), "label") == "Label is not valid"
    assert not Image.objects.filter(is_public=False).exists()


def test_a_region_that_takes_nothing_new_is_disabled(browser, world):
    world.region.status = "outage"
    world.region.retired = True
    world.region.save()
    assert re.search(r'<option value="us-test"[^>]* disabled', text(browser.get(PAGE)))


@pytest.mark.parametrize(
    ("quotas", "reason"),
    [
        ({"image_storage": 0}, "The account's quota of storage of images is 0 MB"),
        ({"images": 0}, "An account has at most 0 images of its own: ask support for more."),
    ],
)
def test_a_full_account_is_refused_before_the_upload(browser, world, quotas, reason):
    Account.objects.filter(pk=world.account.pk).update(quotas=quotas)
    shown = text(browser.get(PAGE))
    assert reason in shown
    assert re.search(r"<button[^>]* disabled>Continue", shown)
    assert reason in text(browser.post(PAGE, {"label": "mine", "region": world.region.pk}))
    assert not Image.objects.filter(is_public=False).exists()


def test_files_go_to_the_stream_processes(browser, image, settings):
    settings.STREAM_URL = "https://stream.example.com"
    answer = browser.get(f"/home/images/{image.pk}/upload")
    assert address_of(browser, image).startswith("https://stream.example.com/uploads/images/")
    assert answer["Content-Security-Policy"].endswith("connect-src 'self' https://stream.example.com")


def test_only_users_who_may_upload_get_the_address(world, image):
    page = f"/home/images/{image.pk}/upload"
    may_add, may_write = (
        GlobalGrantsFactory(user__account=world.account, add_images=add).user for add in (True, False)
    )
    GrantFactory(user=may_write, entity_type="image", entity_id=image.number, permissions="read_write")
    assert [signed_in(may_write).get(page).status_code, signed_in(may_write).post(page).status_code] == [403, 403]
    assert signed_in(may_write).get(PAGE).status_code == 403
    grant = GrantFactory(user=may_add, entity_type="image", entity_id=image.number)
    assert signed_in(may_add).get(PAGE).status_code == 200
    assert [signed_in(may_add).get(page).status_code, signed_in(may_add).post(page).status_code] == [403, 403]
    grant.permissions = "read_write"
    grant.save()
    assert signed_in(may_add).get(page).status_code == 200
    assert signed_in(UserFactory()).get(page).status_code == 404
