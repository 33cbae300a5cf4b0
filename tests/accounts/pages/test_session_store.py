"""Sessions, stored by hashes of their ids."""

from contextlib import closing

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.models import Session
from django.db import connection, transaction

from accounts.pages.session_store import SessionStore
from config.errors import Invalid

pytestmark = pytest.mark.django_db


def test_a_copy_of_the_table_opens_no_session():
    store = SessionStore()
    store["name"] = "value"
    store.save()
    [row] = Session.objects.all()
    assert store.session_key not in (row.session_key, row.session_data)
    assert SessionStore(store.session_key)["name"] == "value"
    assert "name" not in SessionStore(row.session_key)


def test_an_id_that_nobody_gave_out_is_not_taken_on():
    chosen = SessionStore("chosen-by-somebody-else")
    chosen["name"] = "value"
    chosen.save()
    assert chosen.session_key != "chosen-by-somebody-else"


def test_a_session_changes_its_id_and_ends():
    store = SessionStore()
    store["name"] = "value"
    store.save()
    before = store.session_key
    store.cycle_key()
    assert "name" not in SessionStore(before)
    assert SessionStore(store.session_key)["name"] == "value"
    other = SessionStore(store.session_key)
    assert other["name"] == "value"
    store.flush()
    assert not Session.objects.exists()
    other["name"] = "late"
    with pytest.raises(UpdateError):
        other.save()


def test_a_locked_session_has_the_values_of_now_and_keeps_changes():
    store = SessionStore()
    store.save()
    other = SessionStore(store.session_key)
    other["name"] = "value"
    other.save()
    with store.locked("busy"):
        assert store["name"] == "value"
        store["more"] = 1
    assert not store.modified
    assert dict(SessionStore(store.session_key).items()) == {"name": "value", "more": 1}
    Session.objects.all().delete()
    with pytest.raises(SessionInterrupted), store.locked("busy"):
        pytest.fail("the session has ended")


@pytest.mark.django_db(transaction=True)
def test_a_session_that_another_request_keeps_locked_is_busy():
    store = SessionStore()
    store.save()
    with closing(connection.copy()) as other:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT FROM django_session FOR UPDATE")
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '10ms'")
            with pytest.raises(Invalid, match="busy"), store.locked("busy"):
                pytest.fail("the session is locked")
        other.rollback()
