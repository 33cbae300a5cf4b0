"""More rows of everything that lists show."""

from django.utils.timezone import now

from accounts.models import Authorization, Login, SSHKey, Ticket, User
from compute.models import VLAN, Firewall, Instance, IPv6Range, NodeBalancerConfig
from regions.models import Region
from tags.services import set_tags
from tests.factories import (
    AddressPoolFactory,
    ConfigFactory,
    ContactFactory,
    CredentialFactory,
    DiskFactory,
    DomainFactory,
    FirewallFactory,
    HostMigrationFactory,
    ImageFactory,
    InstanceTypeFactory,
    IssueFactory,
    NodeBalancerConfigFactory,
    NodeBalancerFactory,
    NodeBalancerNodeFactory,
    OAuthClientFactory,
    RecordFactory,
    ServiceFactory,
    StackScriptFactory,
    TicketFactory,
    TrustedDeviceFactory,
    UserFactory,
    VolumeFactory,
    token_of,
)
from tests.world import World

TAG = "listed"
"""The label of a tag that two instances carry."""


def add_more(world: World, values: dict, user: User) -> None:
    """Add at least two of everything that is listed: for the account, for `user`, and for the objects in
    `values`."""
    account, instance = world.account, Instance.objects.get(pk=values["compute_id"])
    config = NodeBalancerConfig.objects.get(pk=values["config_id"])
    Region.objects.bulk_create(Region(id=f"more-{n}", country="us") for n in range(5))
    for number in range(4):
        other = world.create(label=f"more-{number}")
        VolumeFactory(account=account, region=world.region, instance=other)
        Firewall.objects.get(pk=values["firewall_id"]).devices.create(instance=other)
        FirewallFactory(account=account, on=other)
        service = ServiceFactory(account=account)
        service.credentials.set([CredentialFactory(account=account) for _ in range(2)])
        ContactFactory(account=account)
        NodeBalancerFactory(account=account)
        NodeBalancerConfigFactory(nodebalancer=config.nodebalancer)
        NodeBalancerNodeFactory(config=config, instance=instance)
    pool = AddressPoolFactory(region=world.region, kind="routed", network="2001:db8:5000::/36", gateway="fe80::1")
    for number in range(2):
        IssueFactory(account=account, services=[1, 2], closed=now() if number else None)
        UserFactory(account=account)
        InstanceTypeFactory(id=f"g6-more-{number}")
        DomainFactory(account=account)
        ImageFactory()
        RecordFactory(domain_id=values["domain_id"])
        token_of(user, label=f"more-{number}")
        TicketFactory(account=account)
        Ticket.objects.get(pk=values["ticket_id"]).replies.create(description="Well?", created_by=user.username)
        HostMigrationFactory(instance=world.create(label=f"moved-{number}"))
        StackScriptFactory(account=account)
        SSHKey.objects.create(user=user, ssh_key="ssh-ed25519 AAAA")
        TrustedDeviceFactory(user=user)
        Authorization.objects.create(user=user, client=OAuthClientFactory(account=account), scopes="*")
        Login.objects.create(account=account, user=user, username=user.username, restricted=False, ip="192.0.2.7")
        DiskFactory(instance=instance)
        FirewallFactory(account=account, on=instance, status=Firewall.Status.DISABLED)
        VolumeFactory(account=account, region=world.region, instance=instance)
        balanced = NodeBalancerConfigFactory(nodebalancer=NodeBalancerFactory(account=account))
        NodeBalancerNodeFactory(config=balanced, instance=instance)
        label = f"vlan-{number}"
        VLAN.objects.create(account=account, region=world.region, label=label)
        ConfigFactory(instance=instance, interfaces=[{"purpose": "vlan", "label": label}])
        for kind in IPv6Range.Kind.values:
            first = f"2001:db8:500{number}:{kind == 'pool':d}::"
            IPv6Range.objects.create(
                account=account, region=world.region, pool=pool, range=first, prefix=64, kind=kind
            )
    Region.objects.filter(pk=world.region.pk).update(status=Region.Status.OUTAGE)
    for each in Instance.objects.filter(account=account)[:2]:
        set_tags(account.pk, "compute", each.pk, [TAG, "another"])
