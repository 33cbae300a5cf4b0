"""The list of VLANs."""

import pytest

from compute.models import VLAN
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import instance_with_parts, text
from tests.factories import GlobalGrantsFactory, GrantFactory

pytestmark = pytest.mark.django_db


def test_vlans_show_their_instances_and_addresses(owner, account):
    first = instance_with_parts(account, label="web-1")
    second = instance_with_parts(account, label="web-2", region=first.region)
    second.configs.update(interfaces=[{"purpose": "vlan", "label": "backend", "ipam_address": ""}])
    VLAN.objects.create(account=account, region=first.region, label="backend")
    VLAN.objects.create(account=account, region=first.region, label="unnamed")
    shown = text(signed_in(owner).get("/home/vlans?label=BACK"))
    assert "unnamed" not in shown
    assert f'href="/home/instances/{first.pk}/configs">web-1</a> <span class="text-secondary">10.0.0.1/24' in shown
    assert '>web-2</a> <span class="text-secondary">without an address' in shown
    user = GlobalGrantsFactory(user__account=account).user
    assert "You see no VLANs" in text(signed_in(user).get("/home/vlans"))
    GrantFactory(user=user, entity_id=second.pk, permissions="read_only")
    shown = text(signed_in(user).get("/home/vlans"))
    assert "web-2" in shown
    assert "web-1" not in shown
