"""Support tickets."""

from pathlib import Path

import pytest
from django.core import mail
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Account, Event, Message, Ticket, TicketAttachment, TicketReply
from accounts.services import outbox, tickets
from accounts.services.tickets import path_of
from compute.models import VLAN, Instance
from config.limits import rates
from regions.models import Region
from tests.client import File, errors
from tests.factories import (
    AccountFactory,
    ConfigFactory,
    DomainFactory,
    GrantFactory,
    InstanceFactory,
    RegionFactory,
    TicketFactory,
)

PATH = "/v4/support/tickets"
BODY = {"summary": "No light", "description": "It is dark."}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path) -> Path:
    settings.ATTACHMENTS_DIR = tmp_path
    return tmp_path


def on_vlan(account: Account, region: Region, label: str) -> VLAN:
    """Create a VLAN with an instance of the account."""
    instance = InstanceFactory(account=account, region=region)
    ConfigFactory(instance=instance, interfaces=[{"purpose": "vlan", "label": label}])
    return VLAN.objects.create(account=account, region=region, label=label)


@pytest.fixture
def vlan(account) -> VLAN:
    """The VLAN ``back`` of the account."""
    return on_vlan(account, RegionFactory(id="us-test"), "back")


@pytest.fixture
def support(account, staff) -> Actor:
    """A staff user who acts on the account."""
    return Actor(account.pk, staff.pk, staff.username, is_staff=True)


def test_a_ticket_goes_from_new_over_open_to_closed(api, owner, support):
    made = api.post(PATH, BODY).json()
    assert (made["status"], made["opened_by"], made["closed"], made["entity"]) == ("new", "owner", None, None)
    ticket = Ticket.objects.get()
    path = f"{PATH}/{ticket.pk}"
    mine = api.post(f"{path}/replies", {"description": "Still dark."}).json()
    assert (mine["created_by"], mine["friendly_name"], mine["from_compute"]) == ("owner", "owner", False)
    assert api.get(path).json()["status"] == "new"
    tickets.reply(support, ticket, "Is the lamp on?")
    assert api.get(path).json()["status"] == "open"
    listed = api.get(f"{path}/replies").json()["data"]
    assert [(each["description"], each["from_compute"]) for each in listed] == [
        ("Still dark.", False), ("Is the lamp on?", True),
    ]  # fmt: skip
    assert Message.objects.get().recipient == owner.email
    assert api.post(f"{path}/close").json() == {}
    closed = api.get(path).json()
    assert (closed["status"], closed["updated_by"]) == ("closed", "owner")
    assert closed["closed"] is not None
    actions = Event.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["ticket_create", "ticket_update", "ticket_update", "ticket_update"]


def test_closing_a_closed_ticket_changes_nothing(api, account):
    ticket = TicketFactory(account=account)
    api.post(f"{PATH}/{ticket.pk}/close")
    closed = api.get(f"{PATH}/{ticket.pk}").json()
    assert api.post(f"{PATH}/{ticket.pk}/close").json() == {}
    assert api.get(f"{PATH}/{ticket.pk}").json() == closed
    assert Event.objects.count() == 1
    assert api.post(f"{PATH}/{ticket.pk}/replies", {"description": "More"}).status_code == 400
    assert api.post(f"{PATH}/{ticket.pk}/attachments", File.form("a.txt", b"a")).status_code == 400
    assert (TicketReply.objects.count(), TicketAttachment.objects.count()) == (0, 0)


def test_a_ticket_that_support_keeps_open_cannot_be_closed(api, account):
    ticket = TicketFactory(account=account, closable=False)
    assert api.post(f"{PATH}/{ticket.pk}/close").status_code == 400
    assert api.get(f"{PATH}/{ticket.pk}").json()["closable"] is False


def test_a_closed_one_is_reported_with_all_other_problems(api, account):
    ticket = TicketFactory(account=account)
    api.post(f"{PATH}/{ticket.pk}/close")
    answer = api.post(f"{PATH}/{ticket.pk}/replies", {})
    assert errors(answer) == {"description": "description is required", None: "This ticket is closed."}
    for file in (File.form("a.exe", b"a"), File.form("a.txt", b"a", field="other")):
        assert set(errors(api.post(f"{PATH}/{ticket.pk}/attachments", file))) == {"file", None}


def test_replies_of_the_platform_have_its_name(api, account):
    ticket = TicketFactory(account=account)
    tickets.reply(Actor.platform(account.pk), ticket, "The service is up again.")
    (reply,) = api.get(f"{PATH}/{ticket.pk}/replies").json()["data"]
    assert (reply["created_by"], reply["friendly_name"]) == ("", "Skerry")


class TestWhatItIsAbout:
    def test_all_that_is_wrong_is_named_at_once(self, api, account):
        """Problems of shape, of existence, and of naming too many things."""
        about = {"compute_id": InstanceFactory(account=account).pk, "domain_id": DomainFactory(account=account).pk}
        answer = api.post(PATH, {"summary": "x" * 65, **about, "volume_id": 0, "vlan": "back"})
        assert errors(answer) == {
            "summary": "Length must be 1-64 characters",
            "description": "description is required",
            "volume_id": "volume_id is not valid",
            "region": "region is required",
            None: "A ticket can be about one entity only.",
        }
        assert not Ticket.objects.exists()

    def test_an_entity_is_named_by_its_field(self, api, account):
        instance = InstanceFactory(account=account)
        made = api.post(PATH, {**BODY, "compute_id": instance.pk}).json()
        assert made["entity"] == {
            "id": instance.pk, "label": instance.label, "type": "compute",
            "url": f"/v4/compute/instances/{instance.pk}",
        }  # fmt: skip
        instance.delete()
        assert api.get(f"{PATH}/{made['id']}").json()["entity"] == made["entity"]

    def test_a_vlan_is_named_with_its_region(self, api, vlan):
        assert api.post(PATH, {**BODY, "vlan": "back"}).json()["errors"][0]["field"] == "region"
        made = api.post(PATH, {**BODY, "vlan": "back", "region": vlan.region_id}).json()
        assert made["entity"] == {"id": "back", "label": "back", "type": "vlan", "url": "/v4/networking/vlans"}

    @pytest.mark.parametrize(
        ("named", "fields"),
        [
            ({"vlan": "front"}, ["vlan"]),
            ({"vlan": "left"}, ["vlan"]),  # a row that no profile names now
            ({"vlan": "others"}, ["vlan"]),
            ({"region": "us-none"}, ["region"]),
            ({"vlan": "back", "region": "us-none"}, ["region"]),
            ({"vlan": "back", "region": "us-else"}, ["vlan"]),
            ({"vlan": "front", "compute_id": 1}, ["compute_id", "vlan"]),
        ],
        ids=str,
    )
    def test_a_vlan_or_region_that_is_not_there_is_refused_by_name(self, api, account, vlan, named, fields):
        RegionFactory(id="us-else")
        VLAN.objects.create(account=account, region=vlan.region, label="left")
        on_vlan(AccountFactory(), vlan.region, "others")
        answer = api.post(PATH, {**BODY, "region": vlan.region_id, **named})
        assert answer.status_code == 400, answer.content
        assert [each["field"] for each in answer.json()["errors"]] == fields
        assert not Ticket.objects.exists()

    def test_a_region_alone_is_nothing_to_be_about(self, api, vlan):
        assert api.post(PATH, {**BODY, "region": vlan.region_id}).json()["entity"] is None

    @pytest.mark.parametrize(
        "field",
        [
            "compute_id", "database_id", "domain_id", "firewall_id", "lkecluster_id", "longviewclient_id",
            "nodebalancer_id", "volume_id",
        ],
    )  # fmt: skip
    def test_an_object_of_another_account_is_refused_at_its_field(self, api, field):
        answer = api.post(PATH, {**BODY, field: InstanceFactory().pk})
        assert [each["field"] for each in answer.json()["errors"]] == [field]
        assert not Ticket.objects.exists()

    def test_a_restricted_user_can_name_only_visible_objects(self, client_for, account, restricted):
        restricted.global_grants.account_access = "read_write"
        restricted.global_grants.save()
        instance, api = InstanceFactory(account=account), client_for(restricted)
        assert api.post(PATH, {**BODY, "compute_id": instance.pk}).status_code == 400
        GrantFactory(user=restricted, entity_id=instance.pk)
        assert api.post(PATH, {**BODY, "compute_id": instance.pk}).status_code == 200

    def test_a_restricted_user_cannot_name_a_vlan_without_an_instance_in_it(self, client_for, vlan, restricted):
        restricted.global_grants.account_access = "read_write"
        restricted.global_grants.save()
        api, body = client_for(restricted), {**BODY, "vlan": "back", "region": vlan.region_id}
        assert [each["field"] for each in api.post(PATH, body).json()["errors"]] == ["vlan"]
        GrantFactory(user=restricted, entity_id=Instance.objects.get().pk)
        assert api.post(PATH, body).status_code == 200

    def test_it_is_one_at_most(self, api, account, vlan):
        about = {"compute_id": Instance.objects.get().pk, "vlan": "back", "region": vlan.region_id}
        answer = api.post(PATH, {**BODY, **about})
        assert answer.json()["errors"] == [{"field": None, "reason": "A ticket can be about one entity only."}]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["summary", "description"]),
        ({"summary": "x" * 65, "description": "x"}, ["summary"]),
        ({"summary": "x", "description": "x" * 65001}, ["description"]),
        ({**BODY, "compute_id": "1"}, ["compute_id"]),
        ({**BODY, "compute_id": 2**70}, ["compute_id"]),
    ],
    ids=["nothing", "long summary", "long description", "text id", "huge id"],
)
def test_bad_values_are_refused_by_name(api, body, fields):
    assert [each["field"] for each in api.post(PATH, body).json()["errors"]] == fields


def test_two_are_opened_a_minute(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "ticket_create": "2/60"}
    rates.forget()
    assert [api.post(PATH, BODY).status_code for _ in range(3)] == [200, 200, 429]
    assert Ticket.objects.count() == 2
    rates.forget()


class TestAttachments:
    @pytest.fixture
    def path(self, account) -> str:
        return f"{PATH}/{TicketFactory(account=account).pk}"

    def test_a_file_is_kept_under_a_name_of_ours(self, api, path, folder):
        assert api.post(f"{path}/attachments", File.form("../../log.TXT", b"See here.")).json() == {}
        assert api.get(path).json()["attachments"] == ["log.TXT"]
        kept = TicketAttachment.objects.get()
        assert path_of(kept).read_bytes() == b"See here."
        assert path_of(kept).parent == folder
        assert (kept.media_type, kept.size) == ("text/plain", 9)
        assert Event.objects.get().action == "ticket_attachment_upload"

    @pytest.mark.parametrize(
        ("name", "content"), [("run.exe", b"MZ"), ("page.html", b"<p>"), ("noending", b"x"), ("empty.txt", b"")]
    )
    def test_other_files_are_refused(self, api, path, folder, name, content):
        answer = api.post(f"{path}/attachments", File.form(name, content))
        assert [each["field"] for each in answer.json()["errors"]] == ["file"]
        assert list(folder.iterdir()) == []

    def test_a_ticket_has_so_many_files_and_no_more(self, api, path, folder, monkeypatch):
        monkeypatch.setattr(tickets, "MAX_FILES", 2)
        for number in range(2):
            assert api.post(f"{path}/attachments", File.form(f"{number}.txt", b"x")).json() == {}
        answer = api.post(f"{path}/attachments", File.form("third.txt", b"x"))
        assert [each["field"] for each in answer.json()["errors"]] == ["file"]
        assert len(list(folder.iterdir())) == 2

    def test_a_file_that_is_too_large_is_refused(self, api, path, folder, settings):
        settings.ATTACHMENT_LIMIT = 1024**2
        answer = api.post(f"{path}/attachments", File.form("large.txt", b"x" * (1024**2 + 1)))
        assert "1 MB" in answer.json()["errors"][0]["reason"]
        assert list(folder.iterdir()) == []

    def test_the_form_has_to_have_the_file(self, api, path):
        answer = api.post(f"{path}/attachments", File.form("a.txt", b"a", field="other"))
        assert [each["field"] for each in answer.json()["errors"]] == ["file"]
        refused = api.post(f"{path}/attachments", {"file": "x"})
        assert errors(refused, 415) == {None: "The body must be multipart/form-data"}

    def test_a_form_that_is_broken_is_refused(self, api, path, folder):
        for media_type in ("multipart/form-data", "multipart/form-data; boundary=x"):
            assert api.post(f"{path}/attachments", File(b"--x\r\nnonsense", media_type)).status_code == 400
        assert list(folder.iterdir()) == []


def test_tickets_of_other_accounts_do_not_exist(api):
    foreign = TicketFactory()
    path = f"{PATH}/{foreign.pk}"
    assert api.get(PATH).json()["results"] == 0
    for answer in (api.get(path), api.post(f"{path}/close"), api.get(f"{path}/replies")):
        assert answer.status_code == 404
    assert api.post(f"{path}/replies", {"description": "x"}).status_code == 404
    assert api.post(f"{path}/attachments", File.form("a.txt", b"a")).status_code == 404


def test_they_can_be_filtered_by_time(api, account):
    TicketFactory(account=account)
    assert api.get(PATH, {"closed": None}).json()["results"] == 1
    assert api.get(PATH, {"opened": {"+lt": "2020-01-01T00:00:00"}}).json()["results"] == 0


def test_they_can_be_filtered_by_status(api, account):
    moments = {"new": None, "open": None, "closed": now()}
    made = {status: TicketFactory(account=account, status=status, closed=at).pk for status, at in moments.items()}

    def listed(x_filter: dict | None = None, query: str = "") -> list[int]:
        return [ticket["id"] for ticket in api.get(f"{PATH}{query}", x_filter).json()["data"]]

    for status, pk in made.items():
        assert listed({"status": status}) == listed(query=f"?status={status}") == [pk]
    assert listed({"+or": [{"status": "new"}, {"status": "open"}]}) == [made["new"], made["open"]]
    assert listed({"status": {"+neq": "closed"}}) == [made["new"], made["open"]]


def test_a_reply_to_a_ticket_whose_summary_breaks_the_line_can_be_sent(api, owner, support):
    api.post(PATH, {**BODY, "summary": "Dark\rand cold"})
    tickets.reply(support, Ticket.objects.get(), "Is the lamp on?")
    assert outbox.send_due() == 1
    assert mail.outbox[0].subject == "Support replied: Dark and cold"
