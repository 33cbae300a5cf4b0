"""Rows for tests, each with everything that it needs to exist. Factories write no events or jobs."""

import hashlib
import io
import ipaddress
import secrets
from datetime import date, timedelta

import factory
from django.utils.timezone import now
from factory.django import DjangoModelFactory
from PIL import Image as Picture

from accounts.models import (
    Account,
    Event,
    GlobalGrants,
    Grant,
    Level,
    OAuthClient,
    PersonalToken,
    Ticket,
    TrustedDevice,
    User,
)
from compute.models import (
    Address,
    AddressPool,
    Config,
    ConfigDevice,
    Disk,
    Domain,
    DomainRecord,
    Firewall,
    FirewallDevice,
    Host,
    HostMigration,
    Image,
    Instance,
    InstanceType,
    Kernel,
    NodeBalancer,
    NodeBalancerConfig,
    NodeBalancerNode,
    StackScript,
    StackScriptRevision,
    UsageStatement,
    Volume,
)
from compute.models.catalogue import PUBLIC_CREATOR
from compute.services.stackscripts.fields import read_fields
from config.encryption import encrypt_json
from config.errors import Problems
from managed.models import Contact, Credential, Issue, Service
from regions.models import Region

STAFF_PASSWORD = "staff-password"


class AccountFactory(DjangoModelFactory):
    class Meta:
        model = Account

    company = factory.Sequence(lambda n: f"Company {n}")
    email = factory.Sequence(lambda n: f"account{n}@example.com")
    trust_level = "unlimited"


class UserFactory(DjangoModelFactory):
    """An unrestricted user without a password, for tokens only. ``password="…"`` sets one."""

    class Meta:
        model = User

    account = factory.SubFactory(AccountFactory)
    username = factory.Sequence(lambda n: f"user{n}")
    email = factory.LazyAttribute(lambda user: f"{user.username}@example.com")

    @classmethod
    def _create(cls, model_class, *args, **kwargs):
        return model_class.objects.create_user(*args, **kwargs)


class StaffFactory(UserFactory):
    """A member of the platform's staff: no account, every permission in the admin."""

    account = None
    is_staff = True
    is_superuser = True
    password = STAFF_PASSWORD


class GlobalGrantsFactory(DjangoModelFactory):
    """The account-level grants of a restricted user, whom the factory makes: read the account, and add nothing."""

    class Meta:
        model = GlobalGrants

    user = factory.SubFactory(UserFactory, restricted=True)
    account_access = Level.READ_ONLY


class GrantFactory(DjangoModelFactory):
    """A grant on an entity: ``GrantFactory(user=restricted, entity_id=instance.pk)``."""

    class Meta:
        model = Grant

    user = factory.SubFactory(UserFactory, restricted=True)
    entity_type = "compute"
    permissions = Level.READ_ONLY


class PersonalTokenFactory(DjangoModelFactory):
    """A token whose value nobody knows, unless ``readable="…"`` sets it. `token_of` is simpler."""

    class Meta:
        model = PersonalToken

    class Params:
        readable = factory.LazyFunction(lambda: secrets.token_hex(32))

    user = factory.SubFactory(UserFactory)
    label = factory.Sequence(lambda n: f"token {n}")
    digest = factory.LazyAttribute(lambda token: hashlib.sha256(token.readable.encode()).hexdigest())
    prefix = factory.LazyAttribute(lambda token: token.readable[:16])


def picture(kind: str = "PNG", size: tuple[int, int] = (8, 8)) -> bytes:
    """Return a picture file."""
    file = io.BytesIO()
    Picture.new("RGB", size, (20, 90, 160)).save(file, kind)
    return file.getvalue()


PICTURE = picture()


class OAuthClientFactory(DjangoModelFactory):
    """A confidential client of an account. Nobody knows its secret unless ``client_secret="…"`` sets it."""

    class Meta:
        model = OAuthClient

    account = factory.SubFactory(AccountFactory)
    name = factory.Sequence(lambda n: f"app {n}")
    redirect_uris = "https://app.example/back"
    client_type = OAuthClient.CLIENT_CONFIDENTIAL
    authorization_grant_type = OAuthClient.GRANT_AUTHORIZATION_CODE


class TrustedDeviceFactory(DjangoModelFactory):
    class Meta:
        model = TrustedDevice

    user = factory.SubFactory(UserFactory)
    digest = factory.LazyFunction(lambda: secrets.token_hex(32))
    user_agent = "Mozilla/5.0"
    last_remote_addr = "198.51.100.7"
    last_authenticated = factory.LazyFunction(now)
    expiry = factory.LazyFunction(lambda: now() + timedelta(days=30))


class TicketFactory(DjangoModelFactory):
    class Meta:
        model = Ticket

    account = factory.SubFactory(AccountFactory)
    summary = "Help"
    description = "It is dark."
    opened_by = "owner"


def token_of(user: User, scopes: str = "*", **fields) -> str:
    """Create a personal access token of `user`. Returns it as in the ``Authorization`` header."""
    readable = secrets.token_hex(32)
    PersonalTokenFactory(user=user, scopes=scopes, readable=readable, **fields)
    return readable


class EventFactory(DjangoModelFactory):
    """A notification of the platform. ``created=…`` puts it in the past."""

    class Meta:
        model = Event
        skip_postgeneration_save = True

    account = factory.SubFactory(AccountFactory)
    action = "account_update"

    @factory.post_generation
    def created(self, create, moment, **kwargs):
        if moment is not None:
            self.created = moment
            self.save(update_fields=["created"])

    class Params:
        of = factory.Trait(action="compute_update", entity_type="compute", entity_label="some-compute")


class RegionFactory(DjangoModelFactory):
    class Meta:
        model = Region
        django_get_or_create = ("id",)

    id = "us-test"
    country = "us"
    capabilities = factory.List(["Computes", "Block Storage", "Block Storage Migrations"])


class InstanceTypeFactory(DjangoModelFactory):
    class Meta:
        model = InstanceType
        django_get_or_create = ("id",)

    id = "g6-test-2"
    label = "Test 2GB"
    type_class = "standard"
    memory = 2048
    disk = 25600
    vcpus = 2
    transfer = 1000
    network_out = 1000
    price_hourly = 0.01
    price_monthly = 5
    backup_price_hourly = 0.004
    backup_price_monthly = 2.5


class KernelFactory(DjangoModelFactory):
    class Meta:
        model = Kernel
        django_get_or_create = ("id",)

    id = "compute/latest-64bit"
    label = factory.SelfAttribute("id")
    version = "1"
    architecture = "x86_64"


class ImageFactory(DjangoModelFactory):
    """A public image besides the world's. ``account=…, is_public=False`` makes it an account's."""

    class Meta:
        model = Image

    id = factory.Sequence(lambda n: f"compute/made{n}")
    label = factory.Sequence(lambda n: f"Made {n}")
    size = 1300
    is_public = True
    created_by = factory.LazyAttribute(lambda image: PUBLIC_CREATOR if image.is_public else None)
    created = factory.LazyFunction(now)


class HostFactory(DjangoModelFactory):
    class Meta:
        model = Host

    region = factory.SubFactory(RegionFactory)
    label = factory.Sequence(lambda n: f"host{n}")


class HostMigrationFactory(DjangoModelFactory):
    """A move to another host that staff scheduled, and that is due."""

    class Meta:
        model = HostMigration

    instance = factory.SubFactory("tests.factories.InstanceFactory")
    when = factory.LazyFunction(now)


class AddressPoolFactory(DjangoModelFactory):
    """A pool of a region, on a network that no test names.

    ``addresses=n`` adds n free rows, from the second address on.
    """

    class Meta:
        model = AddressPool
        skip_postgeneration_save = True

    region = factory.SubFactory(RegionFactory)
    kind = AddressPool.Kind.PUBLIC
    network = factory.Sequence(lambda n: f"100.64.{n % 256}.0/24")
    gateway = factory.LazyAttribute(lambda pool: str(ipaddress.ip_network(pool.network)[1]))

    @factory.post_generation
    def addresses(self, create, count, **kwargs):
        network = ipaddress.ip_network(self.network)
        Address.objects.bulk_create(
            Address(
                pool=self,
                region=self.region,
                address=str(network[n]),
                prefix=network.prefixlen,
                gateway=self.gateway,
                public=self.kind == AddressPool.Kind.PUBLIC,
            )
            for n in range(2, 2 + (count or 0))
        )


class InstanceFactory(DjangoModelFactory):
    """An instance at rest: offline, with no disks, profiles or addresses."""

    class Meta:
        model = Instance

    account = factory.SubFactory(AccountFactory)
    label = factory.Sequence(lambda n: f"instance{n}")
    region = factory.SubFactory(RegionFactory)
    type = factory.SubFactory(InstanceTypeFactory)
    host = factory.SubFactory(HostFactory, region=factory.SelfAttribute("..region"))
    status = Instance.Status.OFFLINE
    alert_cpu = 180


class DiskFactory(DjangoModelFactory):
    class Meta:
        model = Disk

    instance = factory.SubFactory(InstanceFactory)
    label = factory.Sequence(lambda n: f"disk{n}")
    size = 1000
    status = Disk.Status.READY


class ConfigFactory(DjangoModelFactory):
    """A profile that boots from ``disk=…`` in slot ``sda``, or from nothing."""

    class Meta:
        model = Config
        skip_postgeneration_save = True

    instance = factory.SubFactory(InstanceFactory)
    label = factory.Sequence(lambda n: f"profile{n}")
    kernel = factory.SubFactory(KernelFactory)

    @factory.post_generation
    def disk(self, create, disk, **kwargs):
        if disk is not None:
            ConfigDevice.objects.create(config=self, slot="sda", disk=disk)


class VolumeFactory(DjangoModelFactory):
    """A volume that is ready. ``instance=…`` attaches it."""

    class Meta:
        model = Volume

    account = factory.SubFactory(AccountFactory)
    label = factory.Sequence(lambda n: f"volume{n}")
    region = factory.SubFactory(RegionFactory)
    status = Volume.Status.ACTIVE


class FirewallFactory(DjangoModelFactory):
    """A firewall that accepts everything. ``on=instance`` attaches it to one. No host is notified."""

    class Meta:
        model = Firewall
        skip_postgeneration_save = True

    account = factory.SubFactory(AccountFactory)
    label = factory.Sequence(lambda n: f"firewall{n}")

    @factory.post_generation
    def on(self, create, instance, **kwargs):
        if instance is not None:
            enabled = self.status == Firewall.Status.ENABLED
            FirewallDevice.objects.create(firewall=self, instance=instance, enabled=enabled)


class NodeBalancerFactory(DjangoModelFactory):
    """A load balancer. ``to=instance`` gives it a node there."""

    class Meta:
        model = NodeBalancer
        skip_postgeneration_save = True

    account = factory.SubFactory(AccountFactory)
    label = factory.Sequence(lambda n: f"balancer{n}")
    region = factory.SubFactory(RegionFactory)
    hostname = factory.Sequence(lambda n: f"nb-{n}.example.com")
    ipv4 = factory.Sequence(lambda n: f"203.0.113.{n % 256}")

    @factory.post_generation
    def to(self, create, instance, **kwargs):
        if instance is not None:
            NodeBalancerNode.objects.create(
                config=NodeBalancerConfigFactory(nodebalancer=self),
                instance=instance,
                label="node",
                address="10.0.0.2:80",
            )


class NodeBalancerConfigFactory(DjangoModelFactory):
    """A config with all defaults, on a port of its own that no test names."""

    class Meta:
        model = NodeBalancerConfig

    nodebalancer = factory.SubFactory(NodeBalancerFactory)
    port = factory.Sequence(lambda n: 40_000 + n % 25_000)


class NodeBalancerNodeFactory(DjangoModelFactory):
    """A node of a config on an instance. ``config=…`` and ``instance=…`` belong together."""

    class Meta:
        model = NodeBalancerNode

    config = factory.SubFactory(NodeBalancerConfigFactory)
    instance = factory.SubFactory(InstanceFactory)
    label = factory.Sequence(lambda n: f"node{n}")
    address = factory.Sequence(lambda n: f"10.0.1.{1 + n % 254}:80")


class StackScriptFactory(DjangoModelFactory):
    """An account's own script, for every image. Its fields are parsed from ``script="…"``."""

    class Meta:
        model = StackScript

    account = factory.SubFactory(AccountFactory)
    username = "owner"
    label = factory.Sequence(lambda n: f"script{n}")
    images = factory.List(["any/all"])
    script = "#!/bin/sh\n"
    user_defined_fields = factory.LazyAttribute(lambda it: read_fields(it.script, Problems()))


class StackScriptRevisionFactory(DjangoModelFactory):
    """An earlier text of a script."""

    class Meta:
        model = StackScriptRevision

    stackscript = factory.SubFactory(StackScriptFactory)
    number = factory.Sequence(lambda n: n + 1)
    username = "owner"
    rev_note = factory.LazyAttribute(lambda it: f"note {it.number}")
    script = factory.LazyAttribute(lambda it: f"#!/bin/sh\necho {it.number}\n")


class DomainFactory(DjangoModelFactory):
    """A master domain without records."""

    class Meta:
        model = Domain

    account = factory.SubFactory(AccountFactory)
    label = factory.Sequence(lambda n: f"zone{n}.example.com")
    type = Domain.Type.MASTER
    soa_email = "dns@example.com"


class RecordFactory(DjangoModelFactory):
    class Meta:
        model = DomainRecord

    domain = factory.SubFactory(DomainFactory)
    type = DomainRecord.Type.A
    name = factory.Sequence(lambda n: f"host{n}")
    target = "203.0.113.7"


class ContactFactory(DjangoModelFactory):
    class Meta:
        model = Contact

    account = factory.SubFactory(AccountFactory, managed=True)
    name = factory.Sequence(lambda n: f"Contact {n}")
    email = factory.Sequence(lambda n: f"contact{n}@example.com")


class UsageStatementFactory(DjangoModelFactory):
    """The statement of an account for October 2026, with a line of a volume."""

    class Meta:
        model = UsageStatement

    account = factory.SubFactory(AccountFactory)
    month = date(2026, 10, 1)
    total = "2.00"
    lines = factory.List([
        {
            "month": "2026-10-01", "kind": "volume", "resource": 7, "label": "data", "region": "us-test",
            "type": "", "hours": "744.000000", "quantity_hours": "14880.000000", "price_hourly": "0.000150",
            "price_monthly": "0.100000", "amount": "2.0000",
        }
    ])  # fmt: skip


class CredentialFactory(DjangoModelFactory):
    """A credential with the values of ``username="…"`` and ``password="…"``."""

    class Meta:
        model = Credential

    class Params:
        username = "root"
        password = "a-credential"

    account = factory.SubFactory(AccountFactory, managed=True)
    label = factory.Sequence(lambda n: f"credential {n}")
    encrypted = factory.LazyAttribute(lambda it: encrypt_json({"username": it.username, "password": it.password}))


class ServiceFactory(DjangoModelFactory):
    """A service that was never checked and is due."""

    class Meta:
        model = Service

    account = factory.SubFactory(AccountFactory, managed=True)
    label = factory.Sequence(lambda n: f"service {n}")
    service_type = Service.Type.URL
    address = factory.Sequence(lambda n: f"https://service{n}.example.com/")
    timeout = 10


class IssueFactory(DjangoModelFactory):
    """An open issue with its ticket. ``services=[…]`` are ids."""

    class Meta:
        model = Issue

    account = factory.SubFactory(AccountFactory, managed=True)
    ticket = factory.SubFactory(
        TicketFactory, account=factory.SelfAttribute("..account"), summary="It is down", managed_issue=True
    )
    services = factory.List([])
