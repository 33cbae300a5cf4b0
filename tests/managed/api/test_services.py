"""Services: what is watched, and the valid values. The effects of checks are in probing/."""

import pytest

from accounts.actors import Actor
from accounts.models import Event, Ticket
from config.egress import resolver
from config.errors import Invalid
from managed.models import Issue, Service
from managed.services.services import ServiceSpec, update
from regions.models import Region
from tests.client import wrong_fields
from tests.factories import CredentialFactory, IssueFactory, ServiceFactory

pytestmark = pytest.mark.django_db
PATH = "/v4/managed/services"
URL = {"service_type": "url", "label": "web", "address": "https://web.example.com/up?x=1#top", "timeout": 10}
TCP = {"service_type": "tcp", "label": "database", "address": "203.0.113.7:5432", "timeout": 5}


@pytest.fixture(autouse=True)
def _no_name_is_looked_up(monkeypatch):
    """Fail on any look-up of a name in a request: a stranger's name server could block a web process."""
    for name in ("resolve", "resolve_async"):
        monkeypatch.setattr(resolver, name, lambda host: pytest.fail(f"{host} was looked up"))


@pytest.fixture(autouse=True)
def _region():
    Region.objects.create(id="us-test", country="us")


def test_a_service_is_pending_until_it_is_checked(api, account, owner):
    credential = CredentialFactory(account=account)
    wish = {
        **URL, "body": "all is well", "consultation_group": "ops", "notes": "Restart it.",
        "credentials": [credential.pk],
    }  # fmt: skip
    made = api.post(PATH, wish).json()
    address = "https://web.example.com/up?x=1"  # the query stays, the fragment goes
    assert made == {
        "id": made["id"], **wish, "address": address, "region": None, "status": "pending",
        "created": made["created"], "updated": made["updated"],
    }  # fmt: skip
    assert api.get(PATH).json()["data"] == [made]
    event = Event.objects.get()
    assert (event.action, event.entity_type, event.entity_id) == (
        "managed_service_create",
        "managed_service",
        made["id"],
    )
    assert event.username == owner.username


def test_it_is_changed_and_deleted(api, account):
    service = ServiceFactory(account=account, **{**URL, "address": "https://web.example.com/up"})
    changed = api.put(f"{PATH}/{service.pk}", {"label": "front", "timeout": 255, "notes": None}).json()
    assert (changed["label"], changed["timeout"], changed["notes"]) == ("front", 255, None)
    assert api.delete(f"{PATH}/{service.pk}").json() == {}
    assert api.get(f"{PATH}/{service.pk}").status_code == 404
    assert [event.action for event in Event.objects.order_by("pk")][-1] == "managed_service_delete"


@pytest.mark.parametrize(("kept", "given"), [(None, ""), ("", None)])
def test_no_text_in_place_of_no_text_changes_nothing(api, account, kept, given):
    service = ServiceFactory(account=account, status="ok", address="http://203.0.113.7/", body=kept)
    before = api.get(f"{PATH}/{service.pk}").json()
    assert api.put(f"{PATH}/{service.pk}", {"body": given}).json() == before
    assert not Event.objects.exists()
    changed = api.put(f"{PATH}/{service.pk}", {"body": given, "notes": "Restart it."}).json()
    assert (changed["status"], changed["notes"]) == ("ok", "Restart it.")


def test_another_text_is_looked_for_anew(api, account):
    service = ServiceFactory(account=account, status="ok", address="http://203.0.113.7/", body="all is well")
    changed = api.put(f"{PATH}/{service.pk}", {"body": None}).json()
    assert (changed["status"], changed["body"]) == ("pending", None)


def test_credentials_are_replaced_or_left(api, account):
    one, two = CredentialFactory(account=account), CredentialFactory(account=account)
    made = api.post(PATH, {**TCP, "credentials": [one.pk, one.pk]}).json()
    assert made["credentials"] == [one.pk]
    path = f"{PATH}/{made['id']}"
    assert api.put(path, {"label": "another"}).json()["credentials"] == [one.pk]
    assert api.put(path, {"credentials": [two.pk]}).json()["credentials"] == [two.pk]
    assert api.put(path, {"credentials": []}).json()["credentials"] == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"label": "xx"}, "label"),
        ({"label": "x" * 65}, "label"),
        ({"label": "a\nb"}, "label"),
        ({"service_type": "ping"}, "service_type"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": 256}, "timeout"),
        ({"address": "xx"}, "address"),
        ({"address": f"https://web.example.com/{'x' * 100}"}, "address"),
        ({"address": "ftp://web.example.com/"}, "address"),
        ({"address": "https://user:pass@web.example.com/"}, "address"),
        ({"address": "https://localhost/"}, "address"),
        ({"address": "https://a.LocalHost./"}, "address"),
        ({"address": "http://127.0.0.1/"}, "address"),
        ({"address": "http://169.254.169.254/latest"}, "address"),
        ({"address": "http://[::ffff:127.0.0.1]/"}, "address"),
        ({"address": "http://0x7f.1/"}, "address"),
        ({"service_type": "tcp", "address": "web.example.com"}, "address"),
        ({"address": "http://10.0.0.5/"}, "region"),
        ({"address": "http://203.0.113.7/", "region": "us-test"}, "region"),
        ({"region": "nowhere"}, "region"),
        ({"body": "x" * 101}, "body"),
        ({"consultation_group": "x" * 51}, "consultation_group"),
        ({"credentials": [0]}, "credentials"),
        ({"credentials": "x"}, "credentials"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_input_names_the_field_and_changes_nothing(api, account, changes, field):
    assert wrong_fields(api.post(PATH, {**URL, **changes}))[0] == field
    assert not Service.objects.exists()
    service = ServiceFactory(account=account, **{**URL, "address": "https://web.example.com/up"})
    before = api.get(f"{PATH}/{service.pk}").json()
    assert wrong_fields(api.put(f"{PATH}/{service.pk}", {"notes": "more", **changes}))[0] == field
    assert api.get(f"{PATH}/{service.pk}").json() == before
    assert not Event.objects.exists()


def test_all_errors_are_reported_together(api):
    answer = api.post(PATH, {**URL, "address": "http://127.0.0.1/", "region": "nowhere", "credentials": [1]})
    assert set(wrong_fields(answer)) == {"address", "region", "credentials"}
    assert set(wrong_fields(api.post(PATH, {}))) == {"service_type", "label", "address", "timeout"}


def test_private_addresses_are_checked_from_their_region(api):
    made = api.post(PATH, {**TCP, "address": "tcp://10.0.0.5:22", "region": "us-test"}).json()
    assert (made["region"], made["address"]) == ("us-test", "tcp://10.0.0.5:22")
    assert wrong_fields(api.put(f"{PATH}/{made['id']}", {"region": None})) == ["region"]
    moved = api.put(f"{PATH}/{made['id']}", {"region": None, "address": "203.0.113.9:22"}).json()
    assert moved["region"] is None


def test_a_name_that_stands_for_nothing_yet_is_taken(api):
    assert api.post(PATH, {**URL, "address": "https://soon.example.com/"}).status_code == 200


def test_credentials_of_another_account_are_not_valid(api):
    assert wrong_fields(api.post(PATH, {**URL, "credentials": [CredentialFactory().pk]})) == ["credentials"]


def test_services_of_another_account_do_not_exist(api):
    path = f"{PATH}/{ServiceFactory().pk}"
    assert [call(path).status_code for call in (api.get, api.put, api.delete)] == [404] * 3
    assert [api.post(f"{path}/{verb}").status_code for verb in ("enable", "disable")] == [404] * 2


def test_disabling_and_enabling_say_so_once(api, account):
    service = ServiceFactory(account=account, status="ok")
    path = f"{PATH}/{service.pk}"
    for _ in range(2):
        assert api.post(f"{path}/disable").json()["status"] == "disabled"
    for _ in range(2):
        assert api.post(f"{path}/enable").json()["status"] == "pending"
    messages = [event.message for event in Event.objects.order_by("pk")]
    assert messages == [f"The service {service.label} was {what}." for what in ("disabled", "enabled")]


def failing(account, **values) -> Service:
    """Create a service that is down, with its open issue and ticket."""
    service = ServiceFactory(account=account, **{**URL, "address": "https://web.example.com/up", **values})
    issue = IssueFactory(account=account, services=[service.pk])
    Service.objects.filter(pk=service.pk).update(status="problem", failures=2, issue=issue)
    service.refresh_from_db()
    return service


@pytest.mark.parametrize("how", ["disable", "delete", "put"])
def test_stopping_to_watch_a_service_ends_its_issue(api, account, how):
    service = failing(account)
    path = f"{PATH}/{service.pk}"
    if how == "delete":
        api.delete(path)
    elif how == "disable":
        api.post(f"{path}/disable")
    else:
        assert api.put(path, {"address": "https://web.example.com/other"}).json()["status"] == "pending"
    assert Issue.objects.get().closed is not None
    ticket = Ticket.objects.get()
    assert ticket.status == "closed"
    assert service.label in ticket.replies.get().description


def test_a_change_that_leaves_the_check_as_it_is_leaves_the_issue(api, account):
    service = failing(account)
    assert api.put(f"{PATH}/{service.pk}", {"label": "another", "notes": "x"}).json()["status"] == "problem"
    assert Issue.objects.get().closed is None


def test_a_change_of_the_check_counts_for_nothing_that_is_under_way(api, account):
    service = ServiceFactory(account=account, **TCP, fence=7, status="ok", failures=1)
    api.put(f"{PATH}/{service.pk}", {"timeout": 9})
    service.refresh_from_db()
    assert (service.fence, service.failures, service.status, service.lease_until) == (8, 0, "pending", None)


def test_a_disabled_service_stays_disabled_when_it_is_changed(api, account):
    service = ServiceFactory(account=account, **TCP, status="disabled")
    assert api.put(f"{PATH}/{service.pk}", {"address": "203.0.113.8:22"}).json()["status"] == "disabled"


def test_issues_name_their_ticket_and_services(api, account):
    service = failing(account)
    issue = Issue.objects.get()
    shown = api.get("/v4/managed/issues").json()["data"]
    assert shown == [
        {
            "id": issue.pk,
            "created": shown[0]["created"],
            "services": [service.pk],
            "entity": {
                "id": issue.ticket_id,
                "type": "ticket",
                "label": "It is down",
                "url": f"/v4/support/tickets/{issue.ticket_id}",
            },
        }
    ]
    assert api.get(f"/v4/managed/issues/{issue.pk}").json() == shown[0]
    assert api.get(shown[0]["entity"]["url"]).json()["summary"] == "It is down"


def test_issues_of_another_account_do_not_exist(api):
    assert api.get(f"/v4/managed/issues/{IssueFactory().pk}").status_code == 404
    assert api.get("/v4/managed/issues").json()["results"] == 0


def test_two_changes_at_once_both_count(account, owner):
    """The second request writes only its own fields, and none that it read before the first."""
    service = ServiceFactory(account=account, **TCP)
    one, two = Service.objects.get(pk=service.pk), Service.objects.get(pk=service.pk)
    actor = Actor(account.pk, owner.pk, "owner")
    update(actor, one, ServiceSpec({"label": "first", "address": "203.0.113.99:80"}))
    update(actor, two, ServiceSpec({"notes": "second"}))
    service.refresh_from_db()
    assert (service.label, service.notes, service.address) == ("first", "second", "203.0.113.99:80")


def test_given_parts_of_the_target_fit_its_other_parts(account, owner):
    """Of two concurrent requests, one sets the type to URL, and the other sets an address that is not a URL."""
    service = ServiceFactory(account=account, **TCP)
    one, two = Service.objects.get(pk=service.pk), Service.objects.get(pk=service.pk)
    actor = Actor(account.pk, owner.pk, "owner")
    update(actor, one, ServiceSpec({"service_type": "url", "address": "https://web.example.com/"}))
    with pytest.raises(Invalid, match="http"):
        update(actor, two, ServiceSpec({"address": "203.0.113.99:80"}))
    service.refresh_from_db()
    assert (service.service_type, service.address) == ("url", "https://web.example.com/")
