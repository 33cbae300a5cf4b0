"""Sessions, by hashes of their ids."""

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.models import Session

from accounts.pages.session_store import SessionStore

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
