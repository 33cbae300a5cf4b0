"""Personal access tokens in the services: properties that the API does not show."""

import pytest

from accounts.actors import Actor
from accounts.models import Event, PersonalToken, User
from accounts.services.tokens import create_token, rename_token, revoke_token
from config.errors import Invalid, Missing
from tests.factories import PersonalTokenFactory

pytestmark = pytest.mark.django_db


def acting(user: User, *scopes: str) -> Actor:
    return Actor(user.account_id or 0, user.pk, user.username, scopes=scopes or ("*",))


def actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


@pytest.mark.parametrize("label", ["", "x" * 101])
def test_a_label_that_does_not_fit_is_refused_before_the_database_does(owner, label):
    with pytest.raises(Invalid, match="Length must be 1-100 characters"):
        create_token(owner, label)
    with pytest.raises(Invalid, match="Length must be 1-100 characters"):
        rename_token(acting(owner), PersonalTokenFactory(user=owner), label)
    assert actions() == []


@pytest.mark.parametrize("scopes", ["account:read_only", "computes:read_only,account:read_write"])
def test_a_token_creates_tokens_with_its_own_or_fewer_scopes(owner, scopes):
    create_token(owner, "less", scopes, actor=acting(owner, "account:read_write", "computes:read_only"))
    assert actions() == ["token_create"]


def test_a_token_is_revoked_only_once(owner):
    token, _ = create_token(owner, "ci")
    same = PersonalToken.objects.get()
    revoke_token(acting(owner), token)
    with pytest.raises(Missing):
        revoke_token(acting(owner), same)
    assert actions() == ["token_create", "token_delete"]


def test_a_revoked_token_cannot_be_renamed(owner):
    token = PersonalTokenFactory(user=owner)
    PersonalToken.objects.all().delete()
    with pytest.raises(Missing):
        rename_token(acting(owner), token, "desk")


def test_tokens_of_staff_tell_no_account(staff):
    token, _ = create_token(staff, "none")
    revoke_token(acting(staff), token)
    assert actions() == []
