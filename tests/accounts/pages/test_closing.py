"""The page that closes the account."""

import pytest
from django.test import Client

from accounts.models import Account, Event
from accounts.services.closing import NOT_EMPTY
from tests.accounts.pages.browsers import problems, sign_in, signed_in_ago
from tests.accounts.signing_in import PASSWORD, words
from tests.factories import DomainFactory, GlobalGrantsFactory, VolumeFactory

PAGE = "/home/account/close"
GIVEN = {"name": "Cast", "comment": ""}
pytestmark = pytest.mark.django_db


def holder(account: Account, **grants) -> Client:
    """A browser in which a restricted user with these grants has just signed in."""
    given = {"account_access": None, **grants}
    return sign_in("kari", GlobalGrantsFactory(user__account=account, user__username="kari", **given).user)


def test_it_closes_the_account_and_signs_out(browser, account):
    assert f'href="{PAGE}"' in browser.get("/home/account").content.decode()
    assert "Type Cast to confirm" in words(browser.get(PAGE))
    answer = browser.post(PAGE, {**GIVEN, "comment": "We move."}, follow=True)
    assert answer.request["PATH_INFO"] == "/account-closed"
    assert "The account is closed" in words(answer)
    assert "Its tokens and apps have lost their access." in words(answer)
    assert words(answer).count("Sign in") == 1
    assert "Sign in as a user of another account" in words(answer)
    assert Event.objects.get().message == "owner closed the account: We move."
    assert browser.get("/home")["Location"].startswith("/login")
    refused = Client().post("/login", {"username": "owner", "password": PASSWORD})
    assert "was closed by one of its users" in words(refused)


@pytest.mark.parametrize("name", ["", "cast", "Cast Ltd"])
def test_the_name_must_be_that_of_the_account(browser, account, name):
    assert problems(browser.post(PAGE, {"name": name}), "name")
    assert Account.objects.get(pk=account.pk).is_active


def test_a_long_comment_is_refused_at_its_field(browser, account):
    assert "500" in problems(browser.post(PAGE, {**GIVEN, "comment": "x" * 501}), "comment")
    assert Account.objects.get(pk=account.pk).is_active


def test_an_account_without_a_company_is_named_by_its_email(browser, account):
    Account.objects.update(company="")
    assert "Type cast@example.com to confirm" in words(browser.get(PAGE))
    assert browser.post(PAGE, {"name": " cast@example.com "})["Location"] == "/account-closed"


def test_objects_to_delete_first_are_named_with_links(browser, account):
    for _ in range(2):
        VolumeFactory(account=account)
    DomainFactory(account=account)
    page = browser.get(PAGE)
    assert "Delete these objects first: 2 volumes, 1 domain." in words(page)
    for link in ('<a href="/home/volumes">2 volumes</a>', '<a href="/home/domains">1 domain</a>'):
        assert link in page.content.decode()
    assert "Delete these objects first" in words(browser.post(PAGE, GIVEN))
    assert Account.objects.get(pk=account.pk).is_active


def test_the_password_is_asked_again(browser, account):
    signed_in_ago(browser, 700)
    assert browser.get(PAGE)["Location"] == f"/home/confirm?next={PAGE.replace('/', '%2F')}"


class TestRestrictedUsers:
    def test_need_the_grant(self, account):
        browser = holder(account, account_access="read_write")
        assert browser.get(PAGE).status_code == browser.post(PAGE, GIVEN).status_code == 403
        page = browser.get("/home/account")
        assert PAGE not in page.content.decode()
        assert "You need the grant Close the account" in words(page)

    def test_learn_no_kinds_and_numbers_of_objects(self, account):
        for _ in range(2):
            VolumeFactory(account=account)
        browser = holder(account, cancel_account=True)
        for page in (browser.get(PAGE), browser.post(PAGE, GIVEN)):
            assert NOT_EMPTY in words(page)
            assert "2 volumes" not in words(page)
            assert "Delete these first" not in words(page)
        assert Account.objects.get(pk=account.pk).is_active

    def test_need_no_access_to_the_account(self, account):
        browser = holder(account, cancel_account=True)
        assert 'href="/home/account"' not in browser.get(PAGE).content.decode()
        assert browser.post(PAGE, GIVEN)["Location"] == "/account-closed"
        assert Account.objects.get(pk=account.pk).closed_by == "kari"
