"""The pages of the account's users: the list, an invitation, changes, removal, and logins."""

import pytest
from django.test import Client

from accounts.models import Event, GlobalGrants, Login, User
from tests.accounts.pages.browsers import problems, sign_in, signed_in_ago
from tests.accounts.signing_in import mailed, words
from tests.compute.at_consoles import signed_in
from tests.factories import GlobalGrantsFactory, UserFactory

PAGE = "/home/users"
pytestmark = pytest.mark.django_db


def page_of(user: User, page: str = "") -> str:
    return f"{PAGE}/{user.pk}{'/' if page else ''}{page}"


def actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


class TestTheList:
    def test_it_shows_each_user_with_its_access(self, browser, owner, restricted, stranger):
        restricted.two_factor_auth = True
        restricted.save()
        page = words(browser.get(PAGE))
        assert "owner (you)" in page
        assert f"{restricted.email} restricted on" in page
        assert stranger.username not in page

    def test_an_invitation_is_open_until_its_link_expires(self, browser, account, settings):
        UserFactory(account=account, username="robin")
        assert "invitation valid until" in words(browser.get(PAGE))
        settings.PASSWORD_RESET_TIMEOUT = 0
        assert "no password yet" in words(browser.get(PAGE))

    def test_filters_are_in_the_address(self, browser, restricted):
        assert restricted.email not in words(browser.get(PAGE, {"restricted": "False"}))
        assert restricted.email in words(browser.get(PAGE, {"restricted": "True"}))
        assert "No users match" in words(browser.get(PAGE, {"username": "nobody"}))
        assert "No users match" in words(browser.get(PAGE, {"restricted": "maybe"}))

    @pytest.mark.parametrize("page", ["", "/new", "/logins"])
    def test_a_restricted_user_is_refused(self, account, page):
        user = GlobalGrantsFactory(user__account=account, account_access="read_write").user
        browser = signed_in(user)
        assert browser.get(PAGE + page).status_code == 403
        assert f'href="{PAGE}"' not in browser.get("/home").content.decode()


class TestInviting:
    def test_a_mail_is_sent_and_the_grants_are_next(self, browser, account):
        given = {"username": "robin", "email": "robin@example.com", "restricted": "restricted"}
        answer = browser.post(f"{PAGE}/new", given, follow=True)
        user = User.objects.get(username="robin")
        assert (user.account, user.restricted) == (account, True)
        assert answer.request["PATH_INFO"] == page_of(user, "grants")
        assert "robin is invited." in words(answer)
        assert actions() == ["user_create"]
        assert mailed() == [("robin@example.com", "You are invited to Skerry")]

    def test_an_unrestricted_user_has_no_page_of_grants(self, browser):
        given = {"username": "robin", "email": "robin@example.com", "restricted": "unrestricted"}
        answer = browser.post(f"{PAGE}/new", given)
        user = User.objects.get(username="robin")
        assert not user.restricted
        assert answer["Location"] == page_of(user)
        assert browser.get(page_of(user, "grants")).status_code == 404

    @pytest.mark.parametrize(
        ("wrong", "field", "reason"),
        [
            ({"username": "owner"}, "username", "Username is taken"),
            ({"username": "x"}, "username", "Length must be 3-32 characters"),
            ({"username": ""}, "username", "Username is required"),
            ({"username": "a\0bc"}, "username", "Username is not valid"),
            ({"email": "nowhere"}, "email", "Email is not valid"),
            ({"restricted": "a bit"}, "restricted", "Access is not valid"),
        ],
    )
    def test_each_refusal_stands_at_its_field(self, browser, wrong, field, reason):
        given = {"username": "robin", "email": "robin@example.com", "restricted": "restricted"} | wrong
        assert reason in problems(browser.post(f"{PAGE}/new", given), field)
        assert not User.objects.filter(username="robin").exists()

    def test_the_password_is_asked_for_first(self, browser):
        signed_in_ago(browser, 4000)
        assert browser.get(f"{PAGE}/new")["Location"].startswith("/home/confirm?next=")
        assert browser.post(f"{PAGE}/new", {"username": "robin"})["Location"].startswith("/home/confirm")


class TestChanging:
    def test_name_and_email_are_saved(self, browser, restricted):
        given = {"username": "robin", "email": "robin@example.com"}
        assert browser.post(page_of(restricted, "edit"), given)["Location"] == page_of(restricted)
        restricted.refresh_from_db()
        assert (restricted.username, restricted.email) == ("robin", "robin@example.com")
        assert actions() == ["user_update"]

    def test_both_must_be_given(self, browser, restricted):
        answer = browser.post(page_of(restricted, "edit"), {"username": "", "email": "owner"})
        assert problems(answer, "username") == "Length must be 3-32 characters"
        assert "Email is not valid" in problems(answer, "email")

    def test_a_restricted_user_becomes_unrestricted(self, browser, restricted):
        page = browser.get(page_of(restricted, "access"))
        assert "Make restricted unrestricted" in words(page)
        answer = browser.post(
            page_of(restricted, "access"), {"restricted": page.context["form"]["restricted"].value()}
        )
        assert answer["Location"] == page_of(restricted)
        restricted.refresh_from_db()
        assert not restricted.restricted
        assert not GlobalGrants.objects.filter(user=restricted).exists()

    def test_an_unrestricted_user_becomes_restricted(self, browser, account):
        user = UserFactory(account=account)
        answer = browser.post(page_of(user, "access"), {"restricted": "restricted"})
        assert answer["Location"] == page_of(user, "grants")
        assert User.objects.get(pk=user.pk).restricted

    def test_the_last_unrestricted_user_stays(self, browser, owner):
        last = "An account needs at least one unrestricted user."
        assert last in words(browser.post(page_of(owner, "access"), {"restricted": "restricted"}))
        assert last in words(browser.post(page_of(owner, "remove")))
        assert not User.objects.get(pk=owner.pk).restricted
        page = browser.get(page_of(owner)).content.decode()
        assert f'href="{page_of(owner, "remove")}"' not in page
        assert page.count(last) == 2, "both verbs are unavailable, with the reason"

    def test_an_invited_user_does_not_replace_the_last_one(self, browser, owner, account):
        robin = UserFactory(account=account, username="robin")
        last = "An account needs at least one unrestricted user."
        assert last in words(browser.get(page_of(owner)))
        assert last in words(browser.post(page_of(owner, "access"), {"restricted": "restricted"}))
        assert last in words(browser.post(page_of(owner, "remove")))
        assert last not in words(browser.get(page_of(robin))), "An invitation can be withdrawn."
        robin.set_password("correct-horse-7-battery")
        robin.save()
        assert last not in words(browser.get(page_of(owner)))
        assert browser.post(page_of(owner, "access"), {"restricted": "restricted"}).status_code == 302

    def test_a_user_of_a_provider_replaces_the_last_one(self, browser, owner, account):
        UserFactory(account=account, authentication_type="github")
        assert "An account needs at least one" not in words(browser.get(page_of(owner)))

    def test_a_user_is_removed(self, browser, restricted):
        assert browser.get(page_of(restricted, "remove")).status_code == 200
        assert browser.post(page_of(restricted, "remove"))["Location"] == PAGE
        assert not User.objects.filter(pk=restricted.pk).exists()
        assert actions() == ["user_delete"]

    @pytest.mark.parametrize("page", ["", "edit", "access", "remove", "grants", "grants/instances"])
    def test_a_user_of_another_account_does_not_exist(self, browser, stranger, page):
        User.objects.filter(pk=stranger.pk).update(restricted=True)
        assert browser.get(page_of(stranger, page)).status_code == 404
        if page:
            assert browser.post(page_of(stranger, page), {"username": "robin"}).status_code == 404
        assert User.objects.filter(username=stranger.username).exists()


class TestLogins:
    def test_logins_of_all_users_are_listed_newest_first(self, browser, account, owner, restricted, stranger):
        Login.objects.create(
            account=account, user=restricted, username="restricted", restricted=True, ip="192.0.2.9"
        )
        Login.objects.create(
            account=stranger.account, user=stranger, username="x", restricted=False, ip="192.0.2.1"
        )
        page = words(browser.get(f"{PAGE}/logins"))
        assert page.index("192.0.2.9 restricted") < page.index("127.0.0.1 unrestricted")
        assert "192.0.2.1 " not in page

    def test_a_filter_finds_one_user(self, browser, account, restricted):
        Login.objects.create(
            account=account, user=restricted, username="restricted", restricted=True, ip="192.0.2.9"
        )
        page = words(browser.get(f"{PAGE}/logins", {"username": "restr", "since": "2020-01-01"}))
        assert "192.0.2.9" in page
        assert "127.0.0.1" not in page
        assert "No logins match" in words(browser.get(f"{PAGE}/logins", {"until": "2020-01-01"}))
        assert "Enter a valid value." in words(browser.get(f"{PAGE}/logins", {"until": "9999-12-31"}))

    def test_the_page_of_a_user_shows_its_own(self, restricted, owner, with_password):
        sign_in("restricted", restricted)
        browser: Client = sign_in("owner")
        page = words(browser.get(page_of(restricted)))
        assert "owner · Cast" in page
        assert "127.0.0.1" in page
        assert "There are no logins" not in page
