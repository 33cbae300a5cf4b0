"""A small world: one region with a host and addresses, one type, one image, one owner."""

import json
from dataclasses import dataclass

import pytest
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Account, User
from compute.models import Address, AddressPool, Host, Image, Instance, InstanceType, Kernel
from compute.services.instances.instances import InstanceSpec, create
from compute.services.seed import CATALOGUE, seed
from regions.models import Region

STRONG = "correct-horse-7-battery"
PUBLIC, PRIVATE = "198.18.0.", "10.0.0."
CAPABILITIES = ["Computes", "Block Storage", "Block Storage Migrations"]


@dataclass
class World:
    region: Region
    type: InstanceType
    image: Image
    host: Host
    account: Account
    actor: Actor

    def create(self, actor: Actor | None = None, **fields) -> Instance:
        """Create an instance as a client would: deployed from the image, unless ``image=None``."""
        spec = {"region": self.region.pk, "type": self.type.pk, "image": self.image.pk, "root_pass": STRONG}
        return create(actor or self.actor, InstanceSpec(**{**spec, **fields}))

    def offline(self, **fields) -> Instance:
        """Create an instance that is off, without the job that made it."""
        made = self.create(**fields)
        made.jobs.all().delete()
        Instance.objects.filter(pk=made.pk).update(status=Instance.Status.OFFLINE)
        return Instance.objects.get(pk=made.pk)


@pytest.fixture
def world(db) -> World:
    return make_world()


def make_world() -> World:
    region = Region.objects.create(id="us-test", country="us", capabilities=CAPABILITIES)
    plan = InstanceType.objects.create(
        id="g6-test-2", label="Test 2GB", type_class="standard", memory=2048, disk=25600, vcpus=2,
        transfer=1000, network_out=1000, price_hourly=0.01, price_monthly=5, backup_price_monthly=2.5,
    )  # fmt: skip
    image = Image.objects.create(
        id="compute/test11",
        label="Test 11",
        vendor="Test",
        size=1300,
        is_public=True,
        created_by="compute",
        created=now(),
    )
    for kernel in ("compute/grub2", "compute/latest-64bit"):
        Kernel.objects.create(id=kernel, label=kernel, version="1", architecture="x86_64")
    return _inhabited(region, plan, image, PRIVATE)


def make_catalogue_world() -> World:
    """Return a small world of rows that every fresh installation has: its regions, types, images and kernels."""
    seed()
    listed = json.loads(CATALOGUE.read_text())["regions"]
    Region.objects.bulk_create(
        Region(
            id=each["id"], country=each["country"], capabilities=each["capabilities"], position=number,
            resolvers_ipv4=each["resolvers"]["ipv4"], resolvers_ipv6=each["resolvers"]["ipv6"],
        )
        for number, each in enumerate(listed)
    )  # fmt: skip
    return _inhabited(*catalogue_rows(), "192.168.128.")


def catalogue_rows() -> tuple[Region, InstanceType, Image]:
    """Return the rows of the seeded catalogue that examples name."""
    return (
        Region.objects.get(pk="us-east"),
        InstanceType.objects.get(pk="g6-nanode-1"),
        Image.objects.get(pk="compute/debian11"),
    )


def _inhabited(region: Region, plan: InstanceType, image: Image, private: str) -> World:
    """Add a host and addresses to the region, and an account with its owner."""
    host = Host.objects.create(label=f"{region.pk}-h1", region=region)
    for kind, prefix in (("public", PUBLIC), ("private", private)):
        pool = AddressPool.objects.create(region=region, kind=kind, network=f"{prefix}0/24", gateway=f"{prefix}1")
        Address.objects.bulk_create(
            Address(
                pool=pool, region=region, address=f"{prefix}{n}", prefix=24,
                gateway=f"{prefix}1", public=kind == "public",
            )
            for n in range(2, 60)
        )  # fmt: skip
    AddressPool.objects.create(region=region, kind="slaac", network="2001:db8:77::/64", gateway="fe80::1")
    account = Account.objects.create(company="World", email="world@example.com", trust_level="unlimited")
    user = User.objects.create_user("worldowner", "world@example.com", account=account)
    return World(region, plan, image, host, account, Actor(account.pk, user.pk, user.username))
