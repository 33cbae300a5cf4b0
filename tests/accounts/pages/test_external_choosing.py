"""Choosing an OpenID Connect provider instead of a password."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core import mail
from django.db import connection
from django.test import Client

from accounts.models import Event, ExternalIdentity, Login, TrustedDevice, User
from accounts.services import external, outbox
from config.errors import Invalid
from tests.accounts.providers import sign_in_there
from tests.accounts.signing_in import NEW, PASSWORD, come_in, is_in, path_in_mail, tie, words
from tests.factories import TrustedDeviceFactory, UserFactory
from tests.oidc_provider import subject_of

pytestmark = pytest.mark.django_db


class TestChoosingIt:
    @pytest.fixture
    def browser(self, with_password) -> Client:
        browser = Client()
        browser.post("/login", {"username": "owner", "password": PASSWORD})
        return browser

    def test_from_home_by_the_password_once_more(self, browser, provider, with_password):
        other = Client()
        other.post("/login", {"username": "owner", "password": PASSWORD})
        TrustedDeviceFactory(user=with_password)
        assert "Use Example ID instead" in words(browser.get("/home/profile/sign-in"))
        to = browser.post("/home/external", {"password": PASSWORD})["Location"]
        answer = browser.get(sign_in_there(to, "kari"))
        assert answer["Location"] == "/home/profile/sign-in"
        assert "with Example ID, as kari" in words(browser.get("/home/profile/sign-in"))
        with_password.refresh_from_db()
        assert with_password.authentication_type == "github"
        identity = with_password.external_identity
        assert (identity.issuer, identity.subject, identity.label) == (provider.issuer, subject_of("kari"), "kari")
        assert not is_in(other), "all other sessions end"
        assert not TrustedDevice.objects.exists()
        assert Client().post("/login", {"username": "owner", "password": PASSWORD}).status_code == 200
        assert Event.objects.get().message == "The user now signs in with Example ID."
        outbox.send_due()
        assert mail.outbox[-1].subject == "You sign in with Example ID now"

    def test_not_without_the_password(self, browser, provider):
        answer = browser.post("/home/external", {"password": "wrong"})
        assert "The password is not right." in words(answer)

    def test_tries_at_it_are_limited(self, browser, provider, limit):
        limit(login="1/60")
        browser.post("/home/external", {"password": "wrong"})
        answer = browser.post("/home/external", {"password": PASSWORD})
        assert (answer.status_code, int(answer["Retry-After"]) > 0) == (429, True)
        assert "Too many attempts. Try again in " in words(answer)

    def test_a_user_who_signed_in_meanwhile_gets_no_identity(self, browser, provider, account):
        UserFactory(account=account, username="other", password=PASSWORD)
        back = sign_in_there(browser.post("/home/external", {"password": PASSWORD})["Location"], "kari")
        session, wish = browser.session, browser.session["external"]
        browser.post("/login", {"username": "other", "password": PASSWORD})
        session = browser.session
        session["external"] = wish
        session.save()
        assert browser.get(back).status_code == 400
        assert not ExternalIdentity.objects.exists()

    def test_an_identity_of_another_user_is_refused(self, browser, provider, stranger):
        tie(stranger, provider, subject_of("kari"))
        back = sign_in_there(browser.post("/home/external", {"password": PASSWORD})["Location"], "kari")
        answer = browser.get(back)
        assert (answer.status_code, "Another user" in words(answer)) == (400, True)
        assert is_in(browser)
        assert ExternalIdentity.objects.get().user == stranger
        assert Client().post("/login", {"username": "owner", "password": PASSWORD}).status_code == 302

    def test_not_twice(self, browser, provider, with_password):
        tie(with_password, provider, "one")
        with pytest.raises(Invalid, match="already"):
            tie(with_password, provider, "two")

    def test_its_forms_are_its_own(self, with_password, provider):
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(with_password)
        assert browser.post("/home/external", {"password": PASSWORD}).status_code == 403
        assert browser.post("/login/external").status_code == 403

    def test_from_an_invitation(self, provider, owner, client_for):
        client_for(owner).post("/v4/account/users", {"username": "ola", "email": "ola@example.com"})
        path, browser = path_in_mail(), Client()
        page = browser.get(path, follow=True)
        assert "Use Example ID instead" in words(page)
        to = browser.post(page.request["PATH_INFO"], {"external": ""})["Location"]
        assert browser.get(sign_in_there(to, "ola"))["Location"] == "/home"
        invited = User.objects.get(username="ola")
        assert invited.external_identity.subject == subject_of("ola")
        assert Login.objects.get().user == invited
        assert "does not work any more" in words(Client().get(path, follow=True)), "it works once"
        assert come_in(Client(), sign_in_there, "ola")["Location"] == "/home"

    def test_not_from_an_invitation_that_was_used_meanwhile(self, provider, owner, client_for):
        client_for(owner).post("/v4/account/users", {"username": "ola", "email": "ola@example.com"})
        path, browser = path_in_mail(), Client()
        page = browser.get(path, follow=True)
        back = sign_in_there(browser.post(page.request["PATH_INFO"], {"external": ""})["Location"], "mallory")
        theirs = Client()
        page = theirs.get(path, follow=True)
        theirs.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
        answer = browser.get(back)
        assert (answer.status_code, "already used" in words(answer)) == (400, True)
        assert not ExternalIdentity.objects.exists()

    def test_an_invitation_without_a_session_of_its_own_leads_nowhere(self, provider, owner):
        answer = Client().post(f"/password/{owner.pk}/set-password", {"external": ""})
        assert "does not work any more" in words(answer)

    def test_a_user_suspended_meanwhile_gets_no_identity(self, browser, provider, with_password):
        wish = browser.post("/home/external", {"password": PASSWORD})["Location"]
        back = sign_in_there(wish, "kari")
        with_password.account.is_active = False
        with_password.account.save()
        assert browser.get(back).status_code in (400, 403)
        assert not ExternalIdentity.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def race(self, *calls) -> list[str]:
        def run(call) -> str:
            try:
                call()
            except Invalid as error:
                return str(error)
            finally:
                connection.close()
            return "tied"

        with ThreadPoolExecutor(len(calls)) as pool:
            return sorted(pool.map(run, calls))

    def test_an_identity_goes_to_one_of_many_simultaneous_users(self, account, forger):
        users = UserFactory.create_batch(6, account=account)
        answers = self.race(*(lambda user=user: tie(user, forger.config, "kari") for user in users))
        assert answers == [external.TAKEN] * 5 + ["tied"]
        assert User.objects.filter(authentication_type="github").get().external_identity.subject == "kari"

    def test_a_user_who_chooses_many_identities_gets_one(self, owner, forger):
        fresh = [User.objects.get(pk=owner.pk) for _ in range(6)]
        answers = self.race(*(lambda n=n: tie(fresh[n], forger.config, f"kari{n}") for n in range(6)))
        assert answers == [external.TIED] * 5 + ["tied"]
        assert ExternalIdentity.objects.count() == 1

    def test_an_invitation_counts_once(self, owner, forger):
        token = external.default_token_generator.make_token(owner)

        def choose(subject: str) -> None:
            external.tie(
                User.objects.get(pk=owner.pk), forger.issuer, subject, label="", provider="x",
                authentication_type="github", token=token,
            )  # fmt: skip

        answers = self.race(*(lambda n=n: choose(f"kari{n}") for n in range(4)))
        assert answers == [external.TOO_LATE] * 3 + ["tied"]
