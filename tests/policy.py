"""Every operation of the API, called by every kind of caller. test_policy.py writes the results down."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import dns.message
import pyotp
from django.db import transaction
from django.utils.timezone import now

from accounts.models import (
    Account,
    Authorization,
    Event,
    GlobalGrants,
    Level,
    Login,
    OAuthClient,
    PersonalToken,
    PhoneVerification,
    SecondFactor,
    SecurityAnswer,
    SSHKey,
    Ticket,
    TrustedDevice,
    User,
)
from accounts.scopes import FAMILIES
from compute.models import (
    Address,
    AddressPool,
    Backup,
    Config,
    Disk,
    DomainRecord,
    Firewall,
    FirewallDevice,
    Image,
    Instance,
    InstanceType,
    IPv6Range,
    NodeBalancerNode,
    NodeBalancerSample,
    Sample,
    StackScript,
    Volume,
)
from compute.services.domains import zone_import
from compute.services.stats.sampling import COUNTERS
from config.encryption import encrypt_json
from managed.models import Contact, Credential, Issue, Service
from regions.models import Region
from tags.services import set_tags
from tests.client import APIClient, File
from tests.config.api.routes import Route
from tests.factories import (
    PICTURE,
    ConfigFactory,
    ContactFactory,
    CredentialFactory,
    DiskFactory,
    EventFactory,
    FirewallFactory,
    GlobalGrantsFactory,
    GrantFactory,
    HostFactory,
    HostMigrationFactory,
    ImageFactory,
    InstanceFactory,
    InstanceTypeFactory,
    IssueFactory,
    NodeBalancerFactory,
    OAuthClientFactory,
    RecordFactory,
    ServiceFactory,
    StackScriptFactory,
    StaffFactory,
    TicketFactory,
    TrustedDeviceFactory,
    UserFactory,
    VolumeFactory,
    token_of,
)
from tests.world import STRONG, World

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com"
TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
UNUSED = "object_storage:read_only"
"""A scope that no operation needs."""
READING = " ".join(f"{family}:read_only" for family in FAMILIES)

CALLERS = {
    "none": "without a token",
    "scope": "the owner, with a token of another scope",
    "reads": "the owner, with a token of all read_only scopes",
    "bare": "a restricted user without any grant",
    "r/o": "a restricted user with read_only on the entity and on the account",
    "r/w": "a restricted user with read_write on the entity and the account, and all that can be granted there",
    "owner": "an unrestricted user",
    "other": "the owner of another account",
    "staff": "a staff user, who has no account",
}


@dataclass(frozen=True)
class Caller:
    """A caller. `token_id` is the personal token in paths: the caller's own, or the owner's for other accounts."""

    name: str
    api: APIClient
    token_id: int | None
    own: "Own"


@dataclass(frozen=True)
class Own:
    """A user's own objects."""

    login: Login
    device: TrustedDevice
    key: SSHKey
    app: Authorization

    @classmethod
    def of(cls, user: User, client: OAuthClient) -> "Own":
        return cls(
            login=Login.objects.create(
                account=user.account,
                user=user,
                username=user.username,
                restricted=user.restricted,
                ip="198.51.100.7",
            ),
            device=TrustedDeviceFactory(user=user),
            key=SSHKey.objects.create(user=user, ssh_key=KEY),
            app=Authorization.objects.create(user=user, client=client, scopes="*"),
        )


@dataclass(frozen=True)
class Scene:
    """The objects of the account that the calls are about. The compute is off and has one disk and profile."""

    world: World
    account: Account
    compute: Instance
    disk: Disk
    config: Config
    backup: Backup
    event: Event
    address: Address
    range: IPv6Range
    image: Image
    script: StackScript
    volume: Volume
    client: OAuthClient
    member: User
    ticket: Ticket
    contact: Contact
    credential: Credential
    service: Service
    issue: Issue
    record: DomainRecord
    node: NodeBalancerNode
    callers: tuple[Caller, ...]


def scene_of(world: World) -> Scene:
    account = world.account
    compute = InstanceFactory(
        account=account, region=world.region, type=world.type, host=world.host, ipv6="2001:db8:77::1/128"
    )
    disk = DiskFactory(instance=compute)
    config = ConfigFactory(instance=compute, disk=disk)
    backup = Backup.objects.create(
        account=account, instance=compute, region=world.region, type="snapshot", status="successful"
    )
    event = EventFactory(account=account, of=True, entity_id=compute.pk)
    address = taken(compute, 2)
    routed = AddressPool.objects.create(
        region=world.region, kind="routed", network="2001:db8:5000::/40", gateway="::1"
    )
    block = IPv6Range.objects.create(
        account=account, region=world.region, pool=routed, range="2001:db8:5000::", prefix=64, instance=compute
    )
    image = ImageFactory(id="private/77", number=77, account=account, is_public=False)
    script = StackScriptFactory(account=account)
    volume = VolumeFactory(account=account, region=world.region)
    client = OAuthClientFactory(account=account, thumbnail=PICTURE)
    member = GlobalGrantsFactory(user__account=account).user
    ticket = TicketFactory(account=account)
    record = RecordFactory(domain__account=account)
    set_tags(account.pk, "domain", record.domain_id, ["tagged"])
    balancer = NodeBalancerFactory(account=account, region=world.region, to=compute)
    node = NodeBalancerNode.objects.get(config__nodebalancer=balancer)
    firewall = FirewallFactory(account=account, on=compute)  # see `firewall_of`
    granted = [
        ("compute", compute.pk), ("domain", record.domain_id), ("image", 77), ("stackscript", script.pk),
        ("volume", volume.pk), ("nodebalancer", node.config.nodebalancer_id), ("firewall", firewall.pk),
    ]  # fmt: skip
    callers = tuple(callers_of(account, client, granted))
    Account.objects.update(managed=True)
    watched = [factory(account=account) for factory in (ContactFactory, CredentialFactory, ServiceFactory)]
    issue = IssueFactory(account=account)
    return Scene(
        world, account, compute, disk, config, backup, event, address[0], block, image, script, volume, client,
        member, ticket, *watched, issue, record, node, callers,
    )  # fmt: skip


def taken(compute: Instance, number: int) -> list[Address]:
    """Return free public addresses, given to the compute."""
    rows = list(Address.objects.filter(instance=None, public=True, region=compute.region)[:number])
    Address.objects.filter(pk__in=[row.pk for row in rows]).update(instance=compute)
    Instance.objects.filter(pk=compute.pk).update(ipv4=[row.address for row in rows])
    return rows


def callers_of(account: Account, client: OAuthClient, entities: list[tuple[str, int]]):
    owner = UserFactory(account=account)
    everything = {
        field.name: True for field in GlobalGrants._meta.fields if field.get_internal_type() == "BooleanField"
    }
    users: dict[str, User] = {
        "bare": UserFactory(account=account, restricted=True),
        "r/o": GlobalGrantsFactory(user__account=account).user,
        "r/w": GlobalGrantsFactory(user__account=account, account_access=Level.READ_WRITE, **everything).user,
        "other": UserFactory(),
        "staff": StaffFactory(),
    }
    for kind, pk in entities:
        GrantFactory(user=users["r/o"], entity_type=kind, entity_id=pk, permissions=Level.READ_ONLY)
        GrantFactory(user=users["r/w"], entity_type=kind, entity_id=pk, permissions=Level.READ_WRITE)
    scopes = {"scope": UNUSED, "reads": READING}
    own = {user.pk: Own.of(user, client) for user in (owner, *users.values())}
    for name in CALLERS:
        readable = None if name == "none" else token_of(users.get(name, owner), scopes.get(name, "*"))
        whose = users.get(name, owner) if name not in ("other", "staff") else owner
        token = PersonalToken.objects.filter(user=whose).last()
        yield Caller(name, APIClient(readable), token.pk if token else 0, own[whose.pk])


def firewall_of(scene: Scene) -> Firewall:
    """Return the account's first firewall, which is on the compute."""
    return Firewall.objects.filter(account=scene.account).earliest("pk")


OBJECTS: dict[str, Callable[[Scene, Caller], Any]] = {
    "/v4/account/events/{id}": lambda scene, caller: scene.event.pk,
    "/v4/account/logins/{id}": lambda scene, caller: caller.own.login.pk,
    "/v4/account/oauth-clients/{id}": lambda scene, caller: scene.client.client_id,
    "/v4/account/users/{id}": lambda scene, caller: scene.member.username,
    "/v4/compute/instances/{id}": lambda scene, caller: scene.compute.pk,
    "/v4/compute/instances/{id}/stats/{year}": lambda scene, caller: 2026,
    "/v4/compute/instances/{id}/stats/{year}/{month}": lambda scene, caller: 3,
    "/v4/compute/instances/{id}/transfer/{year}": lambda scene, caller: 2026,
    "/v4/compute/instances/{id}/transfer/{year}/{month}": lambda scene, caller: 3,
    "/v4/compute/instances/{compute_id}": lambda scene, caller: scene.compute.pk,
    "/v4/compute/instances/{compute_id}/backups/{id}": lambda scene, caller: scene.backup.pk,
    "/v4/compute/instances/{compute_id}/configs/{id}": lambda scene, caller: scene.config.pk,
    "/v4/compute/instances/{compute_id}/disks/{id}": lambda scene, caller: scene.disk.pk,
    "/v4/compute/instances/{compute_id}/ips/{id}": lambda scene, caller: scene.address.address,
    "/v4/compute/kernels/{id}": lambda scene, caller: "compute/latest-64bit",
    "/v4/compute/stackscripts/{id}": lambda scene, caller: scene.script.pk,
    "/v4/compute/types/{id}": lambda scene, caller: scene.world.type.pk,
    "/v4/domains/{id}": lambda scene, caller: scene.record.domain_id,
    "/v4/domains/{domain_id}": lambda scene, caller: scene.record.domain_id,
    "/v4/domains/{domain_id}/records/{id}": lambda scene, caller: scene.record.pk,
    "/v4/images/{id}": lambda scene, caller: scene.image.pk,
    "/v4/managed/compute-settings/{id}": lambda scene, caller: scene.compute.pk,
    "/v4/managed/contacts/{id}": lambda scene, caller: scene.contact.pk,
    "/v4/managed/credentials/{id}": lambda scene, caller: scene.credential.pk,
    "/v4/managed/issues/{id}": lambda scene, caller: scene.issue.pk,
    "/v4/managed/services/{id}": lambda scene, caller: scene.service.pk,
    "/v4/nodebalancers/{id}": lambda scene, caller: scene.node.config.nodebalancer_id,
    "/v4/nodebalancers/{nodebalancer_id}": lambda scene, caller: scene.node.config.nodebalancer_id,
    "/v4/nodebalancers/{nodebalancer_id}/configs/{id}": lambda scene, caller: scene.node.config_id,
    "/v4/nodebalancers/{nodebalancer_id}/configs/{config_id}": lambda scene, caller: scene.node.config_id,
    "/v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes/{id}": lambda scene, caller: scene.node.pk,
    "/v4/networking/firewalls/{id}": lambda scene, caller: firewall_of(scene).pk,
    "/v4/networking/firewalls/{firewall_id}": lambda scene, caller: firewall_of(scene).pk,
    "/v4/networking/firewalls/{firewall_id}/devices/{id}": lambda scene, caller: FirewallDevice.objects.get().pk,
    "/v4/networking/ips/{id}": lambda scene, caller: scene.address.address,
    "/v4/networking/ipv6/ranges/{id}": lambda scene, caller: scene.range.range,
    "/v4/profile/apps/{id}": lambda scene, caller: caller.own.app.pk,
    "/v4/profile/devices/{id}": lambda scene, caller: caller.own.device.pk,
    "/v4/profile/logins/{id}": lambda scene, caller: caller.own.login.pk,
    "/v4/profile/sshkeys/{id}": lambda scene, caller: caller.own.key.pk,
    "/v4/profile/tokens/{id}": lambda scene, caller: caller.token_id,
    "/v4/regions/{id}": lambda scene, caller: scene.world.region.pk,
    "/v4/tags/{id}": lambda scene, caller: "tagged",
    "/v4/support/tickets/{id}": lambda scene, caller: scene.ticket.pk,
    "/v4/volumes/{id}": lambda scene, caller: scene.volume.pk,
    "/v4/support/tickets/{ticket_id}": lambda scene, caller: scene.ticket.pk,
}
"""The objects of each path parameter, by the path up to it."""


def assignment(scene: Scene) -> dict[str, Any]:
    """Assign the compute's address to the compute."""
    own = {"address": scene.address.address, "compute_id": scene.compute.pk}
    return {"region": scene.compute.region_id, "assignments": [own]}


CLOSED = {"inbound_policy": "DROP", "outbound_policy": "DROP"}
BODIES: dict[str, Callable[[Scene], dict[str, Any] | File]] = {
    "PUT /v4/account": lambda scene: {"city": "Bergen"},
    "POST /v4/account/oauth-clients": lambda scene: {"label": "app", "redirect_uri": "https://app.example/back"},
    "PUT /v4/account/oauth-clients/{id}": lambda scene: {"label": "another"},
    "PUT /v4/account/settings": lambda scene: {"network_helper": False},
    "PUT /v4/account/oauth-clients/{id}/thumbnail": lambda scene: File(PICTURE, "image/png"),
    "POST /v4/account/users": lambda scene: {"username": "invited", "email": "invited@example.com"},
    "PUT /v4/account/users/{id}": lambda scene: {"email": "another@example.com"},
    "PUT /v4/account/users/{id}/grants": lambda scene: {"global": {"add_images": True}},
    "POST /v4/compute/instances": lambda scene: {"region": scene.world.region.pk, "type": scene.world.type.pk},
    "PUT /v4/compute/instances/{id}": lambda scene: {"label": "another-label"},
    "POST /v4/compute/instances/{id}/boot": lambda scene: {},
    "POST /v4/compute/instances/{id}/clone": lambda scene: {},
    "POST /v4/compute/instances/{id}/migrate": lambda scene: {},
    "POST /v4/compute/instances/{id}/mutate": lambda scene: {},
    "POST /v4/compute/instances/{id}/reboot": lambda scene: {},
    "POST /v4/compute/instances/{id}/rescue": lambda scene: {},
    "POST /v4/compute/instances/{id}/resize": lambda scene: {"type": InstanceTypeFactory(id="g6-other").pk},
    "POST /v4/compute/instances/{id}/rebuild": lambda scene: {
        "image": scene.world.image.pk,
        "root_pass": STRONG,
    },
    "POST /v4/compute/instances/{id}/password": lambda scene: {"root_pass": STRONG},
    "POST /v4/compute/instances/{compute_id}/disks": lambda scene: {"size": 100},
    "PUT /v4/compute/instances/{compute_id}/disks/{id}": lambda scene: {"label": "another"},
    "POST /v4/compute/instances/{compute_id}/disks/{id}/password": lambda scene: {"password": STRONG},
    "POST /v4/compute/instances/{compute_id}/disks/{id}/resize": lambda scene: {"size": 900},
    "POST /v4/compute/instances/{compute_id}/configs": lambda scene: {"label": "another", "devices": {}},
    "PUT /v4/compute/instances/{compute_id}/configs/{id}": lambda scene: {"label": "another"},
    "POST /v4/compute/instances/{compute_id}/ips": lambda scene: {"type": "ipv4", "public": False},
    "PUT /v4/compute/instances/{compute_id}/ips/{id}": lambda scene: {"rdns": None},
    "POST /v4/compute/instances/{compute_id}/backups": lambda scene: {"label": "before"},
    "POST /v4/compute/instances/{compute_id}/backups/{id}/restore": lambda scene: {"compute_id": scene.compute.pk},
    "POST /v4/compute/stackscripts": lambda scene: {
        "label": "script",
        "images": [scene.world.image.pk],
        "script": "#!/bin/sh",
    },
    "PUT /v4/compute/stackscripts/{id}": lambda scene: {"label": "another"},
    "POST /v4/domains": lambda scene: {"domain": "new.example.com", "type": "slave", "master_ips": ["192.0.2.1"]},
    "PUT /v4/domains/{id}": lambda scene: {"description": "another"},
    "POST /v4/domains/import": lambda scene: {"domain": "moved.example.com", "remote_nameserver": "203.0.113.53"},
    "POST /v4/domains/{id}/clone": lambda scene: {"domain": "clone.example.com"},
    "POST /v4/domains/{domain_id}/records": lambda scene: {"type": "AAAA", "name": "www", "target": "2001:db8::1"},
    "PUT /v4/domains/{domain_id}/records/{id}": lambda scene: {"target": "203.0.113.8"},
    "POST /v4/images": lambda scene: {"disk_id": scene.disk.pk},
    "POST /v4/images/upload": lambda scene: {"label": "image", "region": scene.world.region.pk},
    "PUT /v4/images/{id}": lambda scene: {"label": "another"},
    "PUT /v4/managed/compute-settings/{id}": lambda scene: {"ssh": {"port": 2222}},
    "POST /v4/managed/contacts": lambda scene: {"name": "On call", "email": "call@example.com"},
    "PUT /v4/managed/contacts/{id}": lambda scene: {"name": "Another"},
    "POST /v4/managed/credentials": lambda scene: {"label": "web", "password": "a-secret"},
    "PUT /v4/managed/credentials/{id}": lambda scene: {"label": "another"},
    "POST /v4/managed/credentials/{id}/update": lambda scene: {"password": "another-secret"},
    "POST /v4/managed/services": lambda scene: {
        "service_type": "tcp",
        "label": "database",
        "address": "203.0.113.7:5432",
        "timeout": 10,
    },
    "PUT /v4/managed/services/{id}": lambda scene: {"label": "another"},
    "POST /v4/networking/firewalls": lambda scene: {"label": "another", "rules": CLOSED},
    "PUT /v4/networking/firewalls/{id}": lambda scene: {"label": "another"},
    "PUT /v4/networking/firewalls/{id}/rules": lambda scene: CLOSED,
    "POST /v4/networking/firewalls/{firewall_id}/devices": lambda scene: {
        "id": scene.compute.pk,
        "type": "compute",
    },
    "POST /v4/networking/ips": lambda scene: {"type": "ipv4", "public": False, "compute_id": scene.compute.pk},
    "PUT /v4/networking/ips/{id}": lambda scene: {"rdns": None},
    "POST /v4/networking/ipv6/ranges": lambda scene: {"prefix_length": 64, "compute_id": scene.compute.pk},
    "POST /v4/networking/ips/assign": lambda scene: assignment(scene),
    "POST /v4/networking/ipv4/assign": lambda scene: assignment(scene),
    "POST /v4/networking/ips/share": lambda scene: {"compute_id": scene.compute.pk, "ips": []},
    "POST /v4/networking/ipv4/share": lambda scene: {"compute_id": scene.compute.pk, "ips": []},
    "POST /v4/nodebalancers": lambda scene: {"region": scene.world.region.pk},
    "PUT /v4/nodebalancers/{id}": lambda scene: {"label": "another"},
    "POST /v4/nodebalancers/{nodebalancer_id}/configs": lambda scene: {"port": 65535},
    "PUT /v4/nodebalancers/{nodebalancer_id}/configs/{id}": lambda scene: {"algorithm": "source"},
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{id}/rebuild": lambda scene: {"nodes": []},
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes": lambda scene: {
        "label": "another",
        "address": "10.0.0.9:80",
    },
    "PUT /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes/{id}": lambda scene: {"weight": 1},
    "PUT /v4/profile": lambda scene: {"timezone": "Europe/Oslo"},
    "POST /v4/profile/phone-number": lambda scene: {"iso_code": "NO", "phone_number": "40612345"},
    "POST /v4/profile/phone-number/verify": lambda scene: {"otp_code": "123456"},
    "PUT /v4/profile/preferences": lambda scene: {"theme": "dark"},
    "POST /v4/profile/security-questions": lambda scene: {
        "security_questions": [{"question_id": number, "response": "answer"} for number in (1, 2, 3)]
    },
    "POST /v4/profile/sshkeys": lambda scene: {"ssh_key": KEY},
    "PUT /v4/profile/sshkeys/{id}": lambda scene: {"label": "another"},
    "POST /v4/profile/tfa-enable-confirm": lambda scene: {"tfa_code": pyotp.TOTP(TOTP_SECRET).now()},
    "POST /v4/tags": lambda scene: {"label": "fresh", "computes": [scene.compute.pk]},
    "POST /v4/support/tickets": lambda scene: {"summary": "Help", "description": "It is dark."},
    "POST /v4/support/tickets/{id}/attachments": lambda scene: File.form("note.txt", b"See here."),
    "POST /v4/support/tickets/{ticket_id}/replies": lambda scene: {"description": "Still dark."},
    "POST /v4/volumes": lambda scene: {"label": "another", "region": scene.world.region.pk},
    "PUT /v4/volumes/{id}": lambda scene: {"label": "another"},
    "POST /v4/volumes/{id}/attach": lambda scene: {"compute_id": scene.compute.pk},
    "POST /v4/volumes/{id}/clone": lambda scene: {"label": "another"},
    "POST /v4/volumes/{id}/resize": lambda scene: {"size": 30},
    "POST /v4/profile/tokens": lambda scene: {"label": "another", "scopes": UNUSED},
    "PUT /v4/profile/tokens/{id}": lambda scene: {"label": "another"},
}
"""The bodies of operations. The default is an empty object."""


def without_managed(scene: Scene) -> None:
    Account.objects.update(managed=False)


def before_nothing(scene: Scene) -> None:
    """Detach all firewalls from computes."""
    FirewallDevice.objects.all().delete()


def running(scene: Scene) -> None:
    Instance.objects.filter(pk=scene.compute.pk).update(status=Instance.Status.RUNNING)


def due_to_move(scene: Scene) -> None:
    """Schedule a host migration. There is another host to move to."""
    HostFactory(region=scene.world.region)
    HostMigrationFactory(instance=scene.compute)


def outdated(scene: Scene) -> None:
    """Deprecate the compute's type. Another type replaces it."""
    successor = InstanceTypeFactory(id="g7-test-2")
    InstanceType.objects.filter(pk=scene.compute.type_id).update(deprecated=True, successor=successor)


def balancing(scene: Scene) -> None:
    """Offer load balancers in the region, give the compute a private address, and write measurements."""
    Region.objects.filter(pk=scene.world.region.pk).update(capabilities=["Computes", "NodeBalancers"])
    region = scene.world.region
    private = Address.objects.filter(region=region, public=False, instance=None).order_by("address")
    Address.objects.filter(pk__in=private[7:8].values("pk")).update(instance=scene.compute)
    values = dict.fromkeys(("connections", "traffic_in", "traffic_out"), 0.0)
    NodeBalancerSample.objects.create(nodebalancer=scene.node.config.nodebalancer, at=now(), **values)


def with_backups(scene: Scene) -> None:
    Instance.objects.filter(pk=scene.compute.pk).update(backups_enabled=True)


def sampled(scene: Scene) -> None:
    """Write samples of the last day and of March 2026."""
    for at in (now(), datetime(2026, 3, 4, tzinfo=UTC)):
        Sample.objects.create(instance=scene.compute, at=at, **dict.fromkeys(COUNTERS, 0.0))


def questions_answered(scene: Scene) -> None:
    """Let every user answer the security questions, which two-factor authentication needs."""
    SecurityAnswer.objects.bulk_create(
        SecurityAnswer(user=user, question_id=number) for user in User.objects.all() for number in (1, 2, 3)
    )


def secret_given(scene: Scene) -> None:
    """Give every user a secret of two-factor authentication, to be confirmed by a code."""
    until = now() + timedelta(hours=1)
    SecondFactor.objects.bulk_create(
        SecondFactor(user=user, pending=encrypt_json({"secret": TOTP_SECRET}), pending_until=until)
        for user in User.objects.all()
    )


def code_sent(scene: Scene) -> None:
    """Send a code to everybody's phone."""
    until, code = now() + timedelta(minutes=10), encrypt_json({"code": "123456"})
    PhoneVerification.objects.bulk_create(
        PhoneVerification(user=user, number="+4740612345", encrypted=code, expiry=until)
        for user in User.objects.all()
    )


def attached(scene: Scene) -> None:
    Volume.objects.filter(pk=scene.volume.pk).update(instance=scene.compute)


BEFORE: dict[str, Callable[[Scene], None]] = {
    "POST /v4/volumes/{id}/detach": attached,
    "POST /v4/account/settings/managed-enable": without_managed,
    "GET /v4/compute/instances/{id}/stats": sampled,
    "GET /v4/compute/instances/{id}/stats/{year}/{month}": sampled,
    "POST /v4/nodebalancers": balancing,
    "POST /v4/nodebalancers/{nodebalancer_id}/configs/{config_id}/nodes": balancing,
    "GET /v4/nodebalancers/{id}/stats": balancing,
    "POST /v4/networking/firewalls/{firewall_id}/devices": before_nothing,
    "POST /v4/profile/phone-number/verify": code_sent,
    "POST /v4/profile/tfa-enable": questions_answered,
    "POST /v4/profile/tfa-enable-confirm": secret_given,
    "POST /v4/compute/instances/{compute_id}/backups": with_backups,
    "POST /v4/compute/instances/{compute_id}/backups/cancel": with_backups,
    "POST /v4/compute/instances/{id}/migrate": due_to_move,
    "POST /v4/compute/instances/{id}/mutate": outdated,
    "POST /v4/compute/instances/{id}/reboot": running,
    "POST /v4/compute/instances/{id}/shutdown": running,
}
"""Preparations for a good call."""


ZONE = """\
id 1
opcode QUERY
flags QR AA
;ANSWER
moved.example.com. 3600 IN SOA ns1.example.com. dns.example.com. 1 2 3 4 5
moved.example.com. 3600 IN NS ns1.example.com.
www.moved.example.com. 3600 IN A 203.0.113.7
"""
"""The message of a zone transfer."""


@contextmanager
def zone_transferred() -> Iterator[None]:
    """Replace the transfer of a zone, so that no name server is asked."""
    zone = zone_import.read("moved.example.com", [dns.message.from_text(ZONE)])
    with patch.object(zone_import, "_transfer", lambda name, place: zone):
        yield


AROUND: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "POST /v4/domains/import": zone_transferred,
}
"""Stand-ins for other machines, for a good call."""


def values_of(route: Route, scene: Scene, caller: Caller) -> dict[str, Any]:
    """Return the object of each parameter of the route's path."""
    path = ""
    values = {}
    for piece in route.documented.strip("/").split("/"):
        path += f"/{piece}"
        if piece.startswith("{"):
            assert path in OBJECTS, f"say in {__name__}.OBJECTS what {path} names"
            values[piece.strip("{}")] = OBJECTS[path](scene, caller)
    return values


def address(route: Route, scene: Scene, caller: Caller) -> str:
    """Return the route's path with its parameters filled in."""
    return route.fill(values_of(route, scene, caller))


def operation_of(route: Route) -> str:
    """Return the name of the route in the tables here: ``PUT /v4/account``."""
    return f"{route.method.upper()} {route.documented}"


@contextmanager
def arranged(route: Route, scene: Scene) -> Iterator[None]:
    """Prepare a good call of the route. The block is rolled back."""
    operation = operation_of(route)
    with transaction.atomic(), AROUND.get(operation, nullcontext)():
        if operation in BEFORE:
            BEFORE[operation](scene)
        yield
        transaction.set_rollback(True)


@contextmanager
def prepared(route: Route, scene: Scene) -> Iterator[Callable[[Caller, Any], Any]]:
    """Yield a function that calls the route as a caller, with a body, prepared for a good call.

    The calls are rolled back.
    """

    def call(caller: Caller, body: Any) -> Any:
        path = address(route, scene, caller)
        send = getattr(caller.api, route.method)
        with transaction.atomic():
            answer = send(path, body) if route.method in ("post", "put") else send(path)
            transaction.set_rollback(True)
        return answer

    with arranged(route, scene):
        yield call


def body_of(route: Route, scene: Scene) -> Any:
    """Return a good body. The default is an empty object."""
    operation = operation_of(route)
    return BODIES[operation](scene) if operation in BODIES else {}


def status(route: Route, scene: Scene, caller: Caller) -> int:
    """Return the status of the caller's call."""
    with prepared(route, scene) as call:
        return call(caller, body_of(route, scene)).status_code


def status_of_wrong_body(route: Route, scene: Scene, caller: Caller) -> int:
    """Return the status of a call with a body that no operation accepts: a list, or a broken file."""
    good = body_of(route, scene)
    wrong: Any = File(b"broken", good.media_type) if isinstance(good, File) else ["wrong"]
    with prepared(route, scene) as call:
        return call(caller, wrong).status_code
