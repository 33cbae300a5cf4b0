"""The instances of a firewall: attaching and detaching."""

import pytest
from django.urls import reverse

from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import events, text
from tests.factories import FirewallFactory, GlobalGrantsFactory, GrantFactory, InstanceFactory

pytestmark = pytest.mark.django_db


def test_it_is_put_on_one_and_taken_off(browser, account, firewall):
    other = InstanceFactory(account=account, label="web-2")
    where = reverse("firewall-device-add", args=[firewall.pk])
    assert "web-1" not in text(browser.get(where))
    assert "The firewall edge was attached to web-2." in text(browser.post(where, {"id": other.pk}, follow=True))
    device = firewall.devices.get(instance=other)
    off = reverse("firewall-device-remove", args=[firewall.pk, device.pk])
    assert "Detach edge from web-2" in text(browser.get(off))
    assert "The firewall edge was detached from web-2." in text(browser.post(off, follow=True))
    assert events(firewall) == ["firewall_device_add", "firewall_device_remove"]


def test_reasons_stand_at_the_instance(browser, account, firewall):
    where = reverse("firewall-device-add", args=[firewall.pk])
    filtered = InstanceFactory(account=account)
    FirewallFactory(account=account, on=filtered)
    for given, reason in (
        (filtered.pk, "The instance has an enabled firewall already."),
        (InstanceFactory().pk, "Instance is not valid"),
        ("", "Instance is required"),
        ("x", "Instance is not valid"),
    ):
        assert problems(browser.post(where, {"id": given}), "id") == reason
    assert events(firewall) == []


def test_taking_it_off_needs_the_right_to_change_the_instance(account, firewall, instance):
    user = GlobalGrantsFactory(user__account=account).user
    GrantFactory(user=user, entity_type="firewall", entity_id=firewall.pk, permissions="read_write")
    device = firewall.devices.get().pk
    off, never = (reverse("firewall-device-remove", args=[firewall.pk, pk]) for pk in (device, device + 1))
    assert [signed_in(user).post(address).status_code for address in (off, never)] == [404, 404]
    GrantFactory(user=user, entity_id=instance.pk, permissions="read_only")
    shown = text(signed_in(user).get(reverse("firewall", args=[firewall.pk])))
    assert "web-1" in shown
    assert "Detach" not in shown
    assert signed_in(user).post(off).status_code == 403
    assert firewall.devices.exists()


def test_a_device_of_another_firewall_is_not_found(browser, account, firewall):
    other = FirewallFactory(account=account, on=InstanceFactory(account=account))
    off = reverse("firewall-device-remove", args=[firewall.pk, other.devices.get().pk])
    assert browser.get(off).status_code == 404
    assert "The attachment of the firewall does not exist any more." in text(browser.post(off, follow=True))
    assert other.devices.exists()
