"""Personal access tokens: their fields, the tokens that they may create, and their end."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.utils.timezone import now

from accounts.models import Event, PersonalToken
from tests.client import APIClient
from tests.factories import PersonalTokenFactory, token_of


def the_event(action: str) -> Event:
    return Event.objects.get(action=action)


class TestCreating:
    def test_shows_the_token_once_and_then_its_beginning(self, api):
        created = api.post("/v4/profile/tokens", {"label": "ci", "scopes": "computes:read_only"}).json()
        assert re.fullmatch("[0-9a-f]{64}", created["token"])
        assert created["expiry"] == "2999-12-12T05:00:00"
        read = api.get(f"/v4/profile/tokens/{created['id']}").json()
        assert read == {**created, "token": created["token"][:16]}

    def test_stores_only_a_digest(self, api):
        readable = api.post("/v4/profile/tokens", {"label": "ci"}).json()["token"]
        kept = PersonalToken.objects.filter(label="ci").values().get()
        assert kept["digest"] == hashlib.sha256(readable.encode()).hexdigest()
        assert kept["prefix"] == readable[:16]
        assert readable not in map(str, kept.values())

    def test_makes_a_token_that_works(self, api, owner):
        readable = api.post("/v4/profile/tokens", {"label": "ci", "scopes": "account:read_only"}).json()["token"]
        answer = APIClient(readable).get("/v4/profile")
        assert answer.json()["username"] == owner.username
        assert answer["X-OAuth-Scopes"] == "account:read_only"

    def test_gives_by_default_the_scopes_of_the_token_that_asks(self, client_for, owner):
        api = client_for(owner, "account:read_write events:read_only")
        assert (
            api.post("/v4/profile/tokens", {"label": "ci"}).json()["scopes"]
            == "account:read_write events:read_only"
        )

    def test_takes_scopes_with_commas(self, api):
        asked = {"label": "ci", "scopes": "events:read_only,ips:read_write"}
        assert api.post("/v4/profile/tokens", asked).json()["scopes"] == "events:read_only ips:read_write"

    def test_takes_null_for_not_given(self, api):
        created = api.post("/v4/profile/tokens", {"label": None, "scopes": None, "expiry": None}).json()
        assert (created["label"], created["scopes"]) == ("Personal access token", "*")

    def test_works_without_a_label_and_with_an_expiry(self, api):
        created = api.post("/v4/profile/tokens", {"expiry": "2099-01-31T12:00:00"}).json()
        assert created["label"]
        assert created["expiry"] == "2099-01-31T12:00:00"

    @pytest.mark.parametrize("expiry", [{}, {"expiry": None}, {"expiry": "2999-12-12T05:00:00"}], ids=str)
    def test_a_token_without_expiry_shows_a_distant_date(self, api, expiry):
        created = api.post("/v4/profile/tokens", {"label": "ci", **expiry}).json()
        assert created["expiry"] == "2999-12-12T05:00:00"
        assert PersonalToken.objects.get(pk=created["id"]).expiry is None
        path = f"/v4/profile/tokens/{created['id']}"
        assert api.get(path).json()["expiry"] == created["expiry"]
        assert api.put(path, {**created, "label": "ci 2"}).json()["expiry"] == created["expiry"]
        listed = api.get("/v4/profile/tokens").json()["data"]
        assert [each["expiry"] for each in listed if each["id"] == created["id"]] == [created["expiry"]]

    def test_has_an_event_without_any_part_of_the_token(self, api, owner):
        created = api.post("/v4/profile/tokens", {"label": "ci"}).json()
        event = the_event("token_create")
        assert (event.username, event.status) == (owner.username, "notification")
        assert (event.entity_type, event.entity_id, event.entity_label) == ("token", created["id"], "ci")
        assert created["token"][:8] not in str(vars(event))

    def test_never_gives_more_than_the_token_that_asks_has(self, client_for, owner):
        api = client_for(owner, "account:read_write computes:read_only")
        for scopes in ("*", "computes:read_write", "account:read_only events:read_only"):
            answer = api.post("/v4/profile/tokens", {"label": "more", "scopes": scopes})
            assert answer.status_code == 403
            assert answer.json()["errors"] == [
                {"field": "scopes", "reason": "A token can only create tokens within its own scopes."}
            ]
        assert api.post("/v4/profile/tokens", {"scopes": "account:read_only computes:read_only"}).status_code == 200
        assert PersonalToken.objects.filter(label="more").count() == 0

    def test_reports_all_that_is_wrong_at_once(self, api):
        answer = api.post("/v4/profile/tokens", {"label": "", "scopes": "root", "expiry": "2001-01-01T00:00:00"})
        assert answer.status_code == 400
        assert {each["field"] for each in answer.json()["errors"]} == {"label", "scopes", "expiry"}

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"label": "x" * 101}, "label"),
            ({"scopes": ""}, "scopes"),
            ({"scopes": "computes:write"}, "scopes"),
            ({"scopes": ["*"]}, "scopes"),
            ({"expiry": "tomorrow"}, "expiry"),
            ({"expiry": 12}, "expiry"),
        ],
        ids=str,
    )
    def test_refuses_invalid_fields_by_name(self, api, body, field):
        answer = api.post("/v4/profile/tokens", {"label": "ci", **body})
        assert answer.status_code == 400
        assert [each["field"] for each in answer.json()["errors"]] == [field]

    def test_needs_the_write_scope(self, client_for, owner):
        assert client_for(owner, "account:read_only").post("/v4/profile/tokens", {}).status_code == 401


class TestTheOnesThereAre:
    def test_are_listed_in_order_and_by_filter(self, api, owner):
        PersonalTokenFactory(user=owner, label="laptop")
        ids = [each["id"] for each in api.get("/v4/profile/tokens").json()["data"]]
        assert ids == sorted(ids)
        found = api.get("/v4/profile/tokens", x_filter={"label": "laptop"}).json()
        assert [each["label"] for each in found["data"]] == ["laptop"]
        assert api.get("/v4/profile/tokens?label=laptop").json() == found
        assert api.get("/v4/profile/tokens", x_filter={"token": "0"}).status_code == 400

    def test_are_renamed_and_nothing_else(self, api):
        created = api.post("/v4/profile/tokens", {"label": "ci", "scopes": "events:read_only"}).json()
        path = f"/v4/profile/tokens/{created['id']}"
        answer = api.put(path, {**created, "label": "ci 2", "scopes": "*", "expiry": "2001-01-01T00:00:00"})
        assert answer.json() == {**created, "label": "ci 2", "token": created["token"][:16]}
        assert api.get(path).json() == answer.json()
        assert the_event("token_update").entity_label == "ci 2"

    def test_keep_their_label_when_none_is_given(self, api, owner):
        token = PersonalTokenFactory(user=owner, label="laptop")
        assert api.put(f"/v4/profile/tokens/{token.pk}", {}).json()["label"] == "laptop"
        assert api.put(f"/v4/profile/tokens/{token.pk}", {"label": ""}).status_code == 400

    def test_end_at_once_when_revoked(self, api):
        created = api.post("/v4/profile/tokens", {"label": "ci"}).json()
        assert api.delete(f"/v4/profile/tokens/{created['id']}").json() == {}
        answer = APIClient(created["token"]).get("/v4/profile")
        assert (answer.status_code, answer.json()["errors"][0]["reason"]) == (401, "Invalid Token")
        assert the_event("token_delete").entity_label == "ci"
        assert api.get(f"/v4/profile/tokens/{created['id']}").status_code == 404

    def test_end_by_themselves_when_they_expire(self, owner):
        api = APIClient(token_of(owner, expiry=now() - timedelta(seconds=1)))
        assert api.get("/v4/profile").status_code == 401

    def test_are_shown_until_they_expire(self, api, owner):
        path = "/v4/profile/tokens"
        lasting = PersonalTokenFactory(user=owner, label="lasting", expiry=now() + timedelta(hours=1))
        expired = PersonalTokenFactory(user=owner, label="expired", expiry=now() - timedelta(seconds=1))
        shown = [token["id"] for token in api.get(path).json()["data"]]
        assert lasting.pk in shown
        assert expired.pk not in shown
        assert api.get(f"{path}/{expired.pk}").status_code == 404

    def test_do_not_exist_for_others_not_even_of_the_same_account(self, client_for, owner, restricted, stranger):
        token = PersonalTokenFactory(user=owner)
        path = f"/v4/profile/tokens/{token.pk}"
        for user in (restricted, stranger):
            api = client_for(user)
            assert api.get(path).status_code == 404
            assert api.put(path, {"label": "mine"}).status_code == 404
            assert api.delete(path).status_code == 404
            assert token.pk not in [each["id"] for each in api.get("/v4/profile/tokens").json()["data"]]
        assert PersonalToken.objects.filter(pk=token.pk, label=token.label).exists()

    def test_are_a_restricted_users_own_affair(self, client_for, restricted):
        api = client_for(restricted)
        created = api.post("/v4/profile/tokens", {"label": "mine"}).json()
        assert api.delete(f"/v4/profile/tokens/{created['id']}").status_code == 200
