"""The form with all rules of a direction."""

import pytest
from django.urls import reverse

from compute.models import PacketFilter
from tests.accounts.pages.browsers import problems
from tests.compute.pages.parts import events, text

pytestmark = pytest.mark.django_db
WEB = {"action": "ACCEPT", "protocol": "TCP", "ports": "80, 443", "addresses": "0.0.0.0/0, ::/0", "label": "web"}
PING = {"action": "DROP", "protocol": "ICMP", "addresses": "198.51.100.0/24 192.0.2.0/24"}

TOGETHER = "A firewall has at most 25 rules, inbound and outbound together."


def sent(*rows: dict[str, str], direction: str = "inbound", policy: str = "DROP", **others: str) -> dict[str, str]:
    """Return the fields of a form with these rows."""
    fields = {
        f"{direction}[{number}].{name}": value for number, row in enumerate(rows) for name, value in row.items()
    }
    return {**fields, f"{direction}_policy": policy, **others}


@pytest.fixture
def where(firewall) -> str:
    return reverse("firewall-inbound", args=[firewall.pk])


def labels(answer) -> list[str]:
    """The labels of the rows that a page shows."""
    return [row["label"].value() for row in answer.context["form"].rows()]


def test_the_whole_list_is_saved(browser, firewall, instance, where):
    answer = browser.post(where, sent(WEB, PING), follow=True)
    assert answer.redirect_chain == [(f"/home/firewalls/{firewall.pk}#inbound", 302)]
    assert 'id="inbound"' in text(answer)
    assert "The inbound rules were saved." in text(answer)
    firewall.refresh_from_db()
    assert firewall.rules["inbound"] == [
        {
            "action": "ACCEPT", "protocol": "TCP", "ports": "80, 443", "label": "web",
            "addresses": {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]},
        },
        {"action": "DROP", "protocol": "ICMP", "addresses": {"ipv4": ["198.51.100.0/24", "192.0.2.0/24"]}},
    ]  # fmt: skip
    assert (firewall.rules["inbound_policy"], firewall.rules["outbound_policy"]) == ("DROP", "ACCEPT")
    assert events(firewall) == ["firewall_update"]
    assert PacketFilter.objects.get(instance=instance).pending
    again = browser.get(where)
    assert labels(again) == ["web", ""]
    assert 'value="198.51.100.0/24, 192.0.2.0/24"' in text(again)


def test_the_last_rule_can_be_removed(browser, firewall, where):
    browser.post(where, sent(WEB))
    browser.post(where, sent(policy="ACCEPT"))
    firewall.refresh_from_db()
    assert firewall.rules["inbound"] == []


def test_directions_are_saved_alone(browser, firewall, where):
    browser.post(where, sent(WEB))
    outbound = reverse("firewall-outbound", args=[firewall.pk])
    browser.post(outbound, sent(PING, direction="outbound"))
    assert "Destinations" in text(browser.get(outbound))
    firewall.refresh_from_db()
    assert [len(firewall.rules[direction]) for direction in ("inbound", "outbound")] == [1, 1]
    assert firewall.rules["outbound_policy"] == "DROP"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("add", ["one", "two", "six", ""]),
        ("add:https", ["one", "two", "six", "https"]),
        ("remove:1", ["one", "six"]),
        ("up:2", ["one", "six", "two"]),
        ("up:0", ["one", "two", "six"]),
        ("down:0", ["two", "one", "six"]),
        ("down:2", ["one", "two", "six"]),
        ("remove:3", ["one", "two", "six"]),
        ("remove:-1", ["one", "two", "six"]),
        ("remove:x", ["one", "two", "six"]),
        ("other:1", ["one", "two", "six"]),
        ("", ["one", "two", "six"]),
    ],
)
def test_buttons_change_the_rows_and_save_nothing(browser, firewall, where, change, expected):
    rows = [WEB | {"label": "one", "ports": "wrong"}, WEB | {"label": "two"}, PING | {"label": "six"}]
    answer = browser.post(where, sent(*rows, policy="DROP", change=change))
    assert labels(answer) == expected
    assert answer.context["form"].policy().value() == "DROP"
    assert 'value="wrong"' in text(answer)
    assert not answer.context["form"].errors
    assert events(firewall) == []


def test_a_full_list_has_no_room_for_another_row(browser, where):
    browser.post(where.replace("inbound", "outbound"), sent(PING, direction="outbound"))
    for number, full in ((22, False), (23, True)):
        answer = browser.post(where, sent(*[WEB] * number, change="add"))
        assert (f"{TOGETHER}</span>" in text(answer)) == full


def test_the_form_never_has_more_rows_than_a_firewall_has_rules(browser, where):
    for number in (25, 900):
        answer = browser.post(where, sent(*[{"action": "ACCEPT"}] * number, change="add"))
        assert answer.context["form"].number == min(number, 26)


@pytest.mark.parametrize(
    ("row", "field", "reason"),
    [
        ({"ports": "70000"}, "ports", "Ports is not valid"),
        ({"ports": "9-3"}, "ports", "Ports is not valid"),
        ({"protocol": "ICMP"}, "ports", "ICMP has no ports."),
        ({"addresses": ""}, "addresses", "A rule needs at least one IPv4 or IPv6 network."),
        (
            {"addresses": "192.0.2.0/24, 192.0.2.7"}, "addresses",
            "192.0.2.7 is not valid: write a network as address/prefix length.",
        ),
        ({"addresses": "a\0b"}, "addresses", "Sources is not valid"),
        ({"label": "ab"}, "label", "Length must be 3-32 characters"),
        ({"description": "x" * 101}, "description", "Length must be 1-100 characters"),
        ({"action": ""}, "action", "Action is required"),
        ({"protocol": "SCTP"}, "protocol", "Protocol is not valid"),
    ],
)  # fmt: skip
def test_each_reason_stands_at_its_field(browser, firewall, where, row, field, reason):
    answer = browser.post(where, sent(PING, {"action": "nothing"}, WEB | row))
    assert problems(answer, rf"inbound\[2\]\.{field}") == reason
    assert problems(answer, r"inbound\[1\]\.action")
    assert events(firewall) == []


def test_too_many_rules_are_refused(browser, firewall, where):
    browser.post(where, sent(WEB))
    answer = browser.post(where, sent(*[WEB] * 26))
    assert answer.context["form"].non_field_errors() == ["Inbound must be at most 25 items"]
    answer = browser.post(where.replace("inbound", "outbound"), sent(*[WEB] * 25, direction="outbound"))
    assert answer.context["form"].non_field_errors() == [TOGETHER]


def test_a_wrong_policy_is_refused(browser, where):
    assert (
        problems(browser.post(where, sent(WEB, policy="x")), "inbound_policy") == '"All other traffic" is not valid'
    )
