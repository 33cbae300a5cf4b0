"""No page of the admin shows a secret, a token, or what is kept of one; and no filter can be asked about it."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib import admin as django_admin
from django.utils.timezone import now

from accounts.models import (
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthIDToken,
    OAuthRefreshToken,
    PersonalToken,
    User,
)
from compute.models import Job
from tests.admin.test_admin_access import list_address, page_address
from tests.world import STRONG

pytestmark = pytest.mark.django_db

TOKEN = hashlib.sha256(b"a token").hexdigest()
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
ACCESS, REFRESH, CODE = "access-0123456789abcdef", "refresh-0123456789abcdef", "code-0123456789abcdef"
CLIENT_SECRET = "c5" * 32


@pytest.fixture
def secrets(world, running) -> list[str]:
    """One of everything secret; returns each value and each thing that is stored of it."""
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
    assert waiting.sealed
    stored = [
        DIGEST, user.password, app.client_secret, access.token_checksum, refresh.token_checksum,
        OAuthGrant.objects.get().code, bytes(waiting.sealed).decode(),
    ]  # fmt: skip
    readable = [TOKEN, TOKEN[16:], ACCESS, REFRESH, CODE, CLIENT_SECRET, STRONG, "the-owners-own-password"]
    return [*readable, *(text for text in stored if text)]


def test_no_page_shows_a_secret(admin, secrets):
    for model in django_admin.site._registry:
        addresses = [list_address(model)]
        for obj in model._default_manager.all()[:20]:
            addresses += [page_address(obj), page_address(obj).replace("/change/", "/history/")]
        for address in addresses:
            text = admin.get(address).content.decode()
            assert not [secret for secret in secrets if secret in text], address


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
        (Job, "sealed__isnull"),
    ],
)
def test_lists_cannot_be_asked_about_secrets(model, lookup, admin, secrets):
    assert admin.get(list_address(model), {lookup: "a"}).status_code == 400


def test_a_tokens_field_cannot_be_written(admin, secrets):
    token = PersonalToken.objects.get()
    assert admin.post(page_address(token), {"label": "mine", "scopes": "*"}).status_code == 403
    token.refresh_from_db()
    assert token.label == "deploy"


def test_revoking_a_personal_token_ends_it_and_is_told(admin, secrets):
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


def test_suspending_a_client_ends_all_it_has(admin, secrets):
    client = OAuthClient.objects.get()
    admin.post(page_address(client).replace("/change/", "/do/suspend/"), {"confirmed": "yes"})
    client.refresh_from_db()
    assert client.status == "suspended"
    assert not OAuthAccessToken.objects.exists()
    assert not OAuthRefreshToken.objects.exists()
    assert not OAuthGrant.objects.exists()
