"""Users grant access to apps, deny it, and revoke it."""

import pytest
from selenium.webdriver.common.keys import Keys

from accounts.models import Authorization, OAuthClient, OAuthGrant
from tests.accounts.apps import call, web
from tests.browser.site import AppSite, consent
from tests.browser.visitor import PASSWORD
from tests.factories import PICTURE, OAuthClientFactory, StaffFactory, UserFactory, token_of

__all__ = ["web"]
pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.browser]


@pytest.fixture
def client(app_site: AppSite) -> OAuthClient:
    return OAuthClientFactory(name="Dashboard", redirect_uris=app_site.redirect_uri)


@pytest.fixture
def signed_in(visitor, owner) -> None:
    visitor.arrive_as(owner)


def test_signing_in_leads_back_to_the_consent(visitor, client, app_site):
    visitor.visit(consent(client, "computes:read_only,domains:read_write"))
    assert visitor.heading == "Sign in"
    visitor.sign_in()
    assert visitor.heading == "Give Dashboard access?"
    assert "See compute instances" in visitor.text
    assert "See, create, change and delete domains and their records" in visitor.text
    assert f"Both buttons take you to {app_site.netloc}" in visitor.text


@pytest.mark.usefixtures("signed_in")
class TestTheQuestion:
    def test_yes_sends_a_code_to_the_app(self, visitor, client, app_site):
        visitor.visit(consent(client, "computes:read_only"))
        visitor.press("Give access")
        assert visitor.heading == "Back at the app"
        [visit] = app_site.visits
        assert visit.keys() == {"code", "state"}
        assert OAuthGrant.objects.get(code=visit["code"]).scope == "computes:read_only"

    def test_no_sends_none(self, visitor, client, app_site):
        visitor.visit(consent(client))
        visitor.press("Cancel")
        assert app_site.visits == [{"error": "access_denied", "state": "s"}]
        assert not OAuthGrant.objects.exists()

    def test_it_shows_the_picture_of_the_app(self, visitor, client):
        OAuthClient.objects.update(thumbnail=PICTURE)
        visitor.visit(consent(client))
        width = "return document.querySelector('main img').naturalWidth"
        assert visitor.driver.execute_script(width) == 8
        OAuthClient.objects.update(thumbnail=None)
        visitor.visit(consent(client))
        assert visitor.driver.execute_script("return document.querySelector('main img')") is None
        assert visitor.driver.execute_script("return document.querySelector('.app-letter').innerText") == "D"

    def test_going_back_and_answering_again_is_a_second_answer(self, visitor, client, app_site):
        visitor.visit(consent(client))
        visitor.press("Cancel")
        visitor.back()
        assert visitor.heading == "Give Dashboard access?"
        visitor.press("Give access")
        visitor.back()
        visitor.press("Give access")
        assert [visit.keys() for visit in app_site.visits] == [
            {"error", "state"}, {"code", "state"}, {"code", "state"},
        ]  # fmt: skip
        assert len({visit.get("code") for visit in app_site.visits}) == 3
        assert not Authorization.objects.exists(), "a code is no access yet"

    def test_a_double_click_is_one_answer(self, visitor, client, app_site):
        visitor.visit(consent(client))
        button = visitor.button("Give access")
        with visitor.leaving():
            visitor.driver.execute_script("arguments[0].click(); arguments[0].click()", button)
        assert visitor.heading == "Back at the app"
        assert OAuthGrant.objects.filter(code=app_site.visits[-1]["code"]).exists()

    def test_a_session_that_ended_meanwhile_leads_back_to_the_same_question(self, visitor, client, app_site, owner):
        visitor.visit(consent(client, "domains:read_only"))
        owner.set_password(PASSWORD)  # which ends all sessions
        owner.save(update_fields=["password"])
        visitor.press("Give access")
        assert visitor.heading == "Sign in"
        assert app_site.visits == []
        visitor.sign_in()
        assert visitor.heading == "Give Dashboard access?"
        assert "See domains and their records" in visitor.text
        visitor.press("Give access")
        assert app_site.visits[0].keys() == {"code", "state"}

    def test_another_user_who_signed_in_meanwhile_is_asked_anew(self, visitor, client, app_site, account):
        UserFactory(account=account, username="kari", password=PASSWORD)
        visitor.visit(consent(client))
        question = visitor.driver.current_window_handle
        visitor.driver.switch_to.new_window("tab")
        visitor.visit("/logout")
        visitor.visit("/login")
        visitor.sign_in("kari")
        visitor.driver.close()
        visitor.driver.switch_to.window(question)
        visitor.press("Give access")
        assert visitor.heading == "This page was open for too long"
        assert not OAuthGrant.objects.exists()
        visitor.follow("Open the page again")
        assert "The app acts for kari" in visitor.text
        visitor.press("Give access")
        assert OAuthGrant.objects.get(code=app_site.visits[0]["code"]).user.username == "kari"

    def test_it_is_answered_by_keyboard(self, visitor, client, app_site):
        visitor.visit(consent(client))
        stops = []
        while "Cancel" not in stops:
            visitor.keys(Keys.TAB)
            assert visitor.focused not in stops, stops
            stops.append(visitor.focused)
        assert stops[-2:] == ["Give access", "Cancel"]
        visitor.enter()
        assert app_site.visits == [{"error": "access_denied", "state": "s"}]


@pytest.mark.usefixtures("signed_in")
class TestWhatCannotBe:
    @pytest.mark.parametrize("status", ["disabled", "suspended"])
    def test_an_app_that_is_not_active_is_named_with_its_state(self, visitor, client, app_site, status):
        OAuthClient.objects.update(status=status)
        visitor.visit(consent(client))
        assert visitor.heading == "The app cannot have access"
        assert visitor.problem == f"Dashboard is {status}: it cannot get access now."

    def test_an_unknown_app_is_reported(self, visitor, client):
        OAuthClient.objects.all().delete()
        visitor.visit(consent(client))
        assert visitor.problem == "This installation does not know the app. It may have been deleted."

    def test_an_address_that_is_not_the_apps_is_not_followed(self, visitor, client, app_site):
        visitor.visit(consent(client, redirect_uri=f"http://{app_site.netloc}/elsewhere"))
        assert "an address that it has not registered" in visitor.problem
        assert visitor.path == "/oauth/authorize"
        assert "Mismatching redirect URI." in visitor.text


def test_a_user_without_an_account_gets_the_reason(visitor, client):
    StaffFactory(username="staff", password=PASSWORD)
    visitor.visit(consent(client))
    visitor.sign_in("staff")
    assert visitor.problem == "Your user cannot give apps access: it has no active account."


class TestTheProfile:
    def test_an_app_is_revoked_and_its_token_refused_from_then_on(self, visitor, client, app_site, web, owner):
        token = web.tokens(owner)["access_token"]
        assert call(token).status_code == 200
        visitor.visit("/home/profile/apps")
        visitor.sign_in()
        visitor.open("Revoke Dashboard")
        visitor.press("Yes, revoke")
        assert visitor.path == "/home/profile/apps"
        assert "No app has access to your account." in visitor.text
        assert call(token).status_code == 401

    def test_a_personal_token_is_revoked(self, visitor, owner):
        token = token_of(owner, label="ci")
        visitor.visit("/home/profile/tokens")
        visitor.sign_in()
        visitor.open("Revoke ci")
        assert call(token).status_code == 200
        visitor.press("Yes, revoke")
        assert "You have no tokens yet." in visitor.text
        assert call(token).status_code == 401
