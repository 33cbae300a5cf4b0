"""The page of one image, and editing and deleting it."""

import pytest

from compute.models import Image, Job
from compute.services.images import files, uploads
from compute.services.images.images import begin_upload, create_from_disk
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.compute.pages.visiting import HTMX, owner_of
from tests.compute.run_jobs import finish, work
from tests.compute.worker.scenarios import deployed
from tests.factories import GlobalGrantsFactory, GrantFactory, ImageFactory, InstanceFactory
from tests.world import World

pytestmark = pytest.mark.django_db

PAGE = "/home/images/private/7"


def actions(account) -> list[str]:
    return list(account.events.order_by("pk").values_list("action", flat=True))


def test_it_shows_facts_and_leads_to_a_new_instance(browser, image):
    shown = text(browser.get(PAGE))
    for words in ("golden", "As of May", "1.27 GB, the smallest disk", "your account", "available"):
        assert words in shown
    assert browser.get(PAGE).context["trail"] == [("Images", "/home/images")]
    assert 'href="/home/instances/new?image=private%2F7"' in shown
    assert browser.get("/home/instances/new?image=private%2F7").context["offers"].image == image


def test_a_public_image_has_a_page_without_verbs(browser, restricted):
    made = ImageFactory(id="compute/debian13", label="Debian 13", vendor="Debian", deprecated=True)
    shown = text(browser.get("/home/images/compute/debian13"))
    for words in ("Debian", "the platform", "deprecated", "Create instance"):
        assert words in shown
    assert "data-live" not in shown
    for verb in ("edit", "delete", "upload"):
        assert browser.get(f"/home/images/{made.pk}/{verb}").status_code == 403
        assert browser.post(f"/home/images/{made.pk}/{verb}", {"label": "x"}).status_code == 403
    assert Image.objects.get().label == "Debian 13"


def test_label_and_description_change(browser, account, image):
    answer = browser.post(f"{PAGE}/edit", {"label": "silver", "description": ""}, follow=True)
    assert "The image silver was saved." in text(answer)
    image.refresh_from_db()
    assert (image.label, image.description) == ("silver", None)
    assert actions(account) == ["image_update"]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("", "Label is not valid"),
        ("x" * 51, "Length must be at most 50 characters"),
        ("a\0b", "Label is not valid"),
    ],
)
def test_a_wrong_label_is_refused_at_its_field(browser, account, image, label, reason):
    answer = browser.post(f"{PAGE}/edit", {"label": label, "description": "kept"})
    assert problems(answer, "label") == reason
    assert "kept" in text(answer)
    assert actions(account) == []


def test_it_is_deleted(browser, account, image):
    answer = browser.post(f"{PAGE}/delete", follow=True)
    assert "The image golden is being deleted." in text(answer)
    assert answer.redirect_chain == [("/home/images", 302)]
    assert actions(account) == ["image_delete"]
    assert Job.objects.get().kind == "delete_image"
    assert browser.get(PAGE).status_code == 404


def test_an_image_that_is_being_deployed_stays(browser, image, account):
    InstanceFactory(account=account, image=image, status="rebuilding")
    assert "A disk is being deployed from this image." in text(browser.post(f"{PAGE}/delete"))
    image.refresh_from_db()
    assert image.status == "available"


def test_readers_have_no_verbs_and_strangers_no_page(account, stranger, image):
    user = GlobalGrantsFactory(user__account=account).user
    reader = signed_in(user)
    assert reader.get(PAGE).status_code == 404
    GrantFactory(user=user, entity_type="image", entity_id=7)
    shown = text(reader.get(PAGE))
    assert "golden" in shown
    for verb in ("edit", "delete"):
        assert f"{PAGE}/{verb}" not in shown
        assert reader.get(f"{PAGE}/{verb}").status_code == 403
        assert reader.post(f"{PAGE}/{verb}").status_code == 403
        assert signed_in(stranger).post(f"{PAGE}/{verb}").status_code == 404
    assert signed_in(stranger).get(PAGE).status_code == 404
    image.refresh_from_db()
    assert image.status == "available"


class TestProgress:
    def test_a_job_that_makes_it_is_shown_until_it_is_available(self, world: World, driver):
        instance, browser = deployed(world, driver, running=False), owner_of(world)
        disk = instance.disks.first()
        made = create_from_disk(world.actor, disk.pk, label="golden", description=None)
        shown = text(browser.get(f"/home/images/{made.pk}"))
        assert "An image is created from a disk." in shown
        assert "This image is not ready: its status is creating." in shown
        seen = browser.get(f"/home/images/{made.pk}").context["seen"]
        assert browser.get(f"/home/images/{made.pk}?seen={seen}", headers=HTMX).status_code == 204
        finish(instance, driver)
        part = text(browser.get(f"/home/images/{made.pk}?seen={seen}", headers=HTMX))
        assert part.lstrip().startswith('<div id="image"')
        assert "available" in part
        assert "Its creation from a disk is an event of the instance." in part

    def test_the_page_says_why_an_image_could_not_be_made(self, world: World, driver):
        made = begin_upload(world.actor, label="mine", description=None, region=world.region.pk)
        files.part_of(made.own_number).write_bytes(b"\x1f\x8b broken")
        uploads._accept(made, files.part_of(made.own_number))
        browser = owner_of(world)
        event = browser.get(f"/home/images/{made.pk}").context["under_way"]
        work(Job.objects.get(), driver)
        part = text(browser.get(f"/home/images/{made.pk}?seen=x&event={event.pk}", headers=HTMX))
        assert "The image could not be created." in part
        assert "The file is not gzip, or is broken." in part
        assert "data-live" not in part
        page = browser.get(f"/home/images/{made.pk}")  # opened when the file was sent
        assert page.status_code == 404
        assert "The file is not gzip, or is broken." in page.content.decode()

    @pytest.mark.parametrize("event", ["", "1", "x", "9" * 30, "%00"])
    def test_a_deleted_image_is_gone(self, browser, account, event):
        part = text(browser.get(f"{PAGE}?event={event}", headers=HTMX))
        assert "or you may not see it any more." in part
