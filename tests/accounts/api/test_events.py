"""Events: who sees which, in what order, and the effects of reading them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.entities import EntityKind, grantable, register
from accounts.event_names import ACTIONS, ENTITY_TYPES
from accounts.models import Event, GlobalGrants, User
from accounts.services.events import EntityRef, record_event
from accounts.services.refs import profile_ref
from accounts.services.tokens import revoke_token
from compute.jobs.definition import KINDS, Kind
from compute.models import Instance
from tests.client import APIClient, errors
from tests.factories import EventFactory, GrantFactory, InstanceFactory, PersonalTokenFactory


def ids(answer) -> list[int]:
    assert answer.status_code == 200, answer.content
    return [each["id"] for each in answer.json()["data"]]


def found(api: APIClient, **wanted) -> list[int]:
    return ids(api.get("/v4/account/events", x_filter=wanted))


class TestAnEvent:
    def test_of_a_notification_reads_as_the_contract_has_it(self, api, account):
        event = record_event(
            Actor(account.pk, username="owner"),
            "compute_update",
            EntityRef("compute", 7, "web", "/v4/compute/instances/7"),
            EntityRef("image", "compute/debian11", "Debian 11", "/v4/images/compute/debian11"),
        )
        assert api.get(f"/v4/account/events/{event.pk}").json() == {
            "id": event.pk,
            "action": "compute_update",
            "created": event.created.strftime("%Y-%m-%dT%H:%M:%S"),
            "duration": None,
            "entity": {"id": 7, "label": "web", "type": "compute", "url": "/v4/compute/instances/7"},
            "secondary_entity": {
                "id": "compute/debian11",
                "label": "Debian 11",
                "type": "image",
                "url": "/v4/images/compute/debian11",
            },
            "percent_complete": None,
            "rate": None,
            "read": False,
            "seen": False,
            "status": "notification",
            "time_remaining": None,
            "username": "owner",
            "message": "",
        }

    def test_without_entities_has_null_for_them(self, api, account):
        read = api.get(f"/v4/account/events/{EventFactory(account=account).pk}").json()
        assert read["entity"] is None
        assert read["secondary_entity"] is None

    def test_names_a_numbered_secondary_entity_by_number(self, api, account):
        event = EventFactory(account=account, secondary_type="compute_config", secondary_id="12")
        assert api.get(f"/v4/account/events/{event.pk}").json()["secondary_entity"]["id"] == 12

    def test_of_a_job_tells_how_far_it_is(self, api, account):
        event = EventFactory(
            account=account, status="started", percent_complete=40, duration=1.5, rate="20 MB/s", time_remaining=9
        )
        read = api.get(f"/v4/account/events/{event.pk}").json()
        progress = {"percent_complete": 40, "duration": 1.5, "rate": "20 MB/s", "time_remaining": 9}
        assert {name: read[name] for name in progress} == progress

    def test_has_a_name_of_the_contract_for_every_kind_of_job(self):
        assert {action for kind in KINDS.values() for action in actions_of(kind)} <= set(ACTIONS)
        assert {kind.name for kind in grantable()} <= set(ENTITY_TYPES)


def actions_of(kind: Kind) -> set[str]:
    return {kind.event, *(step.event for step in kind.steps if step.event)}


class TestTheList:
    def test_is_newest_first_and_reaches_back_ninety_days(self, api, account):
        EventFactory(account=account, created=now() - timedelta(days=90, seconds=1))
        old = EventFactory(account=account, created=now() - timedelta(days=89))
        new = EventFactory(account=account)
        assert ids(api.get("/v4/account/events")) == [new.pk, old.pk]

    def test_leaves_out_old_events_with_the_same_compiled_statement(self, api, account):
        event = EventFactory(account=account)
        assert ids(api.get("/v4/account/events")) == [event.pk]
        Event.objects.update(created=now() - timedelta(days=91))
        assert ids(api.get("/v4/account/events")) == []
        assert api.get(f"/v4/account/events/{event.pk}").status_code == 404
        assert api.post(f"/v4/account/events/{event.pk}/seen").status_code == 404

    @pytest.mark.parametrize("who", ["owner", "restricted"])
    def test_is_one_query_in_addition_to_that_of_the_token(self, client_for, request, account, who):
        EventFactory.create_batch(3, account=account)
        api = client_for(request.getfixturevalue(who))
        with CaptureQueriesContext(connection) as queries:
            assert len(ids(api.get("/v4/account/events"))) == 3
        assert len(queries) == 2

    def test_is_polled_by_entity_action_time_and_id(self, api, account):
        first = EventFactory(account=account, of=True, action="compute_create", entity_id=7)
        then = EventFactory(account=account, of=True, action="compute_boot", entity_id=7)
        other = EventFactory(account=account, of=True, action="compute_boot", entity_id=8)
        Event.objects.filter(pk=first.pk).update(created=now() + timedelta(days=2))
        assert found(api, **{"entity.id": 7, "entity.type": "compute"}) == [then.pk, first.pk]
        assert found(api, entity={"id": 8}) == [other.pk]
        assert found(api, action="compute_boot", **{"entity.id": 7}) == [then.pk]
        assert found(api, id={"+gte": then.pk}) == [other.pk, then.pk]
        assert found(api, id={"+gte": then.pk}, **{"+order_by": "id", "+order": "asc"}) == [then.pk, other.pk]
        assert found(api, **{"+order_by": "created", "+order": "desc"})[0] == first.pk
        later = (now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
        assert found(api, created={"+gte": later}) == [first.pk]

    def test_can_be_filtered_by_seen_and_read(self, api, account):
        what = {"account": account, "of": True, "action": "disk_create", "entity_id": 1}
        first, then = (EventFactory(**what) for _ in range(2))
        api.post(f"/v4/account/events/{first.pk}/seen")
        api.post(f"/v4/account/events/{then.pk}/read")
        since = (now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
        wanted = {
            "action": "disk_create", "entity.id": 1, "entity.type": "compute", "created": {"+gte": since},
            "+order_by": "created", "+order": "desc",
        }  # fmt: skip
        assert found(api, seen=False, **wanted) == [then.pk]
        assert found(api, seen=True, **wanted) == [first.pk]
        assert found(api, read=True, **wanted) == [then.pk]
        assert found(api, read={"+neq": True}, **wanted) == [first.pk]

    def test_shows_images_by_the_id_that_clients_know(self, api, account):
        image = EventFactory(account=account, of=True, entity_type="image", entity_id=12, action="image_update")
        volume = EventFactory(account=account, of=True, entity_type="volume", entity_id=12, action="volume_update")
        plain = EventFactory(account=account)
        shown = {each["id"]: each["entity"] for each in api.get("/v4/account/events").json()["data"]}
        assert shown[image.pk]["id"] == "private/12"
        assert shown[volume.pk]["id"] == 12
        assert shown[plain.pk] is None
        assert api.get(f"/v4/account/events/{image.pk}").json()["entity"] == shown[image.pk]

        assert found(api, **{"entity.id": "private/12"}) == [image.pk]
        assert found(api, entity={"id": "private/12", "type": "image"}) == [image.pk]
        assert ids(api.get("/v4/account/events?entity.id=private/12")) == [image.pk]
        assert ids(api.get("/v4/account/events?entity.id=12")) == [volume.pk]
        assert found(api, **{"entity.id": 12}) == [volume.pk]
        assert found(api, **{"entity.id": {"+or": [12, "private/12", "private/13", 13]}}) == [volume.pk, image.pk]
        assert found(api, **{"entity.id": {"+neq": "private/12"}}) == [plain.pk, volume.pk]
        assert found(api, **{"entity.id": {"+neq": 12}}) == [plain.pk, image.pk]
        assert found(api, **{"entity.id": {"+gte": 12}}) == [volume.pk]
        assert found(api, **{"entity.id": None}) == [plain.pk]
        assert found(api, **{"entity.id": {"+contains": "12"}}) == [volume.pk, image.pk]
        assert found(api, **{"entity.id": {"+contains": 1}}) == [volume.pk, image.pk]
        assert found(api, **{"entity.id": {"+contains": "te/1"}}) == [image.pk]
        assert found(api, **{"entity.id": {"+contains": "13"}}) == []
        assert found(api, **{"entity.id": f"private/{10**18}"}) == []
        for several in ([2**63, 12], ["private/9999999999999999999", 12]):
            assert found(api, **{"entity.id": {"+or": several}}) == [volume.pk]

    @pytest.mark.parametrize(
        "wanted",
        [
            "12",
            "private/",
            "private/x",
            "private/012",
            "compute/debian11",
            True,
            1.5,
            ["private/12"],
            {"+gt": "private/1"},
        ],
    )
    def test_refuses_an_invalid_id(self, api, account, wanted):
        answer = api.get("/v4/account/events", x_filter={"entity.id": wanted})
        assert errors(answer) == {"X-Filter": "entity.id is not valid"}

    @pytest.mark.parametrize("field", ["username", "status", "entity.label", "nonsense"])
    def test_refuses_filters_that_the_contract_lacks(self, api, field):
        answer = api.get("/v4/account/events", x_filter={field: "x"})
        assert (answer.status_code, answer.json()["errors"]) == (
            400,
            [{"field": "X-Filter", "reason": f"Cannot filter on {field}"}],
        )

    def test_shows_nothing_of_another_account(self, client_for, stranger, account):
        event = EventFactory(account=account)
        api = client_for(stranger)
        assert ids(api.get("/v4/account/events")) == []
        for call in (api.get, lambda path: api.post(f"{path}/seen"), lambda path: api.post(f"{path}/read")):
            assert call(f"/v4/account/events/{event.pk}").status_code == 404

    def test_needs_the_scope(self, client_for, owner):
        assert client_for(owner, "events:read_only").get("/v4/account/events").status_code == 200
        assert client_for(owner, "account:read_write").get("/v4/account/events").status_code == 401


class TestARestrictedUser:
    @pytest.fixture
    def api(self, client_for, restricted) -> APIClient:
        return client_for(restricted)

    @pytest.fixture
    def instance(self, account) -> Instance:
        return InstanceFactory(account=account)

    @pytest.fixture
    def of_instance(self, account, instance) -> Event:
        return EventFactory(account=account, of=True, entity_id=instance.pk, username="owner")

    def test_sees_no_events_of_entities_without_a_grant(self, api, of_instance):
        assert ids(api.get("/v4/account/events")) == []
        assert api.get(f"/v4/account/events/{of_instance.pk}").status_code == 404

    def test_sees_events_of_entities_with_a_grant(self, api, restricted, instance, of_instance):
        EventFactory(account=instance.account, action="ticket_create", entity_type="user", entity_id=instance.pk)
        GrantFactory(user=restricted, entity_id=instance.pk)
        assert ids(api.get("/v4/account/events")) == [of_instance.pk]

    @pytest.mark.parametrize("kind", ["token", "user_ssh_key"])
    def test_sees_events_of_its_own_tokens_and_keys_only(self, api, account, kind):
        mine = EventFactory(account=account, entity_type=kind, entity_id=1, username="restricted")
        EventFactory(account=account, entity_type=kind, entity_id=2, username="owner")
        assert ids(api.get("/v4/account/events")) == [mine.pk]

    def test_sees_events_of_support_on_its_tokens(self, api, restricted, owner):
        support = Actor(restricted.account_id, username="support", is_staff=True)
        for user in (restricted, owner):
            revoke_token(support, PersonalTokenFactory(user=user, label=f"of {user}"))
        (event,) = api.get("/v4/account/events").json()["data"]
        assert (event["username"], event["entity"]["label"]) == ("support", "of restricted")

    def test_sees_changes_of_its_profile_by_support(self, api, restricted, owner):
        support = Actor(restricted.account_id, username="support", is_staff=True)
        for user in (restricted, owner):
            record_event(support, "profile_update", profile_ref(user))
        (event,) = api.get("/v4/account/events").json()["data"]
        assert event["entity"]["label"] == "restricted"

    def test_sees_no_events_of_entities_that_it_may_not_see_any_more(self, api, restricted, of_instance):
        Event.objects.update(username="restricted")
        assert found(api) == []
        GrantFactory(user=restricted, entity_id=of_instance.entity_id)
        assert found(api) == [of_instance.pk]

    def test_sees_the_event_of_its_deletion_to_the_end(self, api, account):
        """The grant is deleted before the event has finished."""
        mine = EventFactory(account=account, of=True, action="compute_delete", entity_id=7, username="restricted")
        EventFactory(account=account, of=True, action="compute_delete", entity_id=8, username="owner")
        assert found(api) == [mine.pk]
        assert api.get(f"/v4/account/events/{mine.pk}").status_code == 200

    def test_sees_events_of_visible_tags(self, api, client_for, owner, restricted, instance):
        for label, carrying in (("web", [instance.pk]), ("other", [])):
            client_for(owner).post("/v4/tags", {"label": label, "computes": carrying})
        assert found(api) == []
        GrantFactory(user=restricted, entity_id=instance.pk, permissions="read_write")
        (event,) = api.get("/v4/account/events").json()["data"]
        assert event["entity"]["label"] == "web"
        assert api.post(f"/v4/account/events/{event['id']}/read").status_code == 200
        assert api.post(f"/v4/account/events/{event['id']}/seen").status_code == 403, "it may not change tags"

    @pytest.mark.parametrize("access", ["read_only", "read_write", None])
    def test_marks_nothing_that_it_does_not_see(self, api, account, access):
        GlobalGrants.objects.update(account_access=access)
        hidden = EventFactory(account=account, entity_type="user", entity_id=1, action="user_create")
        for mark in ("seen", "read"):
            assert api.post(f"/v4/account/events/{hidden.pk}/{mark}").status_code == 404
        assert not Event.objects.filter(seen=True).exists()

    def test_sees_no_events_of_an_earlier_user_of_its_name(self, api, restricted, account):
        EventFactory(
            account=account, action="token_create", entity_type="token", entity_id=1, username="restricted"
        )
        User.objects.filter(pk=restricted.pk).update(date_joined=now() + timedelta(seconds=1))
        assert found(api) == []

    def test_sees_events_of_the_account_only_with_access_to_it(self, api, account):
        event = EventFactory(account=account, entity_type="account", entity_id=account.pk)
        EventFactory(account=account, action="user_create", entity_type="user", entity_id=1)
        assert ids(api.get("/v4/account/events")) == [event.pk]
        GlobalGrants.objects.update(account_access=None)
        assert ids(api.get("/v4/account/events")) == []

    def test_sees_no_event_of_managed_with_any_access(self, api, client_for, owner, restricted, account):
        GlobalGrants.objects.update(account_access="read_write")
        events = [
            EventFactory(account=account, action=action, entity_type=kind, entity_id=account.pk, username=user)
            for action, kind, user in (
                ("managed_enabled", "account", "owner"),
                ("managed_enabled", "profile", "restricted"),
                ("managed_service_create", "managed_service", "owner"),
                ("managed_service_delete", "managed_service", "restricted"),
            )
        ]
        assert found(api) == []
        assert api.get(f"/v4/account/events/{events[0].pk}").status_code == 404
        assert found(client_for(owner)) == [event.pk for event in reversed(events)]

    def test_marks_visible_events_as_read_and_writable_ones_as_seen(self, api, restricted, instance, of_instance):
        grant = GrantFactory(user=restricted, entity_id=instance.pk)
        path = f"/v4/account/events/{of_instance.pk}"
        assert api.post(f"{path}/seen").status_code == 403
        assert api.post(f"{path}/read").status_code == 200
        grant.permissions = "read_write"
        grant.save()
        assert api.post(f"{path}/seen").status_code == 200

    def test_marks_only_its_own_share_as_seen(self, api, restricted, account, instance, of_instance):
        hidden = EventFactory(account=account, of=True, entity_id=InstanceFactory(account=account).pk)
        GrantFactory(user=restricted, entity_id=instance.pk, permissions="read_write")
        last = EventFactory(account=account, of=True, entity_id=instance.pk)
        assert api.post(f"/v4/account/events/{last.pk}/seen").status_code == 200
        assert set(Event.objects.filter(seen=True)) == {of_instance, last}
        assert not Event.objects.get(pk=hidden.pk).seen


class TestMarking:
    def test_seen_takes_all_up_to_it(self, api, account):
        first, second, third = EventFactory.create_batch(3, account=account)
        theirs = EventFactory()
        assert api.post(f"/v4/account/events/{second.pk}/seen").json() == {}
        assert set(Event.objects.filter(seen=True)) == {first, second}
        assert not Event.objects.filter(pk__in=[third.pk, theirs.pk], seen=True).exists()
        assert api.get(f"/v4/account/events/{first.pk}").json()["seen"] is True

    def test_read_takes_one(self, api, account):
        _, second = EventFactory.create_batch(2, account=account)
        assert api.post(f"/v4/account/events/{second.pk}/read").json() == {}
        assert set(Event.objects.filter(read=True)) == {second}

    def test_again_changes_nothing(self, api, account):
        event = EventFactory(account=account)
        for mark in ("seen", "seen", "read", "read"):
            assert api.post(f"/v4/account/events/{event.pk}/{mark}").status_code == 200


class TestTheRegistryOfKinds:
    def test_knows_a_kind_once(self):
        compute = next(kind for kind in grantable() if kind.name == "compute")
        register(compute)
        with pytest.raises(ValueError, match="registered already"):
            register(EntityKind("compute", Event, "/v4/account/events/{id}"))

    def test_refuses_grants_on_kinds_without_grants(self):
        with pytest.raises(ValueError, match="no grants"):
            register(EntityKind("event", Event, "/v4/account/events/{id}", grantable=True))
