"""A phone number is added to the profile, verified by the code that is sent to it, and removed."""

import re
from datetime import timedelta

import pytest
from django.utils.timezone import now

from accounts.models import Event, Message, PhoneVerification
from accounts.pages import phone_number
from accounts.services import phone
from config.encryption import decrypt_json
from tests.accounts.pages.browsers import careful, has_inline, problems, sign_in, signed_in_ago
from tests.accounts.signing_in import words

pytestmark = pytest.mark.django_db
PAGE, VERIFY, REMOVE = "/home/phone-number", "/home/phone-number/verify", "/home/phone-number/remove"
GOOD = {"iso_code": "NO", "phone_number": "406 12 345"}
NUMBER = "+4740612345"


def sent() -> list[str]:
    """The codes that were sent, in order."""
    texts = [decrypt_json(each.encrypted)["text"] for each in Message.objects.order_by("pk")]
    return [re.findall(r"\d{6}", text)[0] for text in texts]


def wrong_code() -> str:
    return f"{(int(sent()[-1]) + 1) % 10**6:06}"


@pytest.fixture
def verified(owner):
    owner.verified_phone_number = NUMBER
    owner.save(update_fields=["verified_phone_number"])
    return owner


def test_a_number_is_added_verified_and_removed(browser, owner):
    assert "Phone number none Add phone number" in words(browser.get("/home/profile/sign-in"))
    answer = browser.post(PAGE, GOOD, follow=True)
    assert answer.request["PATH_INFO"] == VERIFY
    assert f"Enter the code that was sent to {NUMBER}." in words(answer)
    assert f"{NUMBER}, not verified yet Enter the code" in words(browser.get("/home/profile/sign-in"))
    owner.refresh_from_db()
    assert owner.verified_phone_number is None
    answer = browser.post(VERIFY, {"otp_code": sent()[0]}, follow=True)
    assert answer.request["PATH_INFO"] == "/home/profile/sign-in"
    assert f"Phone number {NUMBER} Remove" in words(answer)
    assert browser.post(REMOVE)["Location"] == "/home/profile/sign-in"
    assert "Phone number none Add phone number" in words(browser.get("/home/profile/sign-in"))
    assert [event.message for event in Event.objects.order_by("pk")] == [
        "The phone number was verified.", "The phone number was removed.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "field", "reason"),
    [
        ({"iso_code": ""}, "iso_code", "Country is required"),
        ({"iso_code": "XX"}, "iso_code", "Country is not valid"),
        ({"iso_code": "NORWAY"}, "iso_code", "Length must be 2 characters"),
        ({"phone_number": ""}, "phone_number", '"Phone number" is required'),
        ({"phone_number": "12"}, "phone_number", '"Phone number" is not valid'),
        ({"phone_number": "+4915123456789"}, "phone_number", '"Phone number" is not valid'),
        ({"phone_number": "4\x00"}, "phone_number", '"Phone number" is not valid'),
    ],
)
def test_errors_are_shown_at_their_field_and_nothing_is_sent(browser, wrong, field, reason):
    assert problems(browser.post(PAGE, GOOD | wrong), field) == reason
    assert not Message.objects.exists()


def test_the_code_is_sent_again_from_a_form_with_the_number(browser):
    browser.post(PAGE, GOOD)
    assert f'href="{PAGE}"' in browser.get(VERIFY).content.decode()
    form = browser.get(PAGE).context["form"]
    again = {"iso_code": form["iso_code"].value(), "phone_number": form["phone_number"].value()}
    assert again == {"iso_code": "NO", "phone_number": NUMBER}
    browser.post(PAGE, again)
    first, second = sent()
    assert first == second


def test_a_wrong_code_verifies_nothing_and_guesses_are_limited(browser, owner):
    browser.post(PAGE, GOOD)
    for _ in range(phone.MAX_GUESSES):
        assert problems(browser.post(VERIFY, {"otp_code": wrong_code()}), "otp_code") == phone.WRONG
    answer = browser.post(VERIFY, {"otp_code": sent()[0]})
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 600
    assert "Too many attempts." in words(answer)
    owner.refresh_from_db()
    assert owner.verified_phone_number is None


def test_an_empty_code_is_no_guess(browser):
    browser.post(PAGE, GOOD)
    assert problems(browser.post(VERIFY, {"otp_code": ""}), "otp_code") == "Code is required"
    assert PhoneVerification.objects.get().attempts == 0


def test_an_expired_code_leads_back_to_the_form_for_another(browser):
    browser.post(PAGE, GOOD)
    PhoneVerification.objects.update(expiry=now() - timedelta(seconds=1))
    assert problems(browser.post(VERIFY, {"otp_code": sent()[0]}), "otp_code") == phone.WRONG
    assert browser.get(VERIFY)["Location"] == PAGE


def test_messages_are_limited(browser, limit):
    limit(sms="1/3600")
    browser.post(PAGE, GOOD)
    answer = browser.post(PAGE, GOOD)
    assert (answer.status_code, "Too many attempts." in words(answer), len(sent())) == (429, True, 1)


def test_a_verified_number_has_to_go_before_another_comes(browser, verified):
    page = browser.get(PAGE)
    assert phone.VERIFIED_ALREADY in words(page)
    assert "disabled>Send code" in page.content.decode()
    assert problems(browser.post(PAGE, GOOD), "phone_number") == phone.VERIFIED_ALREADY


def test_without_a_gateway_no_number_is_asked_for(browser, verified, settings):
    settings.SMS_GATEWAY = phone.NO_GATEWAY
    assert phone.NOTHING_SENT in words(browser.get(PAGE))
    assert problems(browser.post(PAGE, GOOD), "phone_number") == phone.NOTHING_SENT
    assert f"Phone number {NUMBER} Remove" in words(browser.get("/home/profile/sign-in")), "it can still be removed"
    browser.post(REMOVE)
    assert "Phone number none" not in words(browser.get("/home/profile/sign-in"))


def test_the_password_is_asked_for_first_but_not_for_removing(browser, verified):
    signed_in_ago(browser, 2000)
    for page in (PAGE, VERIFY):
        assert browser.get(page)["Location"].startswith("/home/confirm?next=")
        assert browser.post(page, GOOD)["Location"].startswith("/home/confirm?next=")
    assert not Message.objects.exists()
    assert browser.post(REMOVE)["Location"] == "/home/profile/sign-in"
    verified.refresh_from_db()
    assert verified.verified_phone_number is None


def test_the_pages_are_kept_by_no_cache_and_have_nothing_inline(browser):
    browser.post(PAGE, GOOD)
    for page in (browser.get(PAGE), browser.get(VERIFY)):
        assert "no-store" in page["Cache-Control"]
        assert not has_inline(page.content)


def test_forms_of_other_sites_are_refused(browser, verified):
    for page in (PAGE, VERIFY, REMOVE):
        assert careful(browser).post(page, GOOD).status_code == 403
    assert browser.get(REMOVE).status_code == 405


def test_restricted_users_verify_theirs(restricted):
    browser = sign_in("restricted", restricted)
    browser.post(PAGE, GOOD)
    browser.post(VERIFY, {"otp_code": sent()[0]})
    assert f"Phone number {NUMBER} Remove" in words(browser.get("/home/profile/sign-in"))


def test_staff_are_on_no_account_and_have_no_number(staff, staff_browser):
    staff.verified_phone_number = NUMBER  # left from when the user belonged to an account
    staff.save(update_fields=["verified_phone_number"])
    assert "Phone number" not in words(staff_browser.get("/home/profile/sign-in"))
    for page in (PAGE, VERIFY):
        assert staff_browser.get(page).status_code == 404
    for page in (PAGE, VERIFY, REMOVE):
        assert staff_browser.post(page, GOOD).status_code == 404


def test_the_account_says_which_country_is_chosen_at_first(browser, owner):
    owner.account.country = "DE"
    owner.account.save(update_fields=["country"])
    assert '<option value="DE" selected>' in browser.get(PAGE).content.decode()


def test_countries_are_called_by_their_codes_without_a_table_of_names(monkeypatch, tmp_path):
    monkeypatch.setattr(phone_number, "TZPATH", (str(tmp_path),))
    assert ("NO", "NO (+47)") in phone_number.countries.__wrapped__()
    assert ("AC", "Ascension Island (+247)") in phone_number.countries.__wrapped__()
    (tmp_path / phone_number.COUNTRY_NAMES).write_text("# names\nNO\tNorway\n")
    assert ("NO", "Norway (+47)") in phone_number.countries.__wrapped__()
