"""The list of firewalls, a firewall's page, and changes of the whole firewall."""

import pytest
from django.urls import reverse

from compute.models import Firewall, PacketFilter
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import events, text
from tests.compute.pages.visiting import HTMX
from tests.factories import FirewallFactory, GlobalGrantsFactory, GrantFactory, InstanceFactory

pytestmark = pytest.mark.django_db
RULE = {"action": "DROP", "protocol": "TCP", "ports": "25", "label": "no mail", "description": "Spam"}
NETWORKS = [f"192.0.2.{number}/32" for number in range(8)]
PAGES = (
    "firewall",
    "firewall-inbound",
    "firewall-device-add",
    "firewall-edit",
    "firewall-disable",
    "firewall-delete",
)


def page(name: str, firewall: Firewall, *args: int) -> str:
    return reverse(name, args=[firewall.pk, *args])


def granted_on(firewall: Firewall, level: str):
    """Return the browser of a restricted user with this grant on the firewall."""
    user = GlobalGrantsFactory(user__account=firewall.account).user
    GrantFactory(user=user, entity_type="firewall", entity_id=firewall.pk, permissions=level)
    return signed_in(user)


def test_the_list_counts_rules_and_instances(browser, account, firewall):
    firewall.rules |= {"inbound": [RULE | {"addresses": {"ipv4": NETWORKS}}], "outbound": None}
    firewall.save()
    FirewallFactory(account=account, label="idle", status="disabled", tags=["blue"])
    shown = text(browser.get("/home/firewalls"))
    assert "<span>1 in, 0 out</span>" in shown
    assert "<span>0 in, 0 out</span>" in shown
    shown = text(browser.get("/home/firewalls?status=disabled&tags=blue&label=ID"))
    assert "idle" in shown
    assert "edge" not in shown


def test_an_empty_list_explains_firewalls(browser, account):
    assert "Create firewall" in text(browser.get("/home/firewalls"))
    nobody = signed_in(GlobalGrantsFactory(user__account=account).user)
    assert "You see no firewalls" in text(nobody.get("/home/firewalls"))


def test_a_page_has_the_rules_in_words(browser, firewall):
    firewall.rules |= {
        "inbound": [RULE | {"addresses": {"ipv4": NETWORKS, "ipv6": ["::/0"]}}],
        "outbound": [{"action": "ACCEPT", "protocol": "ICMP", "addresses": {"ipv4": ["0.0.0.0/0"]}}],
        "inbound_policy": "DROP",
    }
    firewall.save()
    shown = text(browser.get(page("firewall", firewall)))
    for words in ("192.0.2.5/32 and 3 more", "no mail", "Spam", "all IPv4", "all other traffic"):
        assert words in shown
    assert "192.0.2.6/32" not in shown


@pytest.mark.parametrize(
    ("opened", "words"), [("2019-01-01", False), ("2026-01-01", True)], ids=["before the day", "after the day"]
)
def test_closed_mail_ports_are_named(browser, account, firewall, opened, words):
    type(account).objects.filter(pk=account.pk).update(created=f"{opened}T00:00:00Z")
    assert ("The mail ports" in text(browser.get(page("firewall", firewall)))) == words


def test_instances_show_firewalls_that_hosts_have_not_applied(browser, firewall, instance):
    where = page("firewall", firewall)
    PacketFilter.objects.create(instance=instance, wanted=2, applied=1)
    seen = browser.get(where, headers=HTMX).context["seen"]
    assert browser.get(f"{where}?seen={seen}", headers=HTMX).status_code == 204
    assert "being applied" in text(browser.get(where))
    PacketFilter.objects.update(applied=2)
    answer = browser.get(f"{where}?seen={seen}", headers=HTMX)
    assert "being applied" not in text(answer)
    assert "applied" in text(answer)


def test_it_is_disabled_and_enabled(browser, firewall, account):
    assert "is disabled" in text(browser.post(page("firewall-disable", firewall), follow=True))
    assert "is enabled" in text(browser.post(page("firewall-enable", firewall), follow=True))
    assert events(firewall) == ["firewall_disable", "firewall_enable"]


def test_a_second_enabled_one_on_an_instance_is_refused(browser, account, firewall, instance):
    other = FirewallFactory(account=account, on=instance, status="disabled")
    shown = text(browser.post(page("firewall-enable", other), follow=True))
    assert "has another enabled firewall already." in shown
    assert events(firewall) == []


def test_label_and_tags_are_changed(browser, account, firewall):
    answer = browser.post(page("firewall-edit", firewall), {"label": "inner", "tags": "web, blue"}, follow=True)
    assert "The settings were saved." in text(answer)
    firewall.refresh_from_db()
    assert (firewall.label, firewall.tags) == ("inner", ["web", "blue"])
    FirewallFactory(account=account, label="taken")
    answer = browser.post(page("firewall-edit", firewall), {"label": "taken"})
    assert problems(answer, "label") == "Label must be unique among your Cloud Firewalls"
    assert events(firewall) == ["firewall_update"]


def test_it_is_deleted(browser, firewall):
    answer = browser.post(page("firewall-delete", firewall), follow=True)
    assert answer.redirect_chain == [("/home/firewalls", 302)]
    assert "The firewall edge was deleted." in text(answer)
    assert not Firewall.objects.exists()
    assert events(firewall) == ["firewall_delete"]


def test_a_reader_sees_no_verbs_and_changes_nothing(firewall):
    reader = granted_on(firewall, "read_only")
    for where in ("/home/firewalls", page("firewall", firewall)):
        shown = text(reader.get(where))
        assert "edge" in shown
        assert "Edit inbound rules" not in shown
    for name in PAGES[1:]:
        assert reader.post(page(name, firewall)).status_code == 403, name
    assert events(firewall) == []


def test_restricted_users_see_only_their_own_instances(firewall):
    writer = granted_on(firewall, "read_write")
    shown = text(writer.get(page("firewall", firewall)))
    assert "You see no instance with this firewall." in shown
    assert "web-1" not in shown
    answer = writer.post(page("firewall-edit", firewall), {"label": "inner", "tags": "web"}, follow=True)
    assert "The settings were saved." in text(answer)
    firewall.refresh_from_db()
    assert (firewall.label, firewall.tags) == ("inner", [])


@pytest.mark.parametrize("name", PAGES)
def test_others_do_not_find_it(browser, name):
    other = FirewallFactory(on=InstanceFactory())
    assert browser.get(page(name, other)).status_code == 404
