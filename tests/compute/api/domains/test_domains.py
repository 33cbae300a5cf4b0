"""Domains: their rules, and who may do what with them."""

import time

import pytest

from accounts.models import Event, Grant
from compute.models import Domain, DomainRecord
from compute.services.domains.zone_import import MAX_RECORDS
from tags.models import Tagging
from tests.client import errors, wrong_fields
from tests.factories import DomainFactory, GlobalGrantsFactory, GrantFactory, RecordFactory

pytestmark = pytest.mark.django_db
PATH = "/v4/domains"
MASTER = {"domain": "example.com", "type": "master", "soa_email": "dns@example.com"}
SLAVE = {"domain": "example.net", "type": "slave", "master_ips": ["192.0.2.1", "2001:db8::1"]}


def last_message() -> str:
    event = Event.objects.order_by("-id").first()
    assert event is not None
    return event.message


def test_a_master_has_the_defaults_of_the_contract(api):
    made = api.post(PATH, {**MASTER, "domain": "Example.COM"}).json()
    assert made == {
        "id": made["id"], "type": "master", "domain": "Example.COM", "status": "active", "group": "",
        "description": "", "soa_email": "dns@example.com", "master_ips": [], "axfr_ips": [], "retry_sec": 0,
        "refresh_sec": 0, "expire_sec": 0, "ttl_sec": 0, "tags": [], "created": made["created"],
        "updated": made["updated"], "errors": "",
    }  # fmt: skip
    assert api.get(f"{PATH}/{made['id']}").json() == made
    for spelling in ("Example.COM", "example.com"):
        assert api.get(PATH, {"domain": spelling}).json()["data"] == [made]
    assert errors(api.post(PATH, MASTER)) == {"domain": "This domain is in use already."}
    event = Event.objects.get()
    assert (event.action, event.entity_type, event.entity_label) == ("dns_zone_create", "domain", "Example.COM")


@pytest.mark.parametrize("unasked", ["10.0.0.53", "127.0.0.1", "::ffff:169.254.169.254", "fe80::1"])
def test_an_address_that_is_not_queried_is_accepted_with_a_notice(unasked, api):
    """The domain stays active: some masters may become reachable later, and the others are asked."""
    made = api.post(PATH, {**SLAVE, "master_ips": [unasked, "192.0.2.1"]}).json()
    assert (made["status"], made["master_ips"][1]) == ("active", "192.0.2.1")
    reason = f"The platform does not ask {made['master_ips'][0]}."
    assert made["errors"] == reason
    assert last_message() == reason
    changed = api.put(f"{PATH}/{made['id']}", {"group": "web"}).json()
    assert (changed["errors"], last_message()) == (reason, "")
    assert api.put(f"{PATH}/{made['id']}", {"master_ips": ["192.0.2.1"]}).json()["errors"] == ""


def test_a_slave_asks_its_masters(api):
    made = api.post(PATH, {**SLAVE, "tags": ["dns", "prod"], "group": "g"}).json()
    assert (made["master_ips"], made["tags"]) == (SLAVE["master_ips"], ["dns", "prod"])
    assert Tagging.objects.filter(entity_type="domain", entity_id=made["id"]).count() == 2
    assert api.get(PATH, {"tags": "prod"}).json()["results"] == 1


@pytest.mark.parametrize(
    ("wish", "kept"),
    [
        (0, 0),
        (1, 300),
        (300, 300),
        (301, 3600),
        (86400, 86400),
        (86401, 172800),
        (2419200, 2419200),
        (2419201, 2419200),
    ],
)  # fmt: skip
def test_seconds_are_rounded_up_to_valid_ones(api, wish, kept):
    made = api.post(PATH, {**MASTER, **dict.fromkeys(("retry_sec", "refresh_sec", "expire_sec", "ttl_sec"), wish)})
    assert {made.json()[name] for name in ("retry_sec", "refresh_sec", "expire_sec", "ttl_sec")} == {kept}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"domain": "example"}, "domain"),
        ({"domain": "exa mple.com"}, "domain"),
        ({"domain": "-a.example.com"}, "domain"),
        ({"domain": f"{'x' * 64}.com"}, "domain"),
        ({"domain": ".".join(["x" * 60] * 4) + ".example.com"}, "domain"),
        ({"domain": "bü_cher.example"}, "domain"),
        ({"domain": f"{'ü' * 60}.example"}, "domain"),
        ({"domain": "bücher。example"}, "domain"),
        ({"domain": "１２７.example"}, "domain"),
        ({"domain": "\u212aelvin.example"}, "domain"),
        ({"type": "primary"}, "type"),
        ({"soa_email": None}, "soa_email"),
        ({"soa_email": "dns"}, "soa_email"),
        ({"soa_email": "dns@[192.0.2.1]"}, "soa_email"),
        ({"soa_email": "dns@bücher.example"}, "soa_email"),
        ({"soa_email": f"{'x' * 64}@example.com"}, "soa_email"),
        ({"type": "slave"}, "master_ips"),
        ({"master_ips": ["here"]}, "master_ips[0]"),
        ({"axfr_ips": [f"2001:db8:aaaa:bbbb:cccc:dddd:eeee:{n:x}" for n in range(4096, 4126)]}, "axfr_ips"),
        ({"retry_sec": -1}, "retry_sec"),
        ({"status": "edit_mode"}, "status"),
        ({"group": "x" * 51}, "group"),
        ({"description": "x" * 256}, "description"),
        ({"tags": ["x"]}, "tags[0]"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_bad_input_names_the_field_and_changes_nothing(api, account, changes, field):
    wish = {name: value for name, value in {**MASTER, **changes}.items() if value is not None}
    assert wrong_fields(api.post(PATH, wish))[0].partition("[")[0] == field.partition("[")[0]
    assert not Domain.objects.exists()
    domain = DomainFactory(account=account, label="other.example.com")
    before = api.get(f"{PATH}/{domain.pk}").json()
    if changes != {"soa_email": None}:
        assert (
            api.put(f"{PATH}/{domain.pk}", {**changes, "axfr_ips": changes.get("axfr_ips", [])}).status_code == 400
        )
    assert api.get(f"{PATH}/{domain.pk}").json() == before
    assert not Event.objects.exists()


@pytest.mark.parametrize("path", ["", "/import", "/{id}/clone"])
def test_the_reason_for_a_name_without_a_dot_asks_for_one(api, account, path):
    domain = DomainFactory(account=account, label="one.example")
    wish = {**MASTER, "domain": "example", "remote_nameserver": "192.0.2.1"}
    reason = "domain must have at least two labels with a dot between them, as in example.com"
    assert errors(api.post(PATH + path.format(id=domain.pk), wish)) == {"domain": reason}
    assert errors(api.put(f"{PATH}/{domain.pk}", {"domain": "example."})) == {"domain": reason}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("München.Example", "xn--mnchen-3ya.Example"),
        ("mu\u0308nchen.example.", "xn--mnchen-3ya.example"),
        ("*.straße.vermögensberater", "*.xn--strae-oqa.xn--vermgensberater-ctb"),
    ],
)
def test_a_name_in_unicode_is_kept_as_punycode(api, account, written, shown):
    made = api.post(PATH, {**MASTER, "domain": written}).json()
    assert made["domain"] == shown
    assert Domain.objects.get().label == shown.lower()
    for name in (written.removesuffix("."), shown):
        assert api.get(PATH, {"domain": name}).json()["data"] == [made]
        assert errors(api.post(PATH, {**MASTER, "domain": name})) == {"domain": "This domain is in use already."}
    assert api.put(f"{PATH}/{made['id']}", {"domain": written}).json() == made
    assert api.get(f"{PATH}/{made['id']}/zone-file").json()["zone_file"][1] == f"$ORIGIN {shown.lower()}."
    other = DomainFactory(account=account, label="one.example")
    RecordFactory(domain=other, type="TXT", name="a-*.apps", target="x")
    clone = api.post(f"{PATH}/{other.pk}/clone", {"domain": f"zwei.{written}"}) if written[0] != "*" else None
    assert clone is None or clone.json()["domain"] == f"zwei.{shown}"


def test_records_below_a_name_in_unicode_may_be_written_in_full(api):
    made = api.post(PATH, {**MASTER, "domain": "münchen.example"}).json()
    wish = {"type": "A", "name": "bücher.münchen.example", "target": "203.0.113.7"}
    record = api.post(f"{PATH}/{made['id']}/records", wish).json()
    assert record["name"] == "xn--bcher-kva"
    assert api.get(f"{PATH}/{made['id']}/records", {"name": "bücher"}).json()["data"] == [record]


def test_a_unicode_public_suffix_is_refused(api):
    assert wrong_fields(api.post(PATH, {**MASTER, "domain": "公司.cn"})) == ["domain"]


def test_a_name_is_one_accounts_on_the_whole_platform(api, client_for, stranger):
    api.post(PATH, MASTER)
    assert wrong_fields(client_for(stranger).post(PATH, {**MASTER, "domain": "EXAMPLE.com"})) == ["domain"]
    assert Domain.objects.count() == 1


def test_nobody_takes_names_out_of_anothers_domain(api, client_for, stranger, account):
    """Name servers answer from the more specific zone."""
    api.post(PATH, MASTER)
    other = client_for(stranger)
    for name in ("www.example.com", "*.Example.com", "a.b.example.com"):
        assert wrong_fields(other.post(PATH, {**MASTER, "domain": name})) == ["domain"]
        assert api.post(PATH, {**MASTER, "domain": name}).status_code == 200
    theirs = other.post(PATH, {**MASTER, "domain": "notexample.com"}).json()
    assert wrong_fields(other.put(f"{PATH}/{theirs['id']}", {"domain": "x.example.com"})) == ["domain"]
    assert wrong_fields(other.post(f"{PATH}/{theirs['id']}/clone", {"domain": "x.example.com"})) == ["domain"]
    child = DomainFactory(account=stranger.account, label="x.example.net")
    assert api.post(PATH, {**MASTER, "domain": "example.net"}).status_code == 200
    assert other.put(f"{PATH}/{child.pk}", {"domain": "X.example.net", "ttl_sec": 300}).status_code == 200


def test_a_domain_can_be_put_as_it_was_read(api, account):
    """Unset texts are "" in answers. Requests may not set texts that short, but may send "" back unchanged."""
    domains = [DomainFactory(account=account)]
    domains.append(DomainFactory(account=account, type="slave", soa_email="", master_ips=["192.0.2.1"]))
    for domain in domains:
        shown = api.get(f"{PATH}/{domain.pk}").json()
        answer = api.put(f"{PATH}/{domain.pk}", shown)
        assert answer.status_code == 200, answer.content
        assert answer.json() == shown
    assert not Event.objects.exists()
    assert wrong_fields(api.put(f"{PATH}/{domains[0].pk}", {"soa_email": ""})) == ["soa_email"]


def test_no_record_becomes_too_long_by_another_name_of_its_domain(api, account):
    record = RecordFactory(domain__account=account, name=f"{'x' * 49}.{'y' * 50}")
    path, long = f"{PATH}/{record.domain_id}", ".".join(["z" * 50] * 3) + ".example"
    assert wrong_fields(api.put(path, {"domain": long})) == ["domain"]
    assert wrong_fields(api.post(f"{path}/clone", {"domain": long})) == ["domain"]
    assert Domain.objects.count() == 1
    assert api.put(path, {"domain": long[8:]}).json()["domain"] == long[8:]


def test_a_change_has_one_event_and_a_new_serial(api, account):
    domain = DomainFactory(account=account, serial=int(time.time()) + 1000)
    path = f"{PATH}/{domain.pk}"
    changed = api.put(path, {"ttl_sec": 1, "status": "disabled", "tags": ["new"]}).json()
    assert (changed["ttl_sec"], changed["status"], changed["tags"]) == (300, "disabled", ["new"])
    assert api.put(path, {"ttl_sec": 300, "tags": ["new"]}).json() == changed
    assert [event.action for event in Event.objects.all()] == ["dns_zone_update"]
    assert Domain.objects.get().serial == domain.serial + 1


def test_events_of_domains_and_records_are_called_dns(api):
    domain = api.post(PATH, MASTER).json()
    path = f"{PATH}/{domain['id']}"
    record = api.post(f"{path}/records", {"type": "A", "name": "www", "target": "192.0.2.1"}).json()
    api.put(f"{path}/records/{record['id']}", {"target": "192.0.2.2"})
    api.delete(f"{path}/records/{record['id']}")
    api.put(path, {"ttl_sec": 300})
    api.delete(path)

    actions = list(Event.objects.order_by("pk").values_list("action", flat=True))
    verbs = [("zone", "create"), *(("record", verb) for verb in ("create", "update", "delete")),
             ("zone", "update"), ("zone", "delete")]  # fmt: skip
    assert actions == [f"dns_{noun}_{verb}" for noun, verb in verbs]


def test_a_domain_goes_with_its_records_grants_and_tags(api, account, restricted):
    record = RecordFactory(domain__account=account)
    GrantFactory(user=restricted, entity_type="domain", entity_id=record.domain_id, permissions="read_only")
    api.put(f"{PATH}/{record.domain_id}", {"tags": ["one"]})
    assert api.delete(f"{PATH}/{record.domain_id}").json() == {}
    assert not Domain.objects.exists()
    assert not Grant.objects.exists()
    assert not Tagging.objects.exists()
    assert api.delete(f"{PATH}/{record.domain_id}").status_code == 404


def test_a_master_with_records_cannot_become_a_slave(api, account):
    record = RecordFactory(domain__account=account)
    change = {"type": "slave", "master_ips": ["192.0.2.1"]}
    assert wrong_fields(api.put(f"{PATH}/{record.domain_id}", change)) == ["type"]
    record.delete()
    assert api.put(f"{PATH}/{record.domain_id}", change).json()["type"] == "slave"


def test_the_creator_of_a_domain_may_change_it(client_for, account):
    maker = GlobalGrantsFactory(user__account=account, add_domains=True).user
    api = client_for(maker)
    made = api.post(PATH, MASTER).json()
    assert api.put(f"{PATH}/{made['id']}", {"description": "mine"}).json()["description"] == "mine"
    assert api.post(PATH, {**MASTER, "domain": "example.org", "tags": ["new"]}).status_code == 403
    assert api.put(f"{PATH}/{made['id']}", {"tags": ["new"]}).status_code == 403


def test_a_clone_has_all_but_the_name(api, account):
    record = RecordFactory(
        domain=DomainFactory(account=account, label="one.example", ttl_sec=300), type="TXT", target="x"
    )
    api.put(f"{PATH}/{record.domain_id}", {"tags": ["kept"], "axfr_ips": ["192.0.2.9"]})
    made = api.post(f"{PATH}/{record.domain_id}/clone", {"domain": "two.example"}).json()
    assert (made["domain"], made["ttl_sec"], made["tags"], made["axfr_ips"]) == (
        "two.example", 300, ["kept"], ["192.0.2.9"],
    )  # fmt: skip
    copies = api.get(f"{PATH}/{made['id']}/records").json()["data"]
    assert [(each["type"], each["name"], each["target"]) for each in copies] == [("TXT", record.name, "x")]
    assert wrong_fields(api.post(f"{PATH}/{record.domain_id}/clone", {"domain": "two.example"})) == ["domain"]
    assert wrong_fields(api.post(f"{PATH}/{record.domain_id}/clone", {})) == ["domain"]


def test_a_clone_has_as_many_records_as_a_domain_may_have(api, account):
    """The maximum exceeds the number of parameters that one statement can have."""
    domain = DomainFactory(account=account, label="one.example")
    records = (RecordFactory.build(domain=domain, name=f"host{number}") for number in range(MAX_RECORDS))
    DomainRecord.objects.bulk_create(records, batch_size=1000)
    made = api.post(f"{PATH}/{domain.pk}/clone", {"domain": "two.example"}).json()
    assert api.get(f"{PATH}/{made['id']}/records").json()["results"] == MAX_RECORDS


@pytest.mark.parametrize("name", ["co.uk", "Co.UK", "*.co.uk", "foo.ck", "xn--55qx5d.cn", "in-addr.arpa"])
def test_public_suffixes_are_refused(api, name):
    refused = api.post(PATH, {**MASTER, "domain": name})
    assert wrong_fields(refused) == ["domain"]
    assert "register names" in refused.json()["errors"][0]["reason"]
    assert not Domain.objects.exists()


@pytest.mark.parametrize(
    "name", ["example.co.uk", "www.ck", "office.internal", "2.0.192.in-addr.arpa", "github.io"]
)
def test_names_below_public_suffixes_are_accepted(api, name):
    assert api.post(PATH, {**MASTER, "domain": name}).json()["domain"] == name
