"""Rows of hosts: adding, recording a report, and removing."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from compute.drivers.base import HostImage
from compute.models import Host, Image
from compute.models.catalogue import PUBLIC_CREATOR
from compute.services.hosts import registry
from compute.services.hosts.registry import HostSpec
from config.errors import Busy, Invalid
from regions.models import Region
from tests.factories import HostFactory, ImageFactory, InstanceFactory, RegionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def region() -> Region:
    """A region with one host, ``older``."""
    return HostFactory(label="older", underlay="198.18.0.9").region


def spec_in(region: Region, **fields) -> HostSpec:
    return HostSpec(**{"label": "hv1", "region": region.pk, "driver": "simulated", **fields})


def fields_of(refused: Invalid) -> list[str | None]:
    return [problem.field for problem in refused.problems]


def test_a_new_host_takes_no_instances(region):
    host = registry.add(spec_in(region, location="/srv/vms", shared="/srv/volumes", underlay="198.18.0.1"))
    host.refresh_from_db()
    assert (host.enabled, host.images, host.memory, host.vcpus, host.disk) == (False, [], 0, 0, 0)
    assert (host.location, host.shared, host.underlay) == ("/srv/vms", "/srv/volumes", "198.18.0.1")


@pytest.mark.parametrize(
    ("given", "field", "reason"),
    [
        ({"driver": "none"}, "driver", "The driver does not exist"),
        ({"driver": "qemu"}, "driver", "The hosts of a region have one driver"),
        ({"label": "older"}, "label", "Another host"),
        ({"label": ""}, "label", "A label"),
        ({"label": "x" * 65}, "label", "A label"),
        ({"underlay": "somewhere"}, "underlay", "Must be an IPv4 address"),
        ({"underlay": "127.0.0.1"}, "underlay", "Must be an address that other"),
        ({"underlay": "198.18.0.9"}, "underlay", "Another host"),
    ],
)
def test_a_host_that_cannot_be_added_is_refused_by_field(region, given, field, reason):
    with pytest.raises(Invalid, match=reason) as refused:
        registry.add(spec_in(region, **given))
    assert fields_of(refused.value) == [field]
    assert Host.objects.count() == 1


def test_every_failing_field_is_named(region):
    with pytest.raises(Invalid) as refused:
        registry.check_new(HostSpec("older", "nowhere", "none", underlay="127.0.0.1"))
    assert fields_of(refused.value) == ["region", "driver", "label", "underlay"]


def test_a_report_enables_the_host_and_creates_unknown_images(region):
    known = ImageFactory(id="compute/debian11", label="Known", size=1)
    images = [HostImage("compute/debian12", "x" * 60, 1300), HostImage(known.pk, "Other", 2)]
    host = registry.record(
        registry.add(spec_in(region)), {"memory": 4096, "vcpus": 4, "disk": 9000}, images, ["x86_64", "i386"]
    )
    host.refresh_from_db()
    assert (host.enabled, host.memory, host.vcpus, host.disk) == (True, 4096, 4, 9000)
    assert (host.images, host.architectures) == (["compute/debian11", "compute/debian12"], ["i386", "x86_64"])
    made = Image.objects.get(pk="compute/debian12")
    assert (len(made.label), made.size, made.is_public, made.created_by) == (50, 1300, True, PUBLIC_CREATOR)
    known.refresh_from_db()
    assert (known.label, known.size) == ("Known", 1)


def test_a_report_keeps_reserved_capacity_and_missing_values(region):
    host = HostFactory(region=region, memory=8192, memory_used=6000, vcpus=8, disk=9000)
    registry.record(host, {"memory": 4096, "vcpus": 2, "disk": None}, None)
    host.refresh_from_db()
    assert (host.memory, host.vcpus, host.disk, host.images, host.architectures) == (6000, 2, 9000, None, None)


def test_peers_are_the_other_hosts_of_the_region_with_an_underlay(region):
    host = HostFactory(region=region, underlay="198.18.0.1")
    HostFactory(region=region)
    HostFactory(region=RegionFactory(id="us-other"), underlay="198.18.0.3")
    assert registry.peers_of(host) == ["198.18.0.9"]


@pytest.mark.parametrize(("underlay", "due"), [("198.18.0.1", True), (None, False)])
def test_hosts_get_the_address_of_a_new_and_of_a_removed_peer_soon(region, underlay, due):
    older = Host.objects.filter(label="older")
    host = registry.add(spec_in(region, underlay=underlay))
    for change in (lambda: registry.record(host, {}, None), lambda: registry.remove(host)):
        older.update(reconcile_at=Now() + timedelta(hours=1))
        change()
        assert older.filter(reconcile_at__lte=Now()).exists() == due


def test_an_offer_of_volumes_ends_once(region):
    Region.objects.filter(pk=region.pk).update(capabilities=[registry.VOLUMES, "Computes"])
    assert registry.offers_volumes(region.pk)
    assert registry.withdraw_volumes(region.pk)
    assert not registry.withdraw_volumes(region.pk)
    assert not registry.offers_volumes(region.pk)
    region.refresh_from_db()
    assert region.capabilities == ["Computes"]


@pytest.mark.parametrize("enabled", [True, False])
def test_closing_tells_whether_the_host_was_enabled(region, enabled):
    host = HostFactory(region=region, enabled=enabled)
    assert registry.close(host) == enabled
    assert not Host.objects.get(pk=host.pk).enabled
    registry.reopen(host)
    assert Host.objects.get(pk=host.pk).enabled


def test_only_an_empty_host_is_closed_or_removed(region):
    host = HostFactory(region=region)
    instance = InstanceFactory(host=host, region=region)
    for refused in (registry.close, registry.remove):
        with pytest.raises(Busy, match="has instances"):
            refused(host)
    assert Host.objects.get(pk=host.pk).enabled
    instance.delete()
    registry.remove(host)
    assert not Host.objects.filter(pk=host.pk).exists()
