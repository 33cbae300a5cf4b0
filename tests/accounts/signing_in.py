"""Users who sign in with an OpenID Connect provider, and their browsers."""

import re
from html import unescape
from types import SimpleNamespace

import pyotp
import pytest
from django.core import mail
from django.test import Client

from accounts import openid
from accounts.models import Login, Message, User
from accounts.services import external, outbox, second_factor
from config.limits import rates
from tests.oidc_provider import subject_of

PASSWORD, NEW = "correct-horse-7-battery", "Tall-ships.sail-at-9"
DESCRIPTION = "/.well-known/openid-configuration"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
"""The secret of all second factors in these tests."""
MOMENT = 1_800_000_000


def code(*, ahead: int = 0) -> str:
    """Return the authenticator app's code, now or `ahead` steps from now. Some clocks run ahead."""
    return pyotp.TOTP(SECRET).at(MOMENT + ahead * second_factor.STEP_SECONDS)


@pytest.fixture(autouse=True)
def _one_moment(monkeypatch) -> None:
    """Stop the clock of second factors, so that no test crosses the end of a step and no guess is right by
    chance."""
    monkeypatch.setattr(second_factor, "time", SimpleNamespace(time=lambda: MOMENT))
    monkeypatch.setattr(pyotp, "random_base32", lambda: SECRET)


def tie(user: User, config: openid.OpenID, subject: str) -> None:
    """Link `user` to an account at the provider."""
    external.tie(
        user, config.issuer, subject, label="kari", provider=config.name,
        authentication_type=config.authentication_type,
    )  # fmt: skip
    user.refresh_from_db()


def start(browser: Client, **fields) -> str:
    """Press the button on the login page. Returns the address that the browser is sent to."""
    answer = browser.post("/login/external", fields)
    assert answer.status_code == 302, answer.content
    return answer["Location"]


def come_in(browser: Client, there, person: str = "kari", **fields):
    """Sign in with the provider. `there` is the function that acts as the person at the provider."""
    return browser.get(there(start(browser, **fields), person))


def mailed() -> list[tuple[str, str]]:
    """Return the recipients and subjects of the mails in the outbox, in order."""
    return [(each.recipient, each.subject) for each in Message.objects.order_by("pk")]


def is_in(browser: Client) -> bool:
    return browser.get("/home/profile").status_code == 200


def words(answer) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def path_in_mail(name: str = "password") -> str:
    outbox.send_due()
    return re.findall(rf"http://[^/]+(/{name}/\S+)", mail.outbox[-1].body)[0]


@pytest.fixture
def tied(owner, provider) -> User:
    """The owner, who signs in with the real provider as kari."""
    tie(owner, provider, subject_of("kari"))
    return owner


@pytest.fixture
def forged(owner, forger) -> User:
    """The owner, who signs in with the forged provider as kari."""
    tie(owner, forger.config, "kari")
    return owner


@pytest.fixture
def with_password(owner) -> User:
    owner.set_password(PASSWORD)
    owner.save(update_fields=["password"])
    return owner


@pytest.fixture
def limit(settings):
    def change(**limits: str) -> None:
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, **limits}
        rates.forget()

    yield change
    rates.forget()


def refused(browser: Client, answer, status: int) -> str:
    assert answer.status_code == status, answer.content
    assert not is_in(browser)
    assert not Login.objects.exists()
    return words(answer)
