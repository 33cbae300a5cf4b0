"""No page of the admin shows a secret, a token, or its stored form, and no filter can query one."""

import hashlib
from datetime import timedelta
from unittest.mock import patch

import pyotp
import pytest
from django.contrib import admin as django_admin
from django.utils.timezone import now

from accounts.models import (
    Authorization,
    Login,
    Message,
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthIDToken,
    OAuthRefreshToken,
    PersonalToken,
    PhoneVerification,
    SecondFactor,
    SecurityAnswer,
    TokenLink,
    TrustedDevice,
    User,
)
from accounts.services import phone, second_factor, security_questions, token_links, users
from accounts.services.security_questions import Answer
from compute.models import Job
from config.encryption import decrypt_json
from managed.models import Contact, Credential, Decryption, KeyPair, Service
from tests.config.admin.pages import list_address, page_address
from tests.managed.one_of_each import one_of_each
from tests.world import STRONG

pytestmark = pytest.mark.django_db

TOKEN = hashlib.sha256(b"a token").hexdigest()
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
ACCESS, REFRESH, CODE = "access-0123456789abcdef", "refresh-0123456789abcdef", "code-0123456789abcdef"
CLIENT_SECRET = "c5" * 32
DAY = timedelta(days=1)


@pytest.fixture
def secrets(world, running) -> list[str]:
    """Create one of every kind of secret. Returns each value and each stored form."""
    user = User.objects.get(username=world.actor.username)
    user.set_password("the-owners-own-password")
    user.save()
    PersonalToken.objects.create(user=user, label="deploy", digest=DIGEST, prefix=TOKEN[:16])
    app = OAuthClient.objects.create(
        name="Terraform", client_id="0a" * 10, client_secret=CLIENT_SECRET, user=user,
        client_type="confidential", authorization_grant_type="authorization-code",
        redirect_uris="https://tf.example/callback",
    )  # fmt: skip
    later = now() + timedelta(hours=2)
    access = OAuthAccessToken.objects.create(user=user, application=app, token=ACCESS, expires=later)
    refresh = OAuthRefreshToken.objects.create(user=user, application=app, token=REFRESH, access_token=access)
    OAuthGrant.objects.create(
        user=user, application=app, code=CODE, expires=later, redirect_uri="https://tf.example/callback"
    )
    waiting = world.create(label="waits").jobs.get()
    assert waiting.encrypted
    stored = [
        DIGEST, user.password, user.password[-12:], app.client_secret, access.token_checksum,
        refresh.token_checksum, OAuthGrant.objects.get().code, bytes(waiting.encrypted).decode(),
    ]  # fmt: skip
    readable = [TOKEN, TOKEN[16:], ACCESS, REFRESH, CODE, CLIENT_SECRET, STRONG, "the-owners-own-password"]
    watched = one_of_each(world.account, running)
    return [
        *readable, *(text for text in stored if text), *signing_in(world, user), *sent(world, user),
        *watched.secrets(),
    ]  # fmt: skip


def signing_in(world, user: User) -> list[str]:
    """Create a second factor, answers and a remembered browser. Returns their values and stored forms."""
    security_questions.answer(world.actor, [Answer(1, "Bergenhus"), Answer(2, "Snarfle"), Answer(3, "Trabant")])
    secret, _ = second_factor.begin(world.actor)
    scratch = second_factor.confirm(world.actor, pyotp.TOTP(secret).now())
    pending, _ = second_factor.begin(world.actor)
    device = TrustedDevice.objects.create(
        user=user, digest="d7" * 32, last_remote_addr="198.51.100.7", last_authenticated=now(), expiry=now() + DAY
    )
    _, address = token_links.make_link(world.actor, user, "ci")
    factor = SecondFactor.objects.get()
    return [
        "Bergenhus", "Snarfle", "Trabant", *SecurityAnswer.objects.values_list("response", flat=True),
        secret, scratch, pending, factor.scratch, bytes(factor.encrypted).decode(), bytes(factor.pending).decode(),
        device.digest, address.rpartition("/")[2], TokenLink.objects.get().digest,
    ]  # fmt: skip


def sent(world, user: User) -> list[str]:
    """Create an invitation and a code that wait to be sent. Returns their secrets."""
    users.invite(world.actor, "fresh-face", "fresh@example.com")
    users.mail_password(world.actor, user)
    # longer than any real code: six digits may be part of an id by chance
    with patch("accounts.services.phone.secrets.randbelow", return_value=83_615_372_901_553):
        phone.send_code(world.actor, "NO", "40612345")
    encrypted = [bytes(each) for each in Message.objects.values_list("encrypted", flat=True)]
    texts = [decrypt_json(each)["text"] for each in encrypted]
    addresses = [
        text.split("/password/")[1].split()[0] for text in texts if "/password/" in text and "forgotten" not in text
    ]
    code = next(text.split()[0] for text in texts if "verification code" in text)
    assert len(addresses) == 2
    kept = PhoneVerification.objects.get()
    return [*addresses, code, bytes(kept.encrypted).decode(), *(each.decode() for each in encrypted)]


def test_no_page_shows_a_secret(admin, secrets):
    for model, page in django_admin.site._registry.items():
        answers = [admin.get(list_address(model))]
        for obj in model._default_manager.all()[:20]:
            address = page_address(obj)
            answers += [admin.get(address), admin.get(address.replace("/change/", "/history/"))]
            for verb in getattr(page, "verbs", ()):
                if verb.confirm or verb.form:
                    answers.append(admin.post(address.replace("/change/", f"/do/{verb.name}/")))
        for answer in answers:
            assert answer.status_code == 200
            text = answer.content.decode()
            assert not [secret for secret in secrets if secret in text], answer.request["PATH_INFO"]


@pytest.mark.parametrize("model", [OAuthGrant, OAuthIDToken])
def test_codes_and_id_tokens_have_no_page(model):
    assert not django_admin.site.is_registered(model)


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        (PersonalToken, "digest__startswith"),
        (PersonalToken, "user__password__startswith"),
        (User, "password__startswith"),
        (OAuthClient, "client_secret__startswith"),
        (OAuthAccessToken, "token_checksum__startswith"),
        (OAuthRefreshToken, "token__startswith"),
        (Job, "encrypted__isnull"),
        (Message, "encrypted__startswith"),
        (TrustedDevice, "digest__startswith"),
        (TokenLink, "digest__startswith"),
        (TokenLink, "user__password__startswith"),
        (User, "token_links__digest__startswith"),
        (TrustedDevice, "user__password__startswith"),
        (Authorization, "client__client_secret__startswith"),
        (User, "second_factor__scratch__startswith"),
        (User, "security_answers__response__startswith"),
        (User, "devices__digest__startswith"),
        (Login, "user__password__startswith"),
        (Credential, "encrypted__startswith"),
        (KeyPair, "encrypted__startswith"),
        (Decryption, "credential__encrypted__startswith"),
        (Decryption, "key_pair__encrypted__startswith"),
        (Service, "credentials__encrypted__startswith"),
        (Service, "account__managed_credentials__encrypted__startswith"),
        (Contact, "account__managed_key__encrypted__startswith"),
    ],
)
def test_lists_cannot_be_asked_about_secrets(model, lookup, admin, secrets):
    assert admin.get(list_address(model), {lookup: "a"}).status_code == 400


def test_a_tokens_field_cannot_be_written(admin, secrets):
    token = PersonalToken.objects.get()
    assert admin.post(page_address(token), {"label": "mine", "scopes": "*"}).status_code == 403
    token.refresh_from_db()
    assert token.label == "deploy"


def test_revoking_a_personal_token_ends_it_and_has_an_event(admin, secrets):
    token = PersonalToken.objects.get()
    address = page_address(token).replace("/change/", "/do/revoke/")

    asked = admin.post(address)
    assert "answered 401" in asked.content.decode()
    assert PersonalToken.objects.exists()

    admin.post(address, {"confirmed": "yes"})
    assert not PersonalToken.objects.exists()
    assert token.user.account.events.filter(action="token_delete", username="staff").exists()


def test_revoking_an_access_token_ends_its_refresh_token_too(admin, secrets):
    admin.post(page_address(OAuthAccessToken.objects.get()).replace("/change/", "/do/revoke/"))
    assert not OAuthAccessToken.objects.exists()
    assert not OAuthRefreshToken.objects.filter(revoked=None).exists()
