"""All pages with a verb of an instance: who may open them, and their message while the verb is not possible."""

import pytest

from compute.models import Instance, Job
from config.errors import Missing
from tests.accounts.pages.browsers import careful, signed_in_ago
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import owner_of, page_of, restricted_at, text_of

pytestmark = pytest.mark.django_db

VERBS = (
    "boot/profile", "reboot/profile", "resize", "upgrade", "rebuild", "rescue", "migrate", "password", "delete",
)  # fmt: skip
POWER = ("boot", "reboot", "shutdown")
SETTINGS = ("settings", "settings/alerts", "settings/watchdog")


@pytest.fixture
def instance(world) -> Instance:
    return world.offline(label="web-1")


@pytest.mark.parametrize("verb", [*VERBS, "clone", *SETTINGS])
class TestEachPage:
    def test_strangers_find_none(self, instance, stranger, verb):
        browser = signed_in(stranger)
        for answer in (browser.get(page_of(instance, verb)), browser.post(page_of(instance, verb))):
            assert answer.status_code == 404

    def test_readers_are_denied(self, instance, verb):
        browser = restricted_at(instance)
        for answer in (browser.get(page_of(instance, verb)), browser.post(page_of(instance, verb))):
            assert answer.status_code == 403
        assert not Job.objects.exists()

    def test_nobody_signs_in_first(self, client, instance, verb):
        assert client.get(page_of(instance, verb))["Location"].startswith("/login?")

    def test_a_form_needs_the_page_s_own_token(self, world, instance, verb):
        assert careful(owner_of(world)).post(page_of(instance, verb)).status_code == 403


@pytest.mark.parametrize("verb", POWER)
def test_readers_are_denied_the_power_verbs(instance, verb):
    assert restricted_at(instance).post(page_of(instance, verb)).status_code == 403


@pytest.mark.parametrize("verb", [each for each in VERBS if each not in ("upgrade", "delete")] + ["clone"])
def test_a_busy_instance_s_verbs_are_disabled_with_the_reason(world, instance, verb):
    Instance.objects.filter(pk=instance.pk).update(status="booting")
    page = text_of(owner_of(world).get(page_of(instance, verb)))
    assert "Another job runs on the instance. Try again later." in page
    assert "disabled>" in page.split('<form method="post"')[-1]


def test_an_instance_that_another_request_deleted_is_not_found(world, instance, monkeypatch):
    def resize(*given) -> None:
        raise Missing

    monkeypatch.setattr("compute.pages.resize.resize", resize)
    assert owner_of(world).post(page_of(instance, "resize"), {"type": "any"}).status_code == 404


@pytest.mark.parametrize("verb", ["rebuild", "password"])
def test_verbs_that_give_access_ask_for_the_password_again(world, instance, verb):
    browser = owner_of(world)
    signed_in_ago(browser, 10_000)
    for answer in (browser.get(page_of(instance, verb)), browser.post(page_of(instance, verb))):
        assert answer["Location"].startswith("/home/confirm?next=")
