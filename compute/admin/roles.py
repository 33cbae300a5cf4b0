"""What the roles of staff may do to what is provisioned, and to what it runs on.

Customers' data is deleted by superusers alone: an instance, volume, backup or domain cannot be brought back.
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
