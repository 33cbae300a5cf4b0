"""Staff read an account's encrypted secrets: with a reason, once, and with a record."""

import logging
import threading
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils.html import escape
from django.utils.timezone import now

from accounts.models import Event, User
from accounts.pages.session_store import SessionStore
from config.encryption import encrypt_json
from managed.admin.reveal import Revealed
from managed.models import Decryption
from managed.services.decryptions import NO_KEY, READ_MEANWHILE
from tests.config.admin.pages import list_address, page_address
from tests.factories import InstanceFactory
from tests.managed.one_of_each import PASSWORD, USERNAME, Watched, one_of_each

pytestmark = pytest.mark.django_db

REASON = "The shop is down, and Kari asked."


@pytest.fixture
def watched(world) -> Watched:
    instance = InstanceFactory(account=world.account, region=world.region, host=world.host, type=world.type)
    return one_of_each(world.account, instance)


@pytest.fixture(params=["credential", "key"])
def kept(request, watched):
    """A secret to read: a credential, or the key pair."""
    return getattr(watched, request.param)


@pytest.fixture
def secret(kept, watched) -> str:
    return PASSWORD if kept == watched.credential else watched.private_key


def address_of(obj) -> str:
    return page_address(obj).replace("/change/", "/decrypt/")


def asked(browser: Client, obj) -> int:
    """Open the form. Returns the number of earlier readings that the form remembers."""
    response = browser.get(address_of(obj))
    assert response.status_code == 200
    return response.context["form"]["seen"].value()


def read(browser: Client, obj, reason: str = REASON, seen: int | None = None):
    given = asked(browser, obj) if seen is None else seen
    return browser.post(address_of(obj), {"reason": reason, "seen": given})


def test_the_secret_is_in_the_answer(admin, kept, secret):
    page = read(admin, kept).content.decode()
    assert f">{escape(secret)}</code>" in page
    assert f"{len(secret)} characters" in page


def test_the_username_is_shown_with_the_password(admin, watched):
    assert f">{USERNAME}</code>" in read(admin, watched.credential).content.decode()


def test_the_answer_is_kept_nowhere(admin, kept, watched, caplog):
    caplog.set_level(logging.DEBUG)
    response = read(admin, kept)
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    kept = [
        caplog.text,
        *(str(entry.__dict__) for entry in LogEntry.objects.all()),
        *(str(event.__dict__) for event in Event.objects.all()),
        *(str(row.__dict__) for row in Decryption.objects.all()),
        *(str(SessionStore().decode(session.session_data)) for session in Session.objects.all()),
        str(response.cookies),
    ]
    assert not [secret for secret in watched.secrets() for text in kept if secret in text]
    assert "access" in {record.name for record in caplog.records}


def test_nothing_that_holds_it_says_it_when_printed():
    assert "hunter2" not in repr(Revealed("Password", "hunter2"))


def test_reader_and_reason_are_recorded(admin, kept):
    before = Decryption.objects.count()
    read(admin, kept)
    row = Decryption.objects.first()
    assert Decryption.objects.count() == before + 1
    assert (row.username, row.reason, row.account_id) == ("staff", REASON, kept.account_id)
    assert kept in (row.credential, row.key_pair)
    assert LogEntry.objects.get().change_message == f"Decrypt: the secret was read. {REASON}"
    shown = admin.get(list_address(Decryption)).content.decode()
    assert REASON in shown
    page = admin.get(page_address(kept))
    assert REASON in page.content.decode()
    own = page.context["panels"][-1].more
    assert set(admin.get(own).context["cl"].result_list) == set(kept.decryptions.all())


def test_a_credential_is_stamped(admin, watched):
    assert watched.credential.last_decrypted is None
    read(admin, watched.credential)
    watched.credential.refresh_from_db()
    assert now() - watched.credential.last_decrypted < timedelta(minutes=10)


def test_the_account_sees_who_read_it_and_why(admin, kept, watched, client_for):
    read(admin, kept)
    customer = client_for(watched.account.users.get())
    event = customer.get("/v4/account/events").json()["data"][0]
    assert event["username"] == "staff"
    assert event["message"].startswith("Support read the ")
    assert event["message"].endswith(REASON)


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * 501, "a\0b"])
def test_without_a_reason_nothing_is_read(reason, admin, kept, watched):
    before = Decryption.objects.count(), Event.objects.count()
    page = read(admin, kept, reason).content.decode()
    assert not [secret for secret in watched.secrets() if secret in page]
    assert "errorlist" in page
    assert (Decryption.objects.count(), Event.objects.count()) == before


def test_loading_the_answer_again_does_not_show_it_again(admin, kept, secret):
    seen = asked(admin, kept)
    assert escape(secret) in read(admin, kept, seen=seen).content.decode()
    count = Decryption.objects.count()
    again = read(admin, kept, seen=seen)
    assert escape(secret) not in again.content.decode()
    assert READ_MEANWHILE in again.content.decode()
    assert Decryption.objects.count() == count
    assert "no-store" in again["Cache-Control"]
    assert "refused" in LogEntry.objects.first().change_message
    # the refusal's form has the new count of readings, so it is accepted
    assert escape(secret) in read(admin, kept, seen=again.context["form"]["seen"].value()).content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_form_sent_twice_at_once_is_answered_once(admin, staff, watched):
    seen, answers = asked(admin, watched.credential), []
    start = threading.Barrier(4)

    def send() -> None:
        browser = Client()
        browser.force_login(staff)
        start.wait()
        answers.append(read(browser, watched.credential, seen=seen).content.decode())
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(escape(PASSWORD) in answer for answer in answers) == 1
    assert Decryption.objects.count() == 2


def test_a_forged_number_reads_nothing(admin, kept, secret):
    for seen in ("", "x", "-1", "9" * 30, "9" * 5000, "a\0b"):
        assert escape(secret) not in read(admin, kept, seen=seen).content.decode()


@pytest.mark.parametrize("junk", ["abc", "-1", "9" * 30, "_00", "a/b"])
def test_the_address_of_a_missing_object_leads_to_the_index(junk, admin, kept):
    address = list_address(type(kept)) + f"{junk}/decrypt/"
    assert admin.get(address)["Location"] == "/admin/"
    assert admin.post(address, {"reason": REASON, "seen": 0})["Location"] == "/admin/"


def test_viewing_the_form_reads_nothing(admin, kept):
    before = Decryption.objects.count()
    admin.get(address_of(kept))
    admin.post(address_of(kept))  # as the button on its page does
    assert Decryption.objects.count() == before
    assert not LogEntry.objects.exists()


def test_it_is_its_own_permission(onlooker, kept, watched):
    """Permission to see and change everything in the admin is not enough."""
    user = User.objects.get(username="onlooker")
    for prefix in ("change_", "delete_"):
        user.user_permissions.add(*Permission.objects.filter(codename__startswith=prefix))
    for response in (
        onlooker.get(address_of(kept)),
        onlooker.post(address_of(kept), {"reason": REASON, "seen": 0}),
    ):
        assert response.status_code == 403
    assert "/decrypt/" not in onlooker.get(page_address(kept)).content.decode()
    assert "/decrypt/" not in onlooker.get(page_address(watched.service)).content.decode()

    user.user_permissions.add(Permission.objects.get(codename=f"decrypt_{kept._meta.model_name}"))
    assert "/decrypt/" in onlooker.get(page_address(kept)).content.decode()
    assert "/decrypt/" in onlooker.get(page_address(watched.service)).content.decode()
    assert Decryption.objects.count() == 1
    assert "</code>" in read(onlooker, kept).content.decode()


def test_one_permission_is_not_the_other(onlooker, watched):
    user = User.objects.get(username="onlooker")
    user.user_permissions.add(Permission.objects.get(codename="decrypt_credential"))
    assert onlooker.get(address_of(watched.credential)).status_code == 200
    assert onlooker.get(address_of(watched.key)).status_code == 403


def test_customers_and_strangers_are_kept_out(outsider, client, kept):
    for browser in (outsider, client):
        for response in (browser.get(address_of(kept)), browser.post(address_of(kept), {"reason": REASON})):
            assert response.status_code == 302
            assert "login" in response["Location"]
    assert Decryption.objects.count() == 1


def test_a_form_from_elsewhere_is_refused(staff, kept):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(staff)
    assert browser.post(address_of(kept), {"reason": REASON, "seen": 0}).status_code == 403


def test_a_secret_that_no_key_decrypts_is_reported_and_not_recorded(admin, kept, settings):
    # not by removing the keys, which would end the session too
    keys, settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS, ["lost-key"]
    kept.encrypted = encrypt_json({"private": "x"})
    kept.save(update_fields=["encrypted"])
    settings.ENCRYPTION_KEYS = keys
    before = Decryption.objects.count()
    assert NO_KEY in read(admin, kept).content.decode()
    assert Decryption.objects.count() == before


def test_a_revoked_credential_is_not_found(admin, watched):
    seen = asked(admin, watched.credential)
    address = address_of(watched.credential)
    watched.credential.delete()
    response = admin.post(address, {"reason": REASON, "seen": seen})
    assert response.status_code == 302
    assert response["Location"] == "/admin/"


def test_the_list_of_reads_keeps_revoked_credentials(admin, watched):
    read(admin, watched.credential)
    watched.credential.delete()
    page = admin.get(list_address(Decryption)).content.decode()
    assert REASON in page
    assert "Shop, deleted" in page


def test_from_a_services_page_one_returns_there(admin, watched):
    page = admin.get(page_address(watched.service)).content.decode()
    address = f"{address_of(watched.credential)}?next={page_address(watched.service).replace('/', '%2F')}"
    assert address in page
    response = admin.post(address, {"reason": REASON, "seen": asked(admin, watched.credential)})
    assert f'href="{page_address(watched.service)}"' in response.content.decode()


def test_invisible_characters_of_a_secret_are_described():
    assert Revealed("Password", " x ").remark == "3 characters, with a space at the beginning or end"
    assert Revealed("Password", "xyz").remark == "3 characters"
