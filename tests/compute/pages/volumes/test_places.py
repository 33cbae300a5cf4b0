"""Creating, attaching and detaching volumes: the choices of region, instance and profile, and their reasons."""

import re

import pytest

from accounts.models import Event, User
from accounts.pages.base import actor_of
from compute.models import Instance, Volume, VolumeDevice
from compute.pages import choices
from regions.models import Region
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import begin_job, text
from tests.factories import (
    ConfigFactory,
    GlobalGrantsFactory,
    GrantFactory,
    InstanceFactory,
    RegionFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db

NEW = "/home/volumes/new"


@pytest.fixture
def instance(account) -> Instance:
    made = InstanceFactory(account=account, label="web-1")
    ConfigFactory(instance=made, label="default")
    return made


@pytest.fixture
def volume(account) -> Volume:
    return VolumeFactory(account=account, label="data")


@pytest.fixture
def browser(owner: User):
    return signed_in(owner)


def options(answer, name: str) -> dict[str, str]:
    """Return the words of the options of a select, by their values; empty without the select."""
    select = re.search(rf'<select name="{name}".*?</select>', text(answer), re.DOTALL)
    return dict(re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)', select[0])) if select else {}


def actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


class TestCreating:
    def test_leads_to_the_page_of_the_volume(self, browser, instance):
        given = {"label": "files", "size": "40", "region": "us-test", "tags": "web"}
        page = browser.post(NEW, given, follow=True)
        made = Volume.objects.get()
        assert (made.label, made.size, made.region_id, made.tags, made.instance) == (
            "files", 40, "us-test", ["web"], None,
        )  # fmt: skip
        assert page.redirect_chain[-1][0] == f"/home/volumes/{made.pk}"
        assert "The volume files is being created." in text(page)
        assert actions() == ["volume_create"]

    def test_attaches_to_an_instance_with_a_profile(self, browser, instance):
        other = ConfigFactory(instance=instance, label="other")
        given = {
            "label": "files",
            "size": "20",
            "region": "us-test",
            "compute_id": instance.pk,
            "config_id": other.pk,
        }
        browser.post(NEW, given)
        assert Volume.objects.get().instance == instance
        assert VolumeDevice.objects.get().config == other

    def test_offers_the_instances_of_the_region_and_the_profiles_of_the_instance(self, browser, account, instance):
        far = InstanceFactory(account=account, label="far", region=RegionFactory(id="us-far"))
        InstanceFactory(label="theirs", region=instance.region)
        assert options(browser.get(NEW), "compute_id") == {"": "no instance: choose a region first"}
        chosen = {"label": "files", "region": "us-test", "update": "1"}
        page = browser.post(NEW, chosen)
        assert options(page, "compute_id") == {"": "no instance", str(instance.pk): "web-1"}
        assert options(page, "config_id") == {}
        assert 'value="files"' in text(page)
        page = browser.post(NEW, {**chosen, "compute_id": instance.pk})
        assert list(options(page, "config_id").values()) == ["the one that boots next", "default"]
        assert options(browser.get(f"{NEW}?compute_id={far.pk}"), "compute_id") == {
            "": "no instance",
            str(far.pk): "far",
        }
        assert actions() == []

    def test_names_regions_without_block_storage(self, browser):
        Region.objects.create(id="us-bare", country="us", capabilities=["Computes"])
        assert "This region does not offer Block Storage." in text(browser.get(NEW))
        answer = browser.post(NEW, {"label": "files", "size": "20", "region": "us-bare"})
        assert problems(answer, "region") == "This region does not offer Block Storage."

    def test_shows_all_reasons_at_their_fields(self, browser):
        answer = browser.post(NEW, {"label": "1", "size": "5", "region": "nowhere", "compute_id": "7777777"})
        assert problems(answer, "label")
        assert problems(answer, "size") == "Must be 10-10240"
        assert problems(answer, "region") == "Region is not valid"
        assert problems(answer, "compute_id") == '"Attach to" is not valid'
        assert not Volume.objects.exists()

    def test_refuses_texts_that_cannot_be_stored(self, browser):
        answer = browser.post(NEW, {"label": "a\0b", "size": "20", "region": "a\0b", "tags": "a\0b"})
        assert [bool(problems(answer, name)) for name in ("label", "region", "tags")] == [True] * 3
        assert not Volume.objects.exists()

    @pytest.mark.parametrize("query", ["compute_id=x", "compute_id=" + "9" * 30, "region=%00", "region=nowhere"])
    def test_begins_with_any_address(self, browser, query):
        assert browser.get(f"{NEW}?{query}").status_code == 200

    def test_keeps_an_instance_beyond_the_offered_ones(self, browser, account, instance, monkeypatch):
        first = InstanceFactory(account=account, region=instance.region, label="app-1")
        InstanceFactory(account=account, region=instance.region, label="zoo-1")
        monkeypatch.setattr(choices, "MAX_CHOICES", 1)
        page = browser.get(f"{NEW}?compute_id={instance.pk}")
        assert list(options(page, "compute_id")) == ["", str(first.pk), str(instance.pk)]
        assert "These are the first 1 by label. For others, use the API." in text(page)
        given = {"size": "40", "region": instance.region_id, "compute_id": instance.pk, "update": "1"}
        sent = browser.post(NEW, given)
        assert list(options(sent, "compute_id")) == ["", str(first.pk), str(instance.pk)]
        assert list(options(browser.get(f"{NEW}?region={instance.region_id}"), "compute_id")) == ["", str(first.pk)]

    def test_needs_the_grant(self, restricted, account):
        assert signed_in(restricted).get(NEW).status_code == 403
        user = GlobalGrantsFactory(user__account=account, add_volumes=True).user
        region = RegionFactory()
        page = text(signed_in(user).get(NEW))
        assert 'name="tags"' not in page
        signed_in(user).post(NEW, {"label": "mine", "size": "20", "region": region.pk})
        assert Volume.objects.visible_to(actor_of(user)).get().label == "mine"


class TestAttaching:
    def address(self, volume: Volume, verb: str = "attach") -> str:
        return f"/home/volumes/{volume.pk}/{verb}"

    def test_offers_the_instances_of_the_region(self, browser, account, volume, instance):
        InstanceFactory(account=account, label="far", region=RegionFactory(id="us-far"))
        page = browser.get(self.address(volume))
        assert options(page, "compute_id") == {"": "Choose an instance", str(instance.pk): "web-1"}

    def test_attaches(self, browser, volume, instance):
        given = {"compute_id": instance.pk, "persist_across_boots": "on"}
        page = browser.post(self.address(volume), given, follow=True)
        volume.refresh_from_db()
        assert volume.instance == instance
        assert "The volume data is being attached." in text(page)
        assert actions() == ["volume_attach"]

    def test_shows_reasons_at_their_fields(self, browser, volume, instance):
        assert problems(browser.post(self.address(volume)), "compute_id") == "Instance is required"
        answer = browser.post(self.address(volume), {"compute_id": instance.pk})
        assert (
            problems(answer, "persist_across_boots")
            == 'The instance is off, so "Keep the volume attached after the next boot" must be true.'
        )
        given = {"compute_id": instance.pk, "config_id": "7777777", "persist_across_boots": "on"}
        answer = browser.post(self.address(volume), given)
        assert problems(answer, "config_id") == '"Configuration profile" is not valid'
        begin_job(instance)
        answer = browser.post(self.address(volume), {"compute_id": instance.pk, "persist_across_boots": "on"})
        assert "Another job runs on the instance. Try again later." in text(answer)
        assert actions() == []

    def test_is_unavailable_for_a_volume_that_is_attached(self, browser, volume, instance):
        Volume.objects.update(instance=instance)
        page = browser.get(self.address(volume)).content.decode()
        assert "The volume is attached to web-1." in page
        assert f'href="{self.address(volume, "detach")}">Detach volume</a>' in page
        assert '<button class="btn btn-primary" disabled>' in page

    def test_says_that_the_region_has_no_instance(self, browser, volume):
        page = text(browser.get(self.address(volume)))
        assert "You have no instance in the region" in page
        assert '<button class="btn btn-primary" disabled>' in page

    def test_detaches(self, browser, volume, instance):
        Volume.objects.update(instance=instance)
        assert "Unmount the volume" in text(browser.get(self.address(volume, "detach")))
        page = browser.post(self.address(volume, "detach"), follow=True)
        volume.refresh_from_db()
        assert volume.instance is None
        assert "The volume data is being detached." in text(page)
        assert actions() == ["volume_detach"]

    def test_needs_the_permission_to_change_the_instance(self, volume, instance, restricted):
        Volume.objects.update(instance=instance)
        GrantFactory(user=restricted, entity_type="volume", entity_id=volume.pk, permissions="read_write")
        GrantFactory(user=restricted, entity_type="compute", entity_id=instance.pk)
        answer = signed_in(restricted).post(self.address(volume, "detach"))
        assert "Unauthorized" in text(answer)
        assert actions() == []
