"""OAuth clients that staff disable and enable, and the access that users granted to them."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from accounts.models import (
    Authorization,
    Event,
    OAuthAccessToken,
    OAuthClient,
    OAuthGrant,
    OAuthRefreshToken,
    User,
)
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import PICTURE, OAuthClientFactory, UserFactory

pytestmark = pytest.mark.django_db
LEFT = (OAuthGrant, OAuthAccessToken, OAuthRefreshToken, Authorization)


@pytest.fixture
def app(world) -> OAuthClient:
    """A client with a user's consent, a code and two tokens."""
    app = OAuthClientFactory(account=world.account, name="Terraform")
    let_in(app, User.objects.get(username="worldowner"))
    return app


def let_in(app: OAuthClient, user: User) -> Authorization:
    later, mine = now() + timedelta(hours=2), {"user": user, "application": app}
    access = OAuthAccessToken.objects.create(token=f"a{app.pk}-{user.pk}", expires=later, scope="*", **mine)
    OAuthRefreshToken.objects.create(token=f"r{app.pk}-{user.pk}", access_token=access, **mine)
    OAuthGrant.objects.create(
        code=f"c{app.pk}-{user.pk}", expires=later, redirect_uri="https://app.example", **mine
    )
    return Authorization.objects.create(user=user, client=app, scopes="*")


def left() -> list[int]:
    return [model.objects.count() for model in LEFT]


def status(app: OAuthClient) -> str:
    return OAuthClient.objects.get(pk=app.pk).status


def test_suspending_ends_all_access_and_has_an_event(admin, app):
    let_in(OAuthClientFactory(), UserFactory())
    asked = admin.post(page_address(app).replace("/change/", "/do/suspend/"))
    assert "of the app permanently" in asked.content.decode()
    response = do(admin, app, "suspend")
    assert "Authorizations that ended: 1, tokens: 2." in messages_of(response)
    assert status(app) == "suspended"
    assert left() == [1, 1, 1, 1]
    assert not Authorization.objects.filter(client=app).exists()
    event = Event.objects.get(action="oauth_client_update")
    assert (event.username, event.message, event.entity_id) == ("staff", "The client is suspended.", app.pk)
    assert "suspended already" in messages_of(do(admin, app, "suspend"))
    assert "The client is suspended" in messages_of(do(admin, app, "disable"))
    assert "authorize the app again" in messages_of(do(admin, app, "activate"))
    assert status(app) == "active"


def test_disabling_is_a_pause(admin, app):
    do(admin, app, "disable")
    assert status(app) == "disabled"
    assert left() == [1, 1, 1, 1]
    assert "works again with its tokens" in messages_of(do(admin, app, "activate"))
    assert status(app) == "active"
    assert Event.objects.filter(action="oauth_client_update").count() == 2


def test_a_client_of_a_suspended_account_is_shown_as_suspended(admin, app):
    do(admin, app.account, "suspend", reason="Unpaid.")
    for address in (page_address(app), list_address(OAuthClient), page_address(app.account)):
        assert "active, account suspended" in admin.get(address).content.decode()
    assert status(app) == "active"


def test_suspending_a_client_of_the_platform_has_no_event(admin, db):
    own = OAuthClientFactory(account=None)
    do(admin, own, "suspend")
    assert status(own) == "suspended"
    assert not Event.objects.exists()


def test_revoking_an_authorization_ends_access_for_that_user_only(admin, app):
    other = let_in(app, UserFactory())
    do(admin, Authorization.objects.exclude(pk=other.pk).get(), "revoke")
    assert left() == [1, 1, 1, 1]
    assert Authorization.objects.get() == other
    assert Event.objects.get().message == "Terraform has no access any more."


@pytest.mark.parametrize("kind", [OAuthAccessToken, OAuthRefreshToken])
def test_revoking_a_token_ends_its_pair_and_has_an_event(kind, admin, app):
    let_in(app, UserFactory())
    user = User.objects.get(username="worldowner")
    token = kind.objects.get(user=user)
    assert "revoked, with its" in messages_of(do(admin, token, "revoke"))
    assert not OAuthAccessToken.objects.filter(user=user).exists()
    assert not OAuthRefreshToken.objects.filter(user=user, revoked=None).exists()
    event = Event.objects.get()
    assert (event.action, event.username) == ("profile_update", "staff")
    assert event.message == "A token of Terraform was revoked."
    assert (event.entity_id, event.secondary_id) == (user.pk, str(app.pk))
    do(admin, token, "revoke")
    assert Event.objects.count() == 1
    assert OAuthAccessToken.objects.count() == OAuthRefreshToken.objects.filter(revoked=None).count() == 1


@pytest.mark.parametrize("word", ["terra", "World", "world@"])
def test_a_client_is_found(word, admin, app):
    OAuthClientFactory(name="Else")
    for asked in (word, app.client_id, str(app.pk)):
        assert list(admin.get(list_address(OAuthClient), {"q": asked}).context["cl"].result_list) == [app]


@pytest.mark.parametrize("word", ["worldowner", "WORLDOWNER"])
def test_authorizations_are_found_by_search(word, admin, app):
    let_in(OAuthClientFactory(), UserFactory())
    for asked in (word, app.client_id):
        found = admin.get(list_address(Authorization), {"q": asked}).context["cl"].result_list
        assert [each.client for each in found] == [app]


def test_a_clients_page_shows_its_picture_and_who_lets_it_act(admin, app):
    OAuthClient.objects.filter(pk=app.pk).update(thumbnail=PICTURE)
    text = admin.get(page_address(app)).content.decode()
    assert f"/v4/account/oauth-clients/{app.client_id}/thumbnail" in text
    assert page_address(User.objects.get(username="worldowner")) in text
    assert "https://app.example/back" in text
