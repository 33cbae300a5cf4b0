"""Contacts: the people who are notified."""

import pytest

from accounts.actors import Actor
from accounts.models import Event
from managed.models import Contact
from managed.services import contacts
from tests.factories import ContactFactory

pytestmark = pytest.mark.django_db
PATH = "/v4/managed/contacts"
FULL_CONTACT = {
    "name": "On call_1 a-b",
    "email": "call@example.com",
    "phone": {"primary": "123-456-7890", "secondary": None},
    "group": "ops",
}


def mails() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("message", flat=True))


def test_a_contact_is_added_changed_and_deleted(api, owner):
    made = api.post(PATH, FULL_CONTACT).json()
    assert made == {"id": made["id"], **FULL_CONTACT, "updated": made["updated"]}
    assert api.get(PATH).json()["data"] == [made]
    changed = api.put(f"{PATH}/{made['id']}", {"group": None, "phone": {"secondary": "+47 22 33 44 55"}}).json()
    assert changed["group"] is None
    assert changed["phone"] == {"primary": "123-456-7890", "secondary": "+47 22 33 44 55"}
    assert api.get(f"{PATH}/{made['id']}").json() == changed
    assert api.delete(f"{PATH}/{made['id']}").json() == {}
    assert api.get(f"{PATH}/{made['id']}").status_code == 404
    name = FULL_CONTACT["name"]
    assert mails() == [f"The contact {name} was {what}." for what in ("added", "changed", "deleted")]
    assert set(Event.objects.values_list("username", flat=True)) == {owner.username}


def test_a_change_of_nothing_leaves_no_event(api):
    made = api.post(PATH, FULL_CONTACT).json()
    assert api.put(f"{PATH}/{made['id']}", FULL_CONTACT).json()["updated"] == made["updated"]
    assert api.put(f"{PATH}/{made['id']}", {}).status_code == 200
    assert len(mails()) == 1


def test_a_change_back_to_a_stale_value_is_written(account, owner):
    contact = ContactFactory(account=account, email="old@example.com")
    actor, stale = Actor(account.pk, owner.pk, "owner"), Contact.objects.get(pk=contact.pk)
    contacts.update(actor, contact, {"email": "new@example.com", "group": "ops"})
    changed = contacts.update(actor, stale, {"email": "old@example.com"})
    contact.refresh_from_db()
    assert (contact.email, contact.group) == (changed.email, changed.group) == ("old@example.com", "ops")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "x"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "line\nbreak"}, "name"),
        ({"email": "nowhere"}, "email"),
        ({"group": "x"}, "group"),
        ({"group": "x" * 51}, "group"),
        ({"phone": {"primary": "1" * 33}}, "phone.primary"),
        ({"phone": {"secondary": 5}}, "phone.secondary"),
        ({"phone": "123"}, "phone"),
    ],
    ids=str,
)
def test_bad_input_names_the_field_and_changes_nothing(api, changes, field):
    answer = api.post(PATH, {**FULL_CONTACT, **changes})
    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not Contact.objects.exists()
    made = api.post(PATH, FULL_CONTACT).json()
    answer = api.put(f"{PATH}/{made['id']}", changes)
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert api.get(f"{PATH}/{made['id']}").json() == made


def test_name_and_email_have_to_be_there(api):
    answer = api.post(PATH, {})
    assert {each["field"] for each in answer.json()["errors"]} == {"name", "email"}


def test_contacts_are_found_by_their_group(api, account):
    ops, _ = ContactFactory(account=account, group="ops"), ContactFactory(account=account)
    found = api.get(PATH, {"group": "ops"}).json()
    assert [each["id"] for each in found["data"]] == [ops.pk]
    assert api.get(PATH, {"email": ops.email}).status_code == 400


def test_contacts_of_another_account_do_not_exist(api):
    path = f"{PATH}/{ContactFactory().pk}"
    for call in (api.get, api.put, api.delete):
        assert call(path).status_code == 404
    assert api.get(PATH).json()["results"] == 0
