"""The users of an account, and their grants."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Event, GlobalGrants, Grant, Message, PersonalToken, User
from accounts.services import outbox, users
from accounts.services.grants import set_grants
from config.encryption import decrypt_json
from config.errors import Invalid, Missing
from tests.client import errors
from tests.factories import (
    EventFactory,
    GrantFactory,
    ImageFactory,
    InstanceFactory,
    StackScriptFactory,
    UserFactory,
    VolumeFactory,
    token_of,
)
from tests.racing import held_up

PATH = "/v4/account/users"


def invitation() -> str:
    """Return the path in the latest mail."""
    outbox.send_due()
    return re.findall(r"http://[^/]+(/password/\S+)", mail.outbox[-1].body)[0]


class TestInviting:
    def test_the_invited_choose_a_password_and_sign_in(self, api):
        made = api.post(PATH, {"username": "kari", "email": "kari@example.com"}).json()
        assert made == {
            "username": "kari", "email": "kari@example.com", "restricted": True, "ssh_keys": [],
            "tfa_enabled": False, "verified_phone_number": None,
        }  # fmt: skip
        path = invitation()
        assert mail.outbox[-1].to == ["kari@example.com"]
        browser = Client()
        page = browser.get(path, follow=True)
        password = "Tall-ships.sail-at-9"
        answer = browser.post(
            page.request["PATH_INFO"], {"new_password1": password, "new_password2": password}, follow=True
        )
        assert answer.request["PATH_INFO"] == "/home", "signed in at once"
        assert Client().login(username="kari", password=password)
        assert b"does not work any more" in Client().get(path, follow=True).content, "it works once"

    def test_the_mail_shows_hidden_characters_of_a_company_name(self, api, account):
        type(account).objects.filter(pk=account.pk).update(company="Acme\u202e\u200b")
        api.post(PATH, {"username": "kari", "email": "kari@example.com"})
        text = decrypt_json(Message.objects.get().encrypted)
        assert all("Acme[U+202E][U+200B]" in text[each] for each in ("text", "html"))

    def test_a_weak_password_is_refused(self, api):
        api.post(PATH, {"username": "kari", "email": "kari@example.com"})
        browser = Client()
        page = browser.get(invitation(), follow=True)
        answer = browser.post(page.request["PATH_INFO"], {"new_password1": "short", "new_password2": "short"})
        assert b"too short" in answer.content
        assert not User.objects.get(username="kari").has_usable_password()

    def test_the_text_of_the_mail_is_stored_encrypted(self, api):
        api.post(PATH, {"username": "kari", "email": "kari@example.com"})
        message = Message.objects.get()
        assert "/password/" in decrypt_json(message.encrypted)["text"]
        assert b"/password/" not in bytes(message.encrypted)

    def test_a_name_is_one_users_on_the_whole_platform(self, api, stranger):
        for name in ("stranger", "STRANGER"):
            answer = api.post(PATH, {"username": name, "email": "x@example.com"})
            assert answer.json()["errors"] == [{"field": "username", "reason": "Username is taken"}]
        assert not Message.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_one_of_many_simultaneous_requests_gets_a_name(self, account, owner):
        clients = [token_of(owner) for _ in range(6)]

        def invite(number: int) -> int:
            try:
                body = {"username": "kari" if number % 2 else "KARI", "email": "kari@example.com"}
                header = {"Authorization": f"Bearer {clients[number]}"}
                return Client().post(PATH, body, content_type="application/json", headers=header).status_code
            finally:
                connection.close()

        with ThreadPoolExecutor(6) as pool:
            answers = sorted(pool.map(invite, range(6)))
        assert answers == [200] + [400] * 5
        assert User.objects.filter(username__iexact="kari").count() == 1

    @pytest.mark.parametrize("name", ["ab", "-abc", "abc-", "a--b", "a_-b", "ab c", "æøå", "x" * 33])
    def test_names_are_checked(self, api, name):
        answer = api.post(PATH, {"username": name, "email": "x@example.com"})
        assert {each["field"] for each in answer.json()["errors"]} == {"username"}

    def test_all_that_is_wrong_is_named_at_once(self, api):
        answer = api.post(PATH, {"username": "OWNER", "email": "nobody", "restricted": "yes"})
        assert errors(answer) == {
            "username": "Username is taken", "email": "email is not valid", "restricted": "restricted is not valid",
        }  # fmt: skip
        assert not Message.objects.exists()

    def test_name_and_address_are_needed(self, api):
        assert [each["field"] for each in api.post(PATH, {}).json()["errors"]] == ["username", "email"]


class TestChanging:
    def test_all_users_of_the_account_are_listed_and_nobody_else(self, api, owner, restricted, stranger):
        assert [each["username"] for each in api.get(PATH).json()["data"]] == ["owner", "restricted"]
        assert api.get(PATH, {"username": "restricted"}).json()["results"] == 1
        assert api.get(f"{PATH}/stranger").status_code == 404
        assert api.get(f"{PATH}/owner").json()["restricted"] is False

    def test_a_new_name_goes_with_all_the_user_did(self, api, client_for, account, restricted):
        EventFactory(account=account, username="restricted")
        EventFactory(username="restricted")
        changed = api.put(f"{PATH}/restricted", {"username": "kari", "email": "kari@example.com"}).json()
        assert (changed["username"], changed["email"]) == ("kari", "kari@example.com")
        assert api.get(f"{PATH}/restricted").status_code == 404
        assert client_for(restricted).get("/v4/profile").json()["username"] == "kari"
        assert set(Event.objects.filter(account=account).values_list("username", flat=True)) == {"kari", "owner"}
        assert Event.objects.exclude(account=account).get().username == "restricted"

    def test_a_new_name_goes_with_the_images_and_scripts_the_user_made(self, api, account, restricted):
        mine = {"account": account, "is_public": False}
        image = ImageFactory(id="private/7", number=7, created_by="restricted", **mine)
        script = StackScriptFactory(username="restricted", account=account)
        api.put(f"{PATH}/restricted", {"username": "kari"})
        image.refresh_from_db()
        script.refresh_from_db()
        assert (image.created_by, script.username) == ("kari", "kari")

    def test_events_of_an_earlier_user_of_the_name_stay_its_own(self, api, account, restricted):
        theirs = EventFactory(account=account, username="restricted")
        User.objects.filter(pk=restricted.pk).update(date_joined=now() + timedelta(seconds=1))
        api.put(f"{PATH}/restricted", {"username": "kari"})
        assert Event.objects.get(pk=theirs.pk).username == "restricted"

    def test_a_taken_name_changes_nothing(self, api, restricted):
        answer = api.put(f"{PATH}/restricted", {"username": "Owner", "email": "kari@example.com"})
        assert answer.json()["errors"][0]["field"] == "username"
        assert api.get(f"{PATH}/restricted").json()["email"] == "restricted@example.com"

    def test_all_that_is_wrong_is_named_at_once(self, api, restricted):
        answer = api.put(f"{PATH}/owner", {"username": "Restricted", "email": "nobody", "restricted": True})
        assert errors(answer) == {
            "username": "Username is taken",
            "email": "email is not valid",
            "restricted": "An account needs at least one unrestricted user.",
        }

    def test_null_is_not_given(self, api, restricted):
        before = api.get(f"{PATH}/restricted").json()
        nulls = dict.fromkeys(("username", "email", "restricted"))
        assert api.put(f"{PATH}/restricted", nulls).json() == before
        assert not Event.objects.exists()

    def test_a_name_may_change_the_case_of_its_letters(self, api, restricted):
        assert api.put(f"{PATH}/restricted", {"username": "Restricted"}).json()["username"] == "Restricted"

    def test_freeing_a_user_takes_its_grants_and_restricting_gives_none(self, api, restricted):
        GrantFactory(user=restricted, entity_id=InstanceFactory(account=restricted.account).pk)
        assert api.put(f"{PATH}/restricted", {"restricted": False}).json()["restricted"] is False
        assert not Grant.objects.exists()
        api.put(f"{PATH}/restricted", {"restricted": True})
        assert api.get(f"{PATH}/restricted/grants").json()["global"]["account_access"] is None

    def test_a_put_of_the_answer_of_get_changes_nothing(self, api, restricted):
        before = api.get(f"{PATH}/restricted").json()
        assert api.put(f"{PATH}/restricted", before).json() == before
        assert not Event.objects.exists()


class TestTheLastUnrestricted:
    def test_stays_and_stays_unrestricted(self, api, owner, restricted):
        assert api.delete(f"{PATH}/owner").status_code == 400
        assert api.put(f"{PATH}/owner", {"restricted": True}).status_code == 400
        assert User.objects.get(pk=owner.pk).restricted is False

    def test_a_suspended_unrestricted_user_does_not_count(self, api, account):
        UserFactory(account=account, is_active=False)
        assert api.delete(f"{PATH}/owner").status_code == 400

    @pytest.mark.django_db(transaction=True)
    def test_two_unrestricted_users_cannot_both_remove_each_other(self, account, owner):
        other = UserFactory(account=account, username="other")
        calls = [(token_of(owner), "other"), (token_of(other), "owner")]

        def remove(call) -> int:
            try:
                token, name = call
                return Client().delete(f"{PATH}/{name}", headers={"Authorization": f"Bearer {token}"}).status_code
            finally:
                connection.close()

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(remove, calls))
        assert User.objects.filter(account=account).count() == 1

    def test_is_looked_for_as_users_are_and_not_as_they_were_read(self, account, owner, restricted):
        User.objects.filter(pk=restricted.pk).update(restricted=False)
        User.objects.filter(pk=owner.pk).update(is_active=False)
        with pytest.raises(Invalid, match="at least one"):
            users.remove(Actor(account.pk, owner.pk, "owner"), restricted)


@pytest.mark.django_db(transaction=True)
def test_grants_that_are_given_while_a_user_is_freed_go_with_the_others(account, owner, restricted):
    actor, freed = Actor(account.pk, owner.pk, "owner"), []
    grant = {"id": InstanceFactory(account=account).pk, "permissions": "read_write"}

    def free() -> None:
        try:
            users.update(actor, restricted, username=None, email=None, restricted=False)
            freed.append(True)
        finally:
            connection.close()

    with transaction.atomic():
        set_grants(actor, restricted, {}, {"compute": [grant]})
        freeing = threading.Thread(target=free)
        freeing.start()
        assert held_up()
    freeing.join()
    assert freed
    assert not Grant.objects.filter(user=restricted).exists()


def test_a_user_that_was_removed_meanwhile_is_missing(account, owner, restricted):
    actor = Actor(account.pk, owner.pk, "owner")
    User.objects.filter(pk=restricted.pk).delete()
    with pytest.raises(Missing):
        users.update(actor, restricted, username=None, email="kari@example.com", restricted=None)
    with pytest.raises(Missing):
        users.remove(actor, restricted)


def test_removing_a_user_ends_its_tokens_at_once(api, client_for, restricted):
    theirs = client_for(restricted)
    assert api.delete(f"{PATH}/restricted").json() == {}
    assert theirs.get("/v4/profile").status_code == 401
    assert api.delete(f"{PATH}/restricted").status_code == 404
    assert not PersonalToken.objects.filter(user_id=restricted.pk).exists()
    assert Event.objects.get().entity_label == "restricted"


class TestGrants:
    def test_they_are_changed_in_part(self, api, account, restricted):
        first, second, third = InstanceFactory.create_batch(3, account=account)
        GrantFactory(user=restricted, entity_id=first.pk)
        GrantFactory(user=restricted, entity_id=second.pk)
        answer = api.put(
            f"{PATH}/restricted/grants",
            {
                "global": {"add_computes": True, "account_access": "read_write"},
                "compute": [
                    {"id": first.pk, "permissions": "read_write"},
                    {"id": second.pk, "permissions": None},
                    {"id": third.pk, "permissions": "read_only"},
                ],
            },
        ).json()
        assert answer["global"] == {**answer["global"], "add_computes": True, "account_access": "read_write"}
        assert answer["global"]["add_volumes"] is False
        assert {each["id"]: each["permissions"] for each in answer["compute"]} == {
            first.pk: "read_write", second.pk: None, third.pk: "read_only",
        }  # fmt: skip
        assert set(Grant.objects.values_list("entity_id", "permissions")) == {
            (first.pk, "read_write"), (third.pk, "read_only"),
        }  # fmt: skip
        assert api.get(f"{PATH}/restricted/grants").json() == answer
        assert Event.objects.get().action == "user_update"

    def test_they_hold_at_the_next_request(self, api, client_for, account, restricted):
        instance, theirs = InstanceFactory(account=account), client_for(restricted)
        path = f"/v4/compute/instances/{instance.pk}"
        assert theirs.get(path).status_code == 404
        api.put(f"{PATH}/restricted/grants", {"compute": [{"id": instance.pk, "permissions": "read_only"}]})
        assert theirs.get(path).status_code == 200
        assert theirs.put(path, {"group": "x"}).status_code == 403

    def test_account_access_can_be_taken_back(self, api, restricted):
        answer = api.put(f"{PATH}/restricted/grants", {"global": {"account_access": None}})
        assert answer.json()["global"]["account_access"] is None

    def test_they_list_every_entity_of_the_account_and_every_kind(self, api, client_for, account, restricted):
        granted, other = InstanceFactory.create_batch(2, account=account)
        volume, image = VolumeFactory(account=account), ImageFactory(id="private/7", number=7, account=account)
        InstanceFactory()
        GrantFactory(user=restricted, entity_id=granted.pk)
        listed = api.get(f"{PATH}/restricted/grants").json()
        del listed["global"]
        assert listed == {
            **{kind: [] for kind in ("nodebalancer", "domain", "stackscript", "longview", "firewall", "database")},
            "compute": [
                {"id": granted.pk, "label": granted.label, "permissions": "read_only"},
                {"id": other.pk, "label": other.label, "permissions": None},
            ],
            "volume": [{"id": volume.pk, "label": volume.label, "permissions": None}],
            "image": [{"id": 7, "label": image.label, "permissions": None}],
        }
        assert set(client_for(restricted).get("/v4/profile/grants").json()) == {"global", "compute"}

    def test_listing_them_takes_a_fixed_number_of_queries(self, api, account, restricted):
        numbers = []
        for more in (1, 5):
            InstanceFactory.create_batch(more, account=account)
            with CaptureQueriesContext(connection) as queries:
                api.get(f"{PATH}/restricted/grants")
            numbers.append(len(queries))
        assert numbers == [4, 4]  # the caller, the user, its account-level grants, the entities

    def test_grants_can_be_put_as_they_were_read_or_edited(self, api, account, restricted):
        GrantFactory(user=restricted, entity_id=InstanceFactory(account=account).pk)
        VolumeFactory(account=account)
        before = api.get(f"{PATH}/restricted/grants").json()
        assert api.put(f"{PATH}/restricted/grants", before).json() == before
        assert not Event.objects.exists(), "nothing was changed"
        before["compute"][0]["permissions"], before["volume"][0]["permissions"] = None, "read_write"
        assert api.put(f"{PATH}/restricted/grants", before).json() == before
        assert Grant.objects.get().entity_type == "volume"
        assert Event.objects.get().message == "Grants were changed."

    def test_all_that_is_wrong_is_named_at_once(self, api, account, restricted):
        foreign = {"id": InstanceFactory().pk, "permissions": "read_only"}
        body = {
            "global": {"account_access": "root", "add_images": True}, "compute": [foreign], "volume": "all",
            "image": [{"id": 0, "permissions": "all"}],
        }  # fmt: skip
        assert errors(api.put(f"{PATH}/restricted/grants", body)) == {
            "global.account_access": "global.account_access is not valid",
            "compute[0].id": "id is not valid",
            "volume": "volume is not valid",
            "image[0].id": "id is not valid",
            "image[0].permissions": "permissions is not valid",
        }
        assert set(errors(api.put(f"{PATH}/owner/grants", body))) == {
            None, "global.account_access", "compute[0].id", "volume", "image[0].id", "image[0].permissions",
        }  # fmt: skip

    def test_only_entities_of_the_account_can_be_granted(self, api, account, restricted):
        mine, foreign = InstanceFactory(account=account), InstanceFactory()
        answer = api.put(
            f"{PATH}/restricted/grants",
            {
                "global": {"add_computes": True},
                "compute": [
                    {"id": mine.pk, "permissions": "read_only"},
                    {"id": foreign.pk, "permissions": "read_only"},
                ],
                "longview": [{"id": 1, "permissions": "read_only"}],
            },
        )
        assert sorted(each["field"] for each in answer.json()["errors"]) == ["compute[1].id", "longview[0].id"]
        assert not Grant.objects.exists()
        assert not GlobalGrants.objects.get(user=restricted).add_computes

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"global": {"account_access": "root"}}, "global.account_access"),
            ({"global": {"add_computes": 1}}, "global.add_computes"),
            ({"compute": [{"id": 1, "permissions": "all"}]}, "compute[0].permissions"),
            ({"compute": [{"permissions": "read_only"}]}, "compute[0].id"),
            ({"compute": [{"id": 1}]}, "compute[0].permissions"),
            ({"compute": [{"id": 2**70, "permissions": "read_only"}]}, "compute[0].id"),
            ({"compute": {"id": 1}}, "compute"),
        ],
        ids=str,
    )
    def test_bad_ones_are_refused_by_name(self, api, restricted, body, field):
        answer = api.put(f"{PATH}/restricted/grants", body)
        assert answer.status_code == 400
        assert [each["field"] for each in answer.json()["errors"]] == [field]

    def test_an_unrestricted_user_has_none(self, api):
        assert api.get(f"{PATH}/owner/grants").status_code == 204
        assert api.put(f"{PATH}/owner/grants", {"global": {"add_computes": True}}).status_code == 400


def test_restricted_users_reach_none_of_it(client_for, restricted):
    GlobalGrants.objects.update(account_access="read_write")
    theirs = client_for(restricted)
    for call, path in (
        (theirs.get, PATH), (theirs.post, PATH), (theirs.get, f"{PATH}/owner"), (theirs.put, f"{PATH}/restricted"),
        (theirs.delete, f"{PATH}/owner"), (theirs.put, f"{PATH}/restricted/grants"),
    ):  # fmt: skip
        assert call(path).status_code == 403
