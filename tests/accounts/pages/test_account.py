"""The pages of the account: contact data, settings, managed monitoring, transfer, and who may open them."""

import pytest
from django.test import Client

from accounts.models import Account, Event
from accounts.services import attempts
from compute.models import Instance
from config.errors import TooMany
from tests.accounts.pages.browsers import problems
from tests.accounts.signing_in import words
from tests.compute.at_consoles import signed_in
from tests.factories import GlobalGrantsFactory, InstanceFactory

PAGE = "/home/account"
CONTACT = {
    "company": "Harbour Ltd", "first_name": "Kari", "last_name": "Berg", "email": "kari@example.com", "phone": "",
    "address_1": "Pier 1", "address_2": "", "zip": "0150", "city": "Oslo", "state": "", "country": "no",
    "tax_id": "",
}  # fmt: skip
pytestmark = pytest.mark.django_db


def reader(account: Account, level: str | None = "read_only") -> Client:
    return signed_in(GlobalGrantsFactory(user__account=account, account_access=level).user)


def actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


class TestContactData:
    def test_it_is_saved_and_shown(self, browser, account):
        assert browser.get(f"{PAGE}/edit").context["form"]["company"].value() == account.company
        answer = browser.post(f"{PAGE}/edit", CONTACT, follow=True)
        assert answer.request["PATH_INFO"] == PAGE
        for shown in ("The contact data was saved.", "Harbour Ltd", "Kari Berg", "0150 Oslo", "NO"):
            assert shown in words(answer)
        assert actions() == ["account_update"]

    @pytest.mark.parametrize(
        ("wrong", "field", "reason"),
        [
            ({"email": ""}, "email", "Email is required"),
            ({"country": "zz"}, "country", "Country is not valid"),
            ({"city": "x" * 25}, "city", "Length must be at most 24 characters"),
            ({"company": "a\0b"}, "company", "Company is not valid"),
        ],
    )
    def test_each_refusal_stands_at_its_field(self, browser, account, wrong, field, reason):
        assert reason in problems(browser.post(f"{PAGE}/edit", CONTACT | wrong), field)
        assert Account.objects.get(pk=account.pk).company == account.company


class TestSettings:
    def test_they_are_saved(self, browser, account):
        answer = browser.post(f"{PAGE}/settings", {"backups_enabled": "on"}, follow=True)
        assert "The settings were saved." in words(answer)
        account.refresh_from_db()
        assert (account.network_helper, account.backups_enabled) == (False, True)
        assert actions() == ["account_settings_update"]

    def test_managed_monitoring_is_enabled_once(self, browser, account):
        assert "Enable managed monitoring" in words(browser.get(f"{PAGE}/managed"))
        assert browser.post(f"{PAGE}/managed")["Location"] == f"{PAGE}/settings"
        assert Account.objects.get(pk=account.pk).managed
        assert "is enabled already" in words(browser.get(f"{PAGE}/managed"))
        browser.post(f"{PAGE}/managed")
        assert actions() == ["managed_enabled"]


class TestTransfer:
    def test_the_quota_is_that_of_all_instances(self, browser, account):
        InstanceFactory(account=account, type__transfer=1000)
        Instance.objects.update(created="2020-01-01T00:00:00Z")
        assert "0 of 1000 GB" in words(browser.get(f"{PAGE}/transfer"))

    def test_an_account_that_has_asked_too_much_waits(self, browser, monkeypatch):
        def refuse(account_id: int) -> None:
            raise TooMany("Try again in 9 seconds.", 1, 9)

        monkeypatch.setattr(attempts, "measured_with_api", refuse)
        answer = browser.get(f"{PAGE}/transfer")
        assert (answer.status_code, answer["Retry-After"]) == (429, "9")
        assert "Try again in 9 seconds." in words(answer)


class TestWhoMayOpenThem:
    def test_a_reader_changes_nothing(self, account):
        browser = reader(account)
        page = words(browser.get(PAGE))
        assert account.company in page
        assert "Edit contact data" not in page
        for changing in ("edit", "settings", "managed"):
            assert browser.get(f"{PAGE}/{changing}").status_code == 403
            assert browser.post(f"{PAGE}/{changing}", CONTACT).status_code == 403
        assert not actions()

    def test_without_access_there_is_no_page(self, account):
        browser = reader(account, None)
        assert browser.get(PAGE).status_code == 403
        assert browser.get(f"{PAGE}/transfer").status_code == 403
        assert f'href="{PAGE}"' not in browser.get("/home").content.decode()
