"""The form for a new firewall."""

import pytest

from compute.models import Firewall
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import events, text
from tests.factories import FirewallFactory, GlobalGrantsFactory, InstanceFactory

pytestmark = pytest.mark.django_db
NEW = "/home/firewalls/new"
POLICIES = {"rules.inbound_policy": "DROP", "rules.outbound_policy": "ACCEPT"}


def test_it_is_created_with_presets_on_instances(browser, account, instance):
    fields = {"label": "edge", "presets": ["ssh", "https"], "devices.computes": [instance.pk], "tags": "web"}
    answer = browser.post(NEW, {**POLICIES, **fields}, follow=True)
    made = Firewall.objects.get()
    assert answer.redirect_chain == [(f"/home/firewalls/{made.pk}", 302)]
    assert "The firewall edge was created." in text(answer)
    assert [(rule["ports"], rule["label"]) for rule in made.rules["inbound"]] == [("22", "ssh"), ("443", "https")]
    assert made.rules["inbound_policy"] == "DROP"
    assert (made.rules["outbound"], made.tags) == ([], ["web"])
    assert made.devices.get().instance == instance
    assert events(instance) == ["firewall_create", "firewall_device_add"]


def test_each_reason_stands_at_its_field(browser, account):
    filtered = InstanceFactory(account=account, label="web-9")
    FirewallFactory(account=account, label="taken", on=filtered)
    assert "web-9" not in text(browser.get(NEW))
    fields = {"label": "taken", "presets": ["gopher"], "devices.computes": [filtered.pk]}
    answer = browser.post(NEW, {**fields, "rules.outbound_policy": "x"})
    assert problems(answer, "presets") == "Choose presets of the list."
    fields = fields | {"presets": ["ssh"]}
    answer = browser.post(NEW, {**fields, "rules.outbound_policy": "x"})
    assert problems(answer, "rules.outbound_policy") == '"Outbound traffic" is not valid'
    assert problems(answer, "rules.inbound_policy") == '"Other inbound traffic" is required'
    assert problems(answer, "devices.computes") == "The instance has an enabled firewall already."
    assert problems(answer, "label") == "Label must be unique among your Cloud Firewalls"
    assert problems(browser.post(NEW, {"label": "a b"}), "label")
    assert Firewall.objects.count() == 1


def test_users_without_the_grant_have_no_form(account):
    nobody = signed_in(GlobalGrantsFactory(user__account=account).user)
    assert nobody.get(NEW).status_code == 403
    user = GlobalGrantsFactory(user__account=account, add_firewalls=True).user
    browser = signed_in(user)
    assert 'name="tags"' not in text(browser.get(NEW))
    browser.post(NEW, {**POLICIES, "label": "mine"})
    assert "mine" in text(browser.get("/home/firewalls"))
