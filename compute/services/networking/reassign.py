"""Addresses between the instances of an account: reassigning and sharing them."""

import ipaddress
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import F

from accounts.actors import Actor
from accounts.services.account import lock_account
from accounts.services.events import record_event
from compute.models import Address, AddressShare, Instance, IPv6Range, NodeBalancerNode
from compute.refs import address_ref, instance_ref
from compute.services.common.locks import named_instances
from compute.services.networking.addresses import list_addresses
from compute.services.networking.assign import lock_staying
from config.errors import Busy, Problems
from regions.models import Region

MAX_ADDRESSES_PER_REQUEST = 100
"""Addresses that one request moves or shares."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """An IPv4 address, or an IPv6 range with or without its prefix length, and the instance that is to get it."""

    address: str
    instance_id: int


@dataclass(frozen=True, slots=True)
class _Move:
    """An address or range of the account, and the key of the instance that is to get it."""

    row: Address | IPv6Range
    target: int

    @property
    def name(self) -> str:
        return str(self.row)


@dataclass(slots=True)
class _Plan:
    """The moves that a request's assignments ask for, without the invalid ones."""

    moves: list[_Move] = field(default_factory=list)

    @property
    def changes(self) -> list[_Move]:
        return [move for move in self.moves if move.row.instance_id != move.target]

    @property
    def instances(self) -> set[int]:
        """The keys of all instances that give or get an address."""
        holders = {move.row.instance_id for move in self.moves if move.row.instance_id is not None}
        return holders | {move.target for move in self.moves}


# --- assigning ----------------------------------------------------------------------------------------------


@transaction.atomic
def assign(actor: Actor, region_id: str, assignments: Sequence[Assignment]) -> None:
    """Move addresses of the account between its instances, all or none; two instances may swap theirs.

    All addresses and instances must be in the region. Afterwards each of the instances has a public address and at
    most one private one. Raises `Invalid` with every failing field (``assignments[0].address``), `Denied` where the
    actor may only read one of the instances, `Busy` while one of them moves or is being deleted.
    """
    # one request of the account at a time: the checks below still hold when the moves are written
    lock_account(actor.account_id)
    plan = _read(actor, region_id, assignments)
    locked = lock_staying(plan.instances)
    _check_unmoved(plan)
    changes = plan.changes
    _check_outcome(changes)
    for move in changes:
        _carry_out(move)
    touched = {move.row.instance_id for move in changes if move.row.instance_id} | {m.target for m in changes}
    list_addresses(touched)
    for move in changes:
        if move.row.instance_id is not None:
            record_event(
                actor, "compute_deleteip", instance_ref(locked[move.row.instance_id]), address_ref(move.name)
            )
        record_event(actor, "compute_addip", instance_ref(locked[move.target]), address_ref(move.name))


def _read(actor: Actor, region_id: str, assignments: Sequence[Assignment]) -> _Plan:
    problems = Problems()
    if not Region.objects.filter(pk=region_id).exists():
        problems.add("region", "region is not valid")
    if len(assignments) > MAX_ADDRESSES_PER_REQUEST:
        problems.add("assignments", f"Assignments must be at most {MAX_ADDRESSES_PER_REQUEST} items")
    problems.raise_any()
    targets = named_instances(actor, (each.instance_id for each in assignments), "assignments")
    found = _find(actor, [each.address for each in assignments])
    plan, seen = _Plan(), set()
    for index, each in enumerate(assignments):
        where, row, target = f"assignments[{index}]", found.get(each.address), targets.get(each.instance_id)
        if row is None:
            problems.add(f"{where}.address", "address is not valid")
        elif row.region_id != region_id:
            problems.add(f"{where}.address", "This address is in another region.")
        elif str(row) in seen:
            problems.add(f"{where}.address", "This address is named twice.")
        if target is None:
            problems.add(f"{where}.compute_id", "compute_id is not valid")
        elif target.region_id != region_id:
            problems.add(f"{where}.compute_id", "This compute is in another region.")
        if row is not None and target is not None:
            seen.add(str(row))
            plan.moves.append(_Move(row, target.pk))
    problems.raise_any()
    named_instances(actor, plan.instances, "assignments")
    return plan


def _find(actor: Actor, texts: Iterable[str]) -> dict[str, Address | IPv6Range]:
    """The actor's IPv4 addresses and IPv6 ranges, by the text that names them; a range by its first address."""
    networks = {text: network for text in texts if (network := _network(text)) is not None}
    firsts = {str(network.network_address) for network in networks.values()}
    instances = Instance.objects.visible_to(actor).values("pk")
    rows = Address.objects.filter(address__in=firsts, instance__in=instances)
    ranges = IPv6Range.objects.visible_to(actor).filter(range__in=firsts, kind=IPv6Range.Kind.RANGE)
    known: dict[str, Address | IPv6Range] = {row.address: row for row in rows}
    known |= {row.range: row for row in ranges}
    found = {}
    for text, network in networks.items():
        row = known.get(str(network.network_address))
        bare = "/" not in text and isinstance(row, IPv6Range)
        if row is not None and (bare or network.prefixlen == (32 if isinstance(row, Address) else row.prefix)):
            found[text] = row
    return found


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _check_unmoved(plan: _Plan) -> None:
    """Raise `Busy` where a job took an address away between the read and the locks; the client tries again."""
    for model in (Address, IPv6Range):
        before = {move.row.pk: move.row.instance_id for move in plan.moves if isinstance(move.row, model)}
        now = model._default_manager.filter(pk__in=before).values_list("pk", "instance_id")
        if dict(now) != before:
            raise Busy


def _check_outcome(changes: Iterable[_Move]) -> None:
    """Raise `Invalid` where an instance would have no public address left, or two private ones."""
    moves = {move.row.pk: move for move in changes if isinstance(move.row, Address)}
    concerned = {move.row.instance_id for move in moves.values()} | {move.target for move in moves.values()}
    public: Counter[int] = Counter()
    private: Counter[int] = Counter()
    rows = Address.objects.filter(instance__in=concerned, region=F("instance__region"))
    for pk, holder, is_public in rows.values_list("pk", "instance_id", "public"):
        owner = moves[pk].target if pk in moves else holder
        (public if is_public else private)[owner] += 1
    problems = Problems()
    for pk in sorted(pk for pk in concerned if pk is not None):
        if not public[pk]:
            problems.add("assignments", f"Compute {pk} would be left without a public IPv4 address.")
        if private[pk] > 1:
            problems.add("assignments", f"Compute {pk} would have {private[pk]} private IPv4 addresses.")
    problems.raise_any()


def _carry_out(move: _Move) -> None:
    if isinstance(move.row, IPv6Range):
        IPv6Range.objects.filter(pk=move.row.pk).update(instance=move.target, route_target=None)
        return
    Address.objects.filter(pk=move.row.pk).update(instance=move.target)
    # the target owns the address now, and no longer shares it
    AddressShare.objects.filter(address=move.row.pk, instance=move.target).delete()
    nodes = NodeBalancerNode.objects.filter(instance=move.row.instance_id, address__startswith=f"{move.name}:")
    nodes.update(instance=move.target)


# --- sharing ------------------------------------------------------------------------------------------------


@transaction.atomic
def share(actor: Actor, instance_id: int, texts: Sequence[str]) -> None:
    """Let an instance answer for exactly these public IPv4 addresses of other instances as well (IP failover).

    Raises `Invalid` with every failing field (``ips[0]``), `Denied` where the actor may only read one of the
    instances, `Busy` while one of them moves or is being deleted.
    """
    lock_account(actor.account_id)
    rows = _read_shared(actor, instance_id, texts)
    locked = lock_staying({instance_id, *(row.instance_id for row in rows if row.instance_id is not None)})
    wanted = {row.pk for row in rows}
    still = Address.objects.filter(pk__in=wanted).values_list("pk", "instance_id")
    if dict(still) != {row.pk: row.instance_id for row in rows}:
        raise Busy
    shares = AddressShare.objects.filter(instance=instance_id)
    before = set(shares.values_list("address_id", flat=True))
    if wanted == before:
        return
    shares.exclude(address__in=wanted).delete()
    AddressShare.objects.bulk_create(
        AddressShare(address_id=pk, instance_id=instance_id) for pk in sorted(wanted - before)
    )
    changed = Address.objects.filter(pk__in=wanted ^ before).order_by("pk")
    for row in changed:
        record_event(actor, "ipaddress_update", instance_ref(locked[instance_id]), address_ref(row.address))


def _read_shared(actor: Actor, instance_id: int, texts: Sequence[str]) -> list[Address]:
    problems = Problems()
    target = named_instances(actor, [instance_id], "compute_id").get(instance_id)
    if target is None:
        problems.add("compute_id", "compute_id is not valid")
    if len(texts) > MAX_ADDRESSES_PER_REQUEST:
        problems.add("ips", f"Ips must be at most {MAX_ADDRESSES_PER_REQUEST} items")
        problems.raise_any()
    found = _find(actor, texts)
    rows: dict[int, Address] = {}
    for index, text in enumerate(texts):
        row = found.get(text)
        if not isinstance(row, Address):
            problems.add(f"ips[{index}]", "ips is not valid")
        elif not row.public:
            problems.add(f"ips[{index}]", "Only public addresses can be shared.")
        elif row.instance_id == instance_id:
            problems.add(f"ips[{index}]", "The compute has this address itself.")
        elif target is not None and row.region_id != target.region_id:
            problems.add(f"ips[{index}]", "This address is in another region.")
        else:
            rows[row.pk] = row
    problems.raise_any()
    named_instances(actor, (row.instance_id for row in rows.values() if row.instance_id is not None), "ips")
    return list(rows.values())
