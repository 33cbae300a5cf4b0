"""The addresses of one instance: adding, deleting and naming them."""

from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db import transaction

from accounts.actors import Actor
from accounts.models import Account
from accounts.services.account import lock_account
from accounts.services.events import record_event
from compute import listeners
from compute.models import Address, Instance
from compute.punycode import to_ascii
from compute.refs import address_ref, instance_ref
from compute.services.common.locks import lock_all
from compute.services.networking import rdns
from compute.services.networking.addresses import default_rdns, list_addresses, release, take
from compute.services.usage.metering import count_extra_ipv4
from compute.services.usage.recording import record
from config.errors import Busy, Invalid, Missing, Problems

MOVING = (Instance.Status.MIGRATING, Instance.Status.DELETING)
"""Statuses of an instance during which its job may change its addresses."""
TOO_MANY = (
    "Additional IPv4 addresses require technical justification.  "  # two blanks, as clients know it
    "Please contact support describing your requirement"
)


@transaction.atomic
def add(actor: Actor, instance: Instance | None, public: bool | None, problems: Problems | None = None) -> Address:
    """Give the instance another IPv4 address, which the guest receives when it boots.

    Raises `Invalid` with the `problems` that the request has already, if instance or visibility are None. Raises
    `Invalid` without a field for a second private address, or for a public one beyond the account's limit: one per
    instance, and `Account.extra_ipv4` more. The same applies if the region has none left. Raises `Busy` while the
    instance moves or is being deleted.
    """
    problems = problems or Problems()
    # the account's row first: of two requests for its last extra address, the second counts the first's
    account = lock_account(actor.account_id)
    instances = lock_all([] if instance is None else [instance.pk])
    if public:
        _check_extra(account, problems)
    elif public is not None and Address.objects.filter(instance__in=instances, public=False).exists():
        problems.add(None, "A compute has at most one private IPv4 address.")
    public = problems.checked(public)
    (locked,) = instances.values()
    check_staying(instances)
    try:
        taken = take(locked.region_id, locked.pk, public=public)
    except Invalid as empty:
        raise Invalid(str(empty)) from empty
    list_addresses([locked.pk])
    record_event(actor, "compute_addip", instance_ref(locked), address_ref(taken))
    record(locked.account_id, addresses=public)
    return Address.objects.get(address=taken)


@transaction.atomic
def delete(actor: Actor, address: Address) -> None:
    """Release an address. IPv6 addresses, which come with the region, and the last public IPv4 address are
    refused."""
    lock_account(actor.account_id)
    if ":" in address.address:
        raise Invalid("IPv6 addresses cannot be deleted.")
    locked, row = _lock_with(address)
    if row.public and not Address.objects.filter(instance=locked, public=True).exclude(pk=row.pk).exists():
        raise Invalid("The last public IPv4 address of a compute cannot be deleted.")
    check_staying({locked.pk: locked})
    release(Address.objects.filter(pk=row.pk))
    list_addresses([locked.pk])
    listeners.address_removed([locked.pk])
    record_event(actor, "compute_deleteip", instance_ref(locked), address_ref(row.address))
    record(locked.account_id, addresses=row.public, check=False)


def rename(actor: Actor, address: Address, name: str | None) -> Address:
    """Set the reverse name of a public IPv4 address; None restores the platform's. Returns the address anew.

    The name may end with a dot, which is not kept. A Unicode name is kept as punycode. Raises `Invalid` on
    ``rdns`` if the name is no host name, or if the setting RDNS_CHECK requires a forward record and none matches.
    Raises `TooMany` after many lookups. The lookup precedes the transaction, so that the transaction does not wait
    for a name server. If the address already has the name, there is no lookup: clients send back what they
    received.
    """
    name = None if name is None else to_ascii(name).removesuffix(".")
    if name is not None and address.public and name == default_rdns(address.address, settings.PLATFORM_DOMAIN):
        name = None
    if ":" in address.address:
        if name is not None:
            raise Invalid("The rdns of IPv6 addresses cannot be set.", "rdns")
        return address
    if name is not None and name != address.rdns:
        name = rdns.checked(actor.account_id, name, address.address)
    return _write_name(actor, address, name)


@transaction.atomic
def _write_name(actor: Actor, address: Address, name: str | None) -> Address:
    locked, row = _lock_with(address)
    if not row.public and name is not None:
        raise Invalid("The rdns of private addresses cannot be set.", "rdns")
    if row.rdns != name:
        check_staying({locked.pk: locked})
        row.rdns = name
        row.save(update_fields=["rdns"])
        record_event(actor, "ipaddress_update", instance_ref(locked), address_ref(row.address))
    return row


# --- for all services that deal with addresses --------------------------------------------------------------


def lock_staying(instance_ids: Iterable[int]) -> dict[int, Instance]:
    """As `lock_all`. Raises `Busy` if one of the instances moves or is being deleted."""
    locked = lock_all(instance_ids)
    check_staying(locked)
    return locked


def check_staying(locked: Mapping[int, Instance]) -> None:
    """Raise `Busy` if one of the locked instances moves or is being deleted. Call it after all other checks."""
    if any(row.status in MOVING for row in locked.values()):
        raise Busy


def _lock_with(address: Address) -> tuple[Instance, Address]:
    """Lock the instance of the IPv4 address, and read the address anew."""
    if address.instance_id is None:
        raise Missing
    locked = lock_all([address.instance_id])[address.instance_id]
    row = Address.objects.filter(pk=address.pk, instance=locked).first()
    if row is None:
        raise Missing
    return locked, row


def _check_extra(account: Account, problems: Problems) -> None:
    """Note a problem if the account has as many public addresses as it may have."""
    if count_extra_ipv4(account.pk) >= account.extra_ipv4:
        problems.add(None, TOO_MANY)
