"""The second factor is enabled and disabled in the profile."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from accounts.models import Event, SecondFactor, TrustedDevice, User
from accounts.pages.second_factor import qr_code
from accounts.services import second_factor
from tests.accounts.pages.browsers import careful, kept_in_sessions, problems, sign_in, signed_in_ago
from tests.accounts.signing_in import PASSWORD, SECRET, code, is_in, mailed, words
from tests.factories import TrustedDeviceFactory

pytestmark = pytest.mark.django_db
PAGE = "/home/second-factor"
BEGIN_PAGE, OFF_PAGE = f"{PAGE}/begin", f"{PAGE}/off"


def turn_on(browser: Client) -> str:
    """Enable the second factor. Returns the scratch code."""
    assert browser.post(BEGIN_PAGE)["Location"] == PAGE
    answer = browser.post(PAGE, {"code": code()})
    return re.findall(r'<code id="scratch">([0-9a-f]+)</code>', answer.content.decode())[0]


def is_on(user: User) -> bool:
    user.refresh_from_db()
    return user.two_factor_auth


class TestTurningItOn:
    def test_begins_with_the_questions(self, browser, owner):
        assert "Answer the questions" in words(browser.get(PAGE))
        asked = browser.post(BEGIN_PAGE)["Location"]
        assert asked == "/home/security-questions?next=%2Fhome%2Fsecond-factor"
        assert not SecondFactor.objects.exists()
        given = {f"question_{n}": str(n + 1) for n in range(3)} | {f"response_{n}": "Bergen" for n in range(3)}
        assert browser.post(asked, given | {"next": PAGE})["Location"] == PAGE
        assert "Scan this QR code" in words(browser.get(PAGE))

    @pytest.mark.usefixtures("answered")
    def test_goes_on_with_a_picture_for_the_app(self, browser):
        browser.post(BEGIN_PAGE)
        page = browser.get(PAGE).content.decode()
        assert SECRET in page
        assert qr_code(f"otpauth://totp/Skerry:owner?secret={SECRET}&issuer=Skerry") in page
        assert SECRET not in kept_in_sessions()

    @pytest.mark.usefixtures("answered")
    def test_ends_with_a_code_and_a_scratch_code_that_is_shown_once(self, browser, owner):
        scratch = turn_on(browser)
        assert is_on(owner)
        assert [event.action for event in Event.objects.all()] == ["tfa_enabled"]
        for path in ("/home/profile/sign-in", PAGE):
            assert scratch not in browser.get(path).content.decode()
        assert scratch not in kept_in_sessions()
        assert SECRET not in browser.get(PAGE).content.decode()
        other = sign_in("owner")
        assert not is_in(other)
        assert other.post("/login/code", {"code": scratch})["Location"] == "/home"

    @pytest.mark.usefixtures("answered")
    @pytest.mark.parametrize("wrong", ["000000", "abc", "1" * 64])
    def test_takes_no_wrong_code_and_shows_the_picture_again(self, browser, owner, wrong):
        browser.post(BEGIN_PAGE)
        answer = browser.post(PAGE, {"code": wrong})
        assert "The code is not right." in problems(answer, "code")
        assert SECRET in answer.content.decode()
        assert not is_on(owner)

    @pytest.mark.usefixtures("answered")
    def test_wants_a_code(self, browser, owner):
        browser.post(BEGIN_PAGE)
        assert problems(browser.post(PAGE, {"code": ""}), "code") == "This field is required."
        assert "at most 64" in problems(browser.post(PAGE, {"code": "1" * 65}), "code")

    @pytest.mark.usefixtures("answered")
    def test_is_not_guessed_at(self, browser, owner, limit):
        limit(second_factor="2/600")
        browser.post(BEGIN_PAGE)
        for _ in range(2):
            browser.post(PAGE, {"code": "000000"})
        answer = browser.post(PAGE, {"code": code()})
        assert answer.status_code == 429
        assert problems(answer, "code").startswith("Too many attempts. Try again in ")
        assert int(answer["Retry-After"]) > 0
        assert not is_on(owner)

    @pytest.mark.usefixtures("answered")
    def test_begins_again_where_it_took_too_long(self, browser, owner):
        browser.post(BEGIN_PAGE)
        SecondFactor.objects.update(pending_until=now() - timedelta(seconds=1))
        answer = browser.post(PAGE, {"code": code()}, follow=True)
        assert "Begin again." in words(answer)
        assert SECRET not in answer.content.decode()
        assert not is_on(owner)

    def test_needs_a_beginning(self, browser, owner):
        assert "Begin again." in words(browser.post(PAGE, {"code": code()}, follow=True))
        assert not is_on(owner)

    @pytest.mark.usefixtures("answered")
    def test_forgets_other_browsers_and_keeps_this_one_in(self, with_password):
        TrustedDeviceFactory(user=with_password)
        browser = sign_in("owner", remember="on")
        turn_on(browser)
        assert not TrustedDevice.objects.exists()
        assert is_in(browser)
        assert browser.session.get_expire_at_browser_close()


@pytest.mark.usefixtures("answered")
class TestOnceItIsOn:
    def test_it_is_turned_off(self, browser, owner):
        turn_on(browser)
        answer = browser.post(OFF_PAGE, follow=True)
        assert "The second factor is off." in words(answer)
        assert not is_on(owner)
        assert not SecondFactor.objects.exists()
        assert [event.action for event in Event.objects.order_by("pk")] == ["tfa_enabled", "tfa_disabled"]
        assert mailed() == [
            (owner.email, "Your second factor was set up"), (owner.email, "Your second factor was turned off")
        ]  # fmt: skip
        assert is_in(sign_in("owner"))
        browser.post(OFF_PAGE)
        assert (Event.objects.count(), len(mailed())) == (2, 2), "off is off"

    def test_it_is_set_up_anew_and_the_old_app_counts_until_then(self, browser, owner):
        turn_on(browser)
        browser.post(BEGIN_PAGE)
        assert "Scan this" in words(browser.get(PAGE))
        assert second_factor.accept(owner, code(ahead=1))


class TestWhoMay:
    @pytest.mark.parametrize("path", [BEGIN_PAGE, OFF_PAGE])
    def test_a_link_changes_nothing(self, browser, path):
        assert browser.get(path).status_code == 405

    @pytest.mark.usefixtures("answered")
    @pytest.mark.parametrize("path", [PAGE, BEGIN_PAGE, OFF_PAGE])
    def test_a_form_of_another_site_is_refused(self, browser, path):
        assert careful(browser).post(path, {"code": code()}).status_code == 403
        assert not SecondFactor.objects.exists()

    @pytest.mark.usefixtures("answered")
    @pytest.mark.parametrize("path", [PAGE, BEGIN_PAGE, OFF_PAGE])
    def test_no_browser_that_was_left_alone(self, browser, owner, path):
        turn_on(browser)
        signed_in_ago(browser, 2000)
        assert browser.post(path)["Location"] == "/home/confirm?next=%2Fhome%2Fsecond-factor"
        assert is_on(owner)

    @pytest.mark.parametrize("path", [PAGE, BEGIN_PAGE, OFF_PAGE])
    def test_a_visitor_without_session_has_to_sign_in(self, path):
        assert Client().post(path)["Location"].startswith("/login")

    def test_staff_may_though_they_are_on_no_account(self, staff_browser, staff):
        turn_on(staff_browser)
        assert is_on(staff)
        assert Client().post("/login", {"username": "staff", "password": PASSWORD})["Location"] == "/login/code"
        staff_browser.post(OFF_PAGE)
        assert not is_on(staff)
        assert not Event.objects.exists()
        assert [address for address, _ in mailed()] == [staff.email] * 2

    def test_users_without_an_email_address_get_no_mail(self, staff_browser, staff):
        User.objects.filter(pk=staff.pk).update(email="")
        turn_on(staff_browser)
        assert mailed() == []
