"""The permissions of staff roles for customers' resources and for the hosts that these run on.

Only superusers delete customers' data: a deleted instance, volume, backup or domain cannot be restored.
"""

from compute.models import (
    AddressPool,
    ConsoleSession,
    Domain,
    Drift,
    Firewall,
    Host,
    HostMigration,
    Image,
    Instance,
    InstanceType,
    IPv6Range,
    Job,
    Kernel,
    PacketFilter,
    StackScript,
    Volume,
)
from config.admin.roles import OPERATOR, SUPPORT, allow

allow(SUPPORT, Domain, Firewall, Instance, PacketFilter, Volume, to="change")
allow(OPERATOR, Drift, Firewall, Instance, Job, PacketFilter, Volume, to="change")
allow(OPERATOR, ConsoleSession, Host, HostMigration, to="add change")
allow(OPERATOR, Image, InstanceType, Kernel, StackScript, to="add change")
allow(OPERATOR, AddressPool, IPv6Range, to="add delete")
