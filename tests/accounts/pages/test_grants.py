"""The pages of a restricted user's grants."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from accounts.entities import grantable
from accounts.models import Event, GlobalGrants, Grant, Level
from accounts.pages.users.grants import OBJECTS_ON_A_PAGE
from config.db import prepared
from config.db.prepared import TookTooLong
from config.pages.filtered import TOO_SLOW
from config.pages.navigation import NOUNS
from tests.accounts.pages.browsers import problems
from tests.accounts.signing_in import words
from tests.factories import GrantFactory, UserFactory, VolumeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(restricted) -> str:
    return f"/home/users/{restricted.pk}/grants"


def level(user, volume) -> str | None:
    return (
        Grant.objects.filter(user=user, entity_type="volume", entity_id=volume.pk)
        .values_list("permissions", flat=True)
        .first()
    )


def test_each_kind_with_grants_has_a_page(browser, page):
    for kind in grantable():
        assert kind.noun in NOUNS
        assert browser.get(f"{page}/{kind.noun}").status_code == 200
    assert browser.get(f"{page}/tickets").status_code == 404


class TestOnTheAccount:
    def test_they_are_shown_and_saved(self, browser, page, restricted):
        GlobalGrants.objects.filter(user=restricted).update(add_volumes=True, add_databases=True)
        shown = browser.get(page)
        assert shown.context["form"]["add_volumes"].value() is True
        assert shown.context["form"]["account_access"].value() == Level.READ_ONLY
        given = {"account_access": "read_write", "add_domains": "on"}
        assert "The grants on the account are saved." in words(browser.post(page, given, follow=True))
        found = GlobalGrants.objects.get(user=restricted)
        assert (found.account_access, found.add_domains, found.add_volumes) == ("read_write", True, False)
        assert found.add_databases, "The page does not show it, so it stays."
        assert [event.message for event in Event.objects.all()] == ["Grants were changed."]

    def test_access_can_be_taken_away(self, browser, page, restricted):
        browser.post(page, {"account_access": ""})
        assert GlobalGrants.objects.get(user=restricted).account_access is None

    def test_an_unknown_level_is_refused(self, browser, page, restricted):
        assert '"Access to the account" is not valid' in problems(
            browser.post(page, {"account_access": "all"}), "account_access"
        )
        assert GlobalGrants.objects.get(user=restricted).account_access == Level.READ_ONLY


def test_a_request_without_the_form_changes_nothing(browser, page, restricted):
    GlobalGrants.objects.filter(user=restricted).update(account_access=Level.READ_ONLY, add_computes=True)
    browser.post(page, {})
    kept = GlobalGrants.objects.get(user=restricted)
    assert (kept.account_access, kept.add_computes) == (Level.READ_ONLY, True)


class TestOnObjects:
    def test_levels_are_given_changed_and_taken_away(self, browser, account, page, restricted):
        one, two, three = (VolumeFactory(account=account, label=label) for label in ("one", "two", "three"))
        GrantFactory(user=restricted, entity_type="volume", entity_id=two.pk)
        GrantFactory(user=restricted, entity_type="volume", entity_id=three.pk)
        shown = browser.get(f"{page}/volumes")
        assert shown.context["form"][f"level-{two.pk}"].value() == Level.READ_ONLY
        given = {f"level-{one.pk}": "read_only", f"level-{two.pk}": "read_write", f"level-{three.pk}": ""}
        answer = browser.post(f"{page}/volumes", given, follow=True)
        assert "The grants were saved." in words(answer)
        assert "Volumes (2 granted )" in words(answer)
        assert [level(restricted, each) for each in (one, two, three)] == ["read_only", "read_write", None]
        assert Event.objects.get().action == "user_update"

    def test_objects_that_the_form_lacks_keep_their_level(self, browser, account, page, restricted):
        shown, other = VolumeFactory(account=account), VolumeFactory(account=account)
        GrantFactory(user=restricted, entity_type="volume", entity_id=other.pk)
        browser.post(f"{page}/volumes", {f"level-{shown.pk}": "read_only"})
        assert (level(restricted, shown), level(restricted, other)) == ("read_only", "read_only")

    def test_a_level_that_was_left_as_shown_is_not_written_over(self, browser, account, page, restricted):
        one, two = VolumeFactory(account=account), VolumeFactory(account=account)
        GrantFactory(user=restricted, entity_type="volume", entity_id=two.pk)  # by somebody else, meanwhile
        shown = {f"shown-{each.pk}": "" for each in (one, two)}
        browser.post(f"{page}/volumes", {**shown, f"level-{one.pk}": "read_write", f"level-{two.pk}": ""})
        assert (level(restricted, one), level(restricted, two)) == ("read_write", "read_only")

    def test_the_form_says_which_levels_it_shows(self, browser, account, page, restricted):
        volume = VolumeFactory(account=account)
        GrantFactory(user=restricted, entity_type="volume", entity_id=volume.pk)
        shown = f'<input type="hidden" name="shown-{volume.pk}" value="read_only">'
        assert shown in browser.get(f"{page}/volumes").content.decode()
        answer = browser.post(f"{page}/volumes", {f"shown-{volume.pk}": "read_only", f"level-{volume.pk}": "all"})
        assert shown in answer.content.decode()

    def test_an_object_of_another_account_or_a_deleted_one_is_left_out(self, browser, account, page, restricted):
        own, foreign = VolumeFactory(account=account), VolumeFactory()
        given = {
            f"level-{own.pk}": "read_only",
            f"level-{foreign.pk}": "read_only",
            "level-x": "",
            "level-999999999": "",
        }
        browser.post(f"{page}/volumes", given)
        assert (level(restricted, own), level(restricted, foreign)) == ("read_only", None)

    def test_a_wrong_level_is_refused_at_its_object(self, browser, account, page, restricted):
        one, two = VolumeFactory(account=account, label="a"), VolumeFactory(account=account, label="b")
        answer = browser.post(f"{page}/volumes", {f"level-{one.pk}": "read_only", f"level-{two.pk}": "all"})
        assert "not valid" in problems(answer, f"level-{two.pk}")
        assert not problems(answer, f"level-{one.pk}")
        assert level(restricted, one) is None

    def test_a_refused_form_shows_its_page_within_the_limits_of_filters(
        self, browser, account, page, restricted, monkeypatch, settings
    ):
        settings.FILTER_TIMEOUT = 7
        volume = VolumeFactory(account=account, label="data")
        address, wrong = f"{page}/volumes?label=data", {f"level-{volume.pk}": "all"}
        answer = browser.post(address, wrong)
        assert answer.status_code == 200
        assert "not valid" in problems(answer, f"level-{volume.pk}")
        given, counted = [], []

        def measured(account_id: int, **options: bool) -> nullcontext[None]:
            counted.append((account_id, options))
            return nullcontext()

        monkeypatch.setattr("accounts.services.attempts.measured_with_api", measured)
        browser.post(f"{page}/volumes", wrong)
        assert counted == [(account.pk, {"polls": False})], "The work of saving."
        browser.post(address, wrong)
        assert counted == [(account.pk, {"polls": False})] * 3, "And the work of the filter."

        @contextmanager
        def end(seconds: float) -> Iterator[None]:
            given.append(seconds)
            yield
            raise TookTooLong

        monkeypatch.setattr(prepared, "ending_after", end)
        answer = browser.post(address, wrong)
        assert (answer.status_code, given) == (400, [7])
        assert TOO_SLOW in words(answer)
        assert "not valid" in problems(answer, f"level-{volume.pk}")
        assert browser.post(address, {f"level-{volume.pk}": "read_only"}).status_code == 302
        assert given == [7], "The limit is for filters, not for saving."
        assert level(restricted, volume) == "read_only"

    def test_many_objects_have_pages_and_a_search(self, browser, account, page, restricted):
        for number in range(OBJECTS_ON_A_PAGE + 1):
            VolumeFactory(account=account, label=f"data-{number:02}")
        last = account.volumes.get(label="data-50")
        address = f"{page}/volumes?page=2"
        assert [each.label for each in browser.get(address).context["form"].objects] == ["data-50"]
        answer = browser.post(address, {f"level-{last.pk}": "read_only"})
        assert answer["Location"] == address
        found = browser.get(f"{page}/volumes", {"label": "A-5", "level": "read_only"})
        assert [each.key for each in found.context["form"].objects] == [last.pk]
        assert browser.get(f"{page}/volumes", {"level": "none"}).context["page_obj"].paginator.count == 50
        for nothing in ({"label": "zzz"}, {"label": "\0"}, {"level": "most"}):
            assert "No objects match" in words(browser.get(f"{page}/volumes", nothing))

    def test_they_belong_to_one_user(self, browser, account, page, restricted):
        other = UserFactory(account=account, restricted=True)
        volume = VolumeFactory(account=account)
        browser.post(f"{page}/volumes", {f"level-{volume.pk}": "read_only"})
        assert level(other, volume) is None
