"""Two-factor authentication: set up by questions, a secret and a code. A code is valid for one login."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils.timezone import now

from accounts.models import Event, SecondFactor, SecurityAnswer, TrustedDevice
from accounts.services import second_factor
from config.limits import rates
from tests.accounts.signing_in import SECRET, code
from tests.client import errors
from tests.factories import TrustedDeviceFactory

ENABLE, CONFIRM, DISABLE = (f"/v4/profile/tfa-{name}" for name in ("enable", "enable-confirm", "disable"))


@pytest.fixture
def api(client_for, owner):
    SecurityAnswer.objects.bulk_create(SecurityAnswer(user=owner, question_id=number) for number in (1, 2, 3))
    return client_for(owner)


def enabled(api) -> tuple[str, str]:
    """The secret and the scratch code of a second factor that was just enabled."""
    secret = api.post(ENABLE).json()["secret"]
    assert secret == SECRET
    return secret, api.post(CONFIRM, {"tfa_code": code()}).json()["scratch"]


def later() -> str:
    """Return a code that no login has used."""
    return code(ahead=1)


def test_it_is_on_once_a_code_confirms_the_secret(api, owner):
    answer = api.post(ENABLE).json()
    assert answer["secret"] == SECRET
    assert answer["expiry"] > now().strftime("%Y-%m-%dT%H:%M:%S")
    assert api.get("/v4/profile").json()["two_factor_auth"] is False
    assert not second_factor.accept(owner, code())
    confirmed = api.post(CONFIRM, {"tfa_code": code()})
    assert len(confirmed.json()["scratch"]) >= 16
    assert api.get("/v4/profile").json()["two_factor_auth"] is True
    assert Event.objects.get(action="tfa_enabled").username == owner.username


def test_browsers_that_were_remembered_before_have_to_show_it(api, owner, stranger):
    TrustedDeviceFactory(user=owner)
    other = TrustedDeviceFactory(user=stranger)
    enabled(api)
    assert list(TrustedDevice.objects.all()) == [other]


def test_it_needs_three_answered_questions(client_for, owner):
    SecurityAnswer.objects.bulk_create(SecurityAnswer(user=owner, question_id=number) for number in (1, 2))
    answer = client_for(owner).post(ENABLE)
    assert answer.status_code == 400
    assert "security questions" in answer.json()["errors"][0]["reason"]
    assert not SecondFactor.objects.exists()


@pytest.mark.parametrize("wrong", ["000000", "", "12345", "abc", "1" * 16])
def test_a_wrong_code_confirms_nothing(api, wrong):
    api.post(ENABLE)
    answer = api.post(CONFIRM, {"tfa_code": wrong})
    assert [each["field"] for each in answer.json()["errors"]] == ["tfa_code"]
    assert api.get("/v4/profile").json()["two_factor_auth"] is False


def test_a_secret_that_is_too_old_confirms_nothing(api):
    api.post(ENABLE)
    SecondFactor.objects.update(pending_until=now() - timedelta(seconds=1))
    assert api.post(CONFIRM, {"tfa_code": code()}).status_code == 400


def test_without_a_secret_there_is_nothing_to_confirm(api):
    assert api.post(CONFIRM, {"tfa_code": "123456"}).status_code == 400


def test_guessing_at_codes_is_limited(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "3/600"}
    rates.forget()
    api.post(ENABLE)
    for _ in range(3):
        assert api.post(CONFIRM, {"tfa_code": "000000"}).status_code == 400
    answer = api.post(CONFIRM, {"tfa_code": code()})
    assert errors(answer, 429) == {None: "Too many requests"}
    assert 0 < int(answer["Retry-After"]) <= 600
    assert (answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]) == ("3", "0")
    assert api.get("/v4/profile").json()["two_factor_auth"] is False
    rates.forget()


def test_no_code_lets_in_twice(api, owner):
    enabled(api)
    assert not second_factor.accept(owner, code()), "it was used to confirm"
    assert second_factor.accept(owner, later())
    assert not second_factor.accept(owner, later())


@pytest.mark.django_db(transaction=True)
def test_a_code_admits_one_of_many_simultaneous_logins(api, owner):
    enabled(api)

    def log_in(_) -> bool:
        try:
            return second_factor.accept(owner, later())
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(log_in, range(8))) == 1


def test_the_scratch_code_lets_in_once(api, owner):
    _, scratch = enabled(api)
    assert second_factor.accept(owner, f" {scratch.upper()} ")
    assert not second_factor.accept(owner, scratch)


def test_nothing_of_it_is_kept_readable(api):
    secret, scratch = enabled(api)
    kept = str(SecondFactor.objects.values().get()) + str(bytes(SecondFactor.objects.get().encrypted or b""))
    assert secret not in kept
    assert scratch not in kept
    assert secret not in str(list(Event.objects.values()))


@pytest.mark.parametrize(
    "turn_off", [lambda api: api.post(DISABLE), lambda api: api.put("/v4/profile", {"two_factor_auth": False})]
)
def test_it_can_be_turned_off(api, owner, turn_off):
    enabled(api)
    assert turn_off(api).status_code == 200
    assert api.get("/v4/profile").json()["two_factor_auth"] is False
    assert not second_factor.accept(owner, later())
    assert Event.objects.filter(action="tfa_disabled").count() == 1
    assert turn_off(api).status_code == 200, "off is off"
    assert Event.objects.filter(action="tfa_disabled").count() == 1


def test_the_profile_cannot_turn_it_on(api):
    answer = api.put("/v4/profile", {"two_factor_auth": True})
    assert [each["field"] for each in answer.json()["errors"]] == ["two_factor_auth"]
