"""The addresses of one instance: adding, deleting and naming them."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Count, F

from accounts.actors import Actor
from accounts.models import Account
from accounts.services.account import lock_account
from accounts.services.events import record_event
from compute import listeners
from compute.models import Address, Instance
from compute.refs import address_ref, instance_ref
from compute.services.common.locks import lock_all
from compute.services.networking import rdns
from compute.services.networking.addresses import list_addresses, release, take
from config.errors import Busy, Invalid, Missing

MOVING = (Instance.Status.MIGRATING, Instance.Status.DELETING)
"""Statuses of an instance during which its job decides about its addresses."""


@transaction.atomic
def add(actor: Actor, instance: Instance, *, public: bool) -> Address:
    """Give the instance another IPv4 address, which the guest receives when it boots.

    Raises `Invalid` without a field: for a second private address, for a public one beyond what the account may
    have (one per instance, and `Account.extra_ipv4` more), and where the region has none left. `Busy` while the
    instance moves or is being deleted.
    """
    # the account's row first: of two requests for its last extra address the second counts the first's
    account = lock_account(actor.account_id)
    locked = lock_staying([instance.pk])[instance.pk]
    if public:
        _check_extra(account)
    elif Address.objects.filter(instance=locked, public=False).exists():
        raise Invalid("A compute has at most one private IPv4 address.")
    try:
        taken = take(locked.region_id, locked.pk, public=public)
    except Invalid as empty:
        raise Invalid(str(empty)) from empty
    list_addresses([locked.pk])
    record_event(actor, "compute_addip", instance_ref(locked), address_ref(taken))
    return Address.objects.get(address=taken)


@transaction.atomic
def delete(actor: Actor, address: Address) -> None:
    """Release an address. Refused for IPv6, which comes with the region, and for the last public IPv4 address."""
    lock_account(actor.account_id)
    locked, row = _lock_with(address, "IPv6 addresses cannot be deleted.")
    if row.public and not Address.objects.filter(instance=locked, public=True).exclude(pk=row.pk).exists():
        raise Invalid("The last public IPv4 address of a compute cannot be deleted.")
    release(Address.objects.filter(pk=row.pk))
    list_addresses([locked.pk])
    listeners.address_removed([locked.pk])
    record_event(actor, "compute_deleteip", instance_ref(locked), address_ref(row.address))


def rename(actor: Actor, address: Address, name: str | None) -> Address:
    """Set the reverse name of a public IPv4 address; None restores the platform's. Returns the address anew.

    Raises `Invalid` on ``rdns``: where the name is no host name, or the setting RDNS_CHECK asks for a forward
    record and none matches. The lookup precedes the transaction, which so waits for no name server.
    """
    if name is not None:
        name = rdns.checked(name, address.address)
    return _write_name(actor, address, name)


@transaction.atomic
def _write_name(actor: Actor, address: Address, name: str | None) -> Address:
    locked, row = _lock_with(address, "The rdns of IPv6 addresses cannot be set.", "rdns")
    if not row.public and name is not None:
        raise Invalid("The rdns of private addresses cannot be set.", "rdns")
    if row.rdns != name:
        row.rdns = name
        row.save(update_fields=["rdns"])
        record_event(actor, "ipaddress_update", instance_ref(locked), address_ref(row.address))
    return row


# --- for all services that deal with addresses --------------------------------------------------------------


def lock_staying(instance_ids: Iterable[int]) -> dict[int, Instance]:
    """As `lock_all`. Raises `Busy` where one of the instances moves or is being deleted."""
    locked = lock_all(instance_ids)
    if any(row.status in MOVING for row in locked.values()):
        raise Busy
    return locked


def _lock_with(address: Address, reason: str, field: str | None = None) -> tuple[Instance, Address]:
    """Lock the instance of the address, and read the address anew. `reason` is the error for an IPv6 address."""
    if ":" in address.address:
        raise Invalid(reason, field)
    if address.instance_id is None:
        raise Missing
    locked = lock_staying([address.instance_id])[address.instance_id]
    row = Address.objects.filter(pk=address.pk, instance=locked).first()
    if row is None:
        raise Missing
    return locked, row


def _check_extra(account: Account) -> None:
    """Raise `Invalid` where the account has as many public addresses as it may."""
    mine = Address.objects.filter(instance__account=account, public=True, region=F("instance__region"))
    counted = mine.aggregate(addresses=Count("pk"), instances=Count("instance", distinct=True))
    if counted["addresses"] - counted["instances"] >= account.extra_ipv4:
        raise Invalid("Additional public IPv4 addresses are given on request: ask support by a ticket.")
