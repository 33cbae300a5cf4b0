"""The page of a volume, and the forms that change or delete it."""

import re
from decimal import Decimal

import pytest
from django.urls import reverse

from accounts.models import Event
from compute.models import ResourcePrice, Volume
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.compute.pages.visiting import HTMX
from tests.factories import EventFactory, GlobalGrantsFactory, GrantFactory, InstanceFactory, VolumeFactory

pytestmark = pytest.mark.django_db

FORMS = ("attach", "detach", "resize", "clone", "edit", "delete")


@pytest.fixture
def volume(account) -> Volume:
    return VolumeFactory(account=account, label="data", size=40)


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def address(volume: Volume, page: str = "") -> str:
    return reverse(f"volume-{page}" if page else "volume", args=[volume.pk])


def send(browser, volume: Volume, page: str, **fields):
    return browser.post(address(volume, page), fields, follow=True)


def actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


class TestThePage:
    def test_polls_slowly_while_nothing_happens(self, browser, volume):
        assert "every 20s" in text(browser.get(f"/home/volumes/{volume.pk}"))

    def test_shows_facts_path_and_events(self, browser, volume):
        EventFactory(
            account=volume.account, action="volume_resize", entity_type="volume", entity_id=volume.pk,
            status="failed", message="The host is full.",
        )  # fmt: skip
        page = text(browser.get(address(volume)))
        for shown in ("40 GB", "not attached", "/dev/disk/by-id/scsi-0Skerry_Volume_data", "The host is full."):
            assert shown in page
        assert "Price" not in page

    def test_shows_the_price_of_the_operator(self, browser, volume):
        ResourcePrice.objects.create(id="volume", hourly=Decimal("0.00015"), monthly=Decimal("0.1"))
        assert "$4 a month, $0.006 an hour" in text(browser.get(address(volume)))

    def test_updates_itself_and_leads_to_the_list_when_the_volume_is_deleted(self, browser, volume):
        page = text(browser.get(address(volume)))
        polled = address(volume) + re.findall(r'id="part"[^>]* hx-get="([^"]+)"', page)[0]
        assert browser.get(polled, headers=HTMX).status_code == 204
        Volume.objects.update(status="resizing")
        assert "resizing" in text(browser.get(polled, headers=HTMX))
        volume.delete()
        assert browser.get(polled, headers=HTMX)["HX-Redirect"] == "/home/volumes"
        assert "This volume has been deleted" in text(browser.get("/home/volumes"))
        assert browser.get(polled).status_code == 404

    def test_only_users_who_may_see_it_see_it(self, volume, stranger, restricted):
        for user in (stranger, restricted):
            for page in ("", *FORMS):
                expected = 403 if page == "clone" and user == restricted else 404
                assert signed_in(user).get(address(volume, page)).status_code == expected

    def test_a_user_who_may_only_read_it_changes_nothing(self, volume, restricted):
        GrantFactory(user=restricted, entity_type="volume", entity_id=volume.pk)
        browser = signed_in(restricted)
        page = text(browser.get(address(volume)))
        assert not [form for form in FORMS if address(volume, form) in page]
        assert [browser.post(address(volume, form)).status_code for form in FORMS] == [403] * len(FORMS)
        assert actions() == []


class TestEditing:
    def test_changes_label_and_tags(self, browser, volume):
        page = send(browser, volume, "edit", label="photos", tags='web, "blue, green"')
        volume.refresh_from_db()
        assert (volume.label, volume.tags) == ("photos", ["web", "blue, green"])
        assert "The volume photos was saved." in text(page)
        assert actions() == ["volume_update"]

    @pytest.mark.parametrize(
        ("label", "reason"),
        [
            ("", "Length must be 1-32 characters"),
            ("1st", "Must begin with a letter"),
            ("logs", "Label must be unique among your volumes"),
            ("a\0b", "Must have letters, digits, - and _ only"),
        ],
    )
    def test_shows_reasons_at_the_label(self, browser, account, volume, label, reason):
        VolumeFactory(account=account, label="logs")
        assert reason in problems(send(browser, volume, "edit", label=label), "label")
        assert actions() == []

    def test_leaves_the_tags_of_a_restricted_user_alone(self, volume, restricted):
        Volume.objects.update(tags=["web"])
        GrantFactory(user=restricted, entity_type="volume", entity_id=volume.pk, permissions="read_write")
        browser = signed_in(restricted)
        assert 'name="tags"' not in text(browser.get(address(volume, "edit")))
        send(browser, volume, "edit", label="photos", tags="")
        volume.refresh_from_db()
        assert (volume.label, volume.tags) == ("photos", ["web"])


class TestResizing:
    def test_enlarges(self, browser, volume):
        page = send(browser, volume, "resize", size="50")
        volume.refresh_from_db()
        assert (volume.size, volume.status) == (50, "resizing")
        assert "The volume data is being resized." in text(page)
        assert actions() == ["volume_resize"]

    @pytest.mark.parametrize("size", ["40", "20000", "", "x", "9" * 300])
    def test_shows_reasons_at_the_size(self, browser, volume, size):
        assert problems(send(browser, volume, "resize", size=size), "size")
        assert actions() == []

    def test_shows_the_price_while_one_chooses(self, browser, volume):
        ResourcePrice.objects.create(id="volume", hourly=Decimal("0.001"))
        page = text(send(browser, volume, "resize", size="60", update="1"))
        assert "60 GB cost $0.06 an hour." in page
        assert actions() == []

    def test_waits_until_the_volume_is_active(self, browser, volume):
        Volume.objects.update(status="creating")
        assert "Cannot resize a volume that is creating." in text(browser.get(address(volume, "resize")))
        answer = send(browser, volume, "resize", size="50")
        assert "Cannot resize a volume that is creating." in text(answer)
        assert actions() == []


class TestDeleting:
    def test_asks_first(self, browser, volume):
        assert "all data on it" in text(browser.get(address(volume, "delete")))
        page = send(browser, volume, "delete")
        assert "The volume data is being deleted." in text(page)
        assert not Volume.objects.exists()
        assert actions() == ["volume_delete"]

    def test_is_refused_while_a_running_instance_has_it(self, browser, account, volume):
        Volume.objects.update(instance=InstanceFactory(account=account, status="running"))
        reason = "This volume must be detached before it can be deleted."
        assert reason in text(browser.get(address(volume, "delete")))
        assert reason in text(send(browser, volume, "delete"))
        assert Volume.objects.exists()


class TestCloning:
    def test_leads_to_the_copy(self, browser, volume):
        page = send(browser, volume, "clone", label="copy")
        copy = Volume.objects.get(label="copy")
        assert page.redirect_chain[-1][0] == address(copy)
        assert (copy.size, copy.status) == (40, "creating")
        assert "A volume is cloned" in text(page) or "progress" in text(page)
        assert actions() == ["volume_clone"]

    def test_needs_a_free_label(self, browser, volume):
        assert problems(send(browser, volume, "clone", label="data"), "label")

    def test_needs_no_more_than_to_see_the_volume_and_to_create_volumes(self, volume):
        user = GlobalGrantsFactory(user__account=volume.account, add_volumes=True).user
        GrantFactory(user=user, entity_type="volume", entity_id=volume.pk)
        browser = signed_in(user)
        assert address(volume, "clone") in text(browser.get(address(volume)))
        send(browser, volume, "clone", label="copy")
        assert Volume.objects.filter(label="copy").exists()
