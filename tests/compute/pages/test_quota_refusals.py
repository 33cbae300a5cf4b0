"""The pages that take resources: a refusal by a quota is shown on the page, which keeps the input."""

import re

import pytest

from accounts.models import Account, ResourceUse
from accounts.quotas import NEW, RESOURCE_QUOTAS
from compute.models import Instance, InstanceType
from config.pages.reasons import text_on_page
from tests.compute.pages.creating import PAGE
from tests.compute.pages.parts import address_of, events, instance_with_parts, text
from tests.compute.pages.visiting import owner_of
from tests.factories import InstanceTypeFactory
from tests.world import STRONG, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world) -> Instance:
    """An instance of a deprecated type, with parts, on an account that has used all of its quotas."""
    made = instance_with_parts(
        world.account, label="web-1", image=world.image, region=world.region, host=world.host
    )
    successor = InstanceTypeFactory(id="larger", label="Larger", vcpus=8, memory=4096)
    InstanceType.objects.filter(pk=made.type_id).update(deprecated=True, successor=successor)
    Account.objects.filter(pk=world.account.pk).update(
        trust_level=NEW, quotas=dict.fromkeys(RESOURCE_QUOTAS, 1), extra_ipv4=5
    )
    ResourceUse.objects.create(account=world.account, **dict.fromkeys(RESOURCE_QUOTAS, 1))
    return made


def cases(world: World, instance: Instance) -> dict[str, tuple[str, dict[str, str], str, str]]:
    """Return the address of each page, its input, the quota that refuses it, and a text that the page must keep."""
    new = {"region": world.region.pk, "type": "larger", "label": "typed-1"}
    deploy = {"image": world.image.pk, "root_pass": STRONG, "swap_size": "512", "booted": "on"}
    disk, backup = instance.disks.get().pk, instance.backups.get().pk
    pages = {
        "create": (PAGE, {**new, **deploy}, "instances", "typed-1"),
        "create from a backup": (PAGE, {**new, "backup_id": str(backup)}, "instances", "typed-1"),
        "clone": ("instance-clone", {**new, "compute_id": "", "disks": str(disk)}, "instances", "typed-1"),
        "resize": ("instance-resize", {"type": "larger"}, "vcpus", 'id="type-larger"'),
        "upgrade": ("instance-upgrade", {}, "vcpus", "Upgrade web-1"),
        "volume": ("instance-volume-new", {"label": "typed-1", "size": "4321"}, "volumes", "4321"),
        "snapshot": ("instance-backups-snapshot", {"label": "typed-1"}, "backup_storage", "typed-1"),
        "range": ("instance-range-new", {"prefix_length": "64"}, "total_ipv6_ranges", 'value="64"'),
    }
    found = {
        name: (page if page.startswith("/") else address_of(page, instance), *rest)
        for name, (page, *rest) in pages.items()
    }
    image = {"label": "typed-1", "description": "As of today."}
    found["image"] = (address_of("instance-disk-image", instance, disk), image, "image_storage", "As of today.")
    return found


def test_a_refusal_by_a_quota_is_shown_on_each_page_that_takes_a_resource(world, instance):
    browser = owner_of(world)
    wrong = {}
    for name, (address, sent, quota, kept) in cases(world, instance).items():
        answer = browser.post(address, sent)
        shown = text(answer)
        alerts = " ".join(re.findall(r'role="alert">(.*?)</div>', shown, re.DOTALL))
        reason = text_on_page(f"The account's quota of {RESOURCE_QUOTAS[quota].nouns} is 1")
        if (answer.status_code, reason in alerts, kept in shown) != (200, True, True):
            wrong[name] = (answer.status_code, alerts)
    assert wrong == {}
    assert events(instance) == []
    assert ResourceUse.objects.get().instances == 1


def test_types_beyond_a_quota_are_disabled_on_the_page_of_a_resize(world, instance):
    shown = text(owner_of(world).get(address_of("instance-resize", instance)))
    assert RESOURCE_QUOTAS["vcpus"].reason(1, 1, 8 - instance.type.vcpus) in shown
