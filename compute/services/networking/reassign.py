"""Addresses between the instances of an account: reassigning and sharing them."""

import ipaddress
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import F, QuerySet

from accounts.actors import Actor
from accounts.services.account import lock_account
from accounts.services.events import record_event
from compute.models import Address, AddressShare, Instance, IPv6Range, NodeBalancerNode, RangeShare
from compute.refs import address_ref, instance_ref
from compute.services.common.locks import lock_all, named_instances
from compute.services.networking.addresses import list_addresses
from compute.services.networking.assign import check_staying
from config.errors import Busy, Problems
from regions.models import Region

MAX_ADDRESSES_PER_REQUEST = 100
"""Addresses that one request moves or shares."""
NO_ADDRESS = "IP Address not found."


@dataclass(frozen=True, slots=True)
class Assignment:
    """An IPv4 address, or an IPv6 range with or without its prefix length, and the instance that gets it.

    None stands for a value that failed a check before.
    """

    address: str | None
    instance_id: int | None


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
def assign(
    actor: Actor, region_id: str | None, assignments: Sequence[Assignment], problems: Problems | None = None
) -> None:
    """Move addresses of the account between its instances, all or none; two instances may swap theirs.

    All addresses and instances must be in the region. A region of None failed a check before. Afterwards each of
    the instances has a public address and at most one private one. Raises `Invalid` with every failing field
    (``assignments[0].address``), after those in `problems`. Raises `Denied` if the actor may only read one of the
    instances, `Busy` while one of them moves or is being deleted.
    """
    # one request of the account at a time: the checks below still hold when the moves are written
    lock_account(actor.account_id)
    plan = _read(actor, region_id, assignments, problems or Problems())
    locked = lock_all(plan.instances)
    _check_unmoved(move.row for move in plan.moves)
    changes = plan.changes
    _check_outcome(changes)
    check_staying(locked)
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


def _read(actor: Actor, region_id: str | None, assignments: Sequence[Assignment], problems: Problems) -> _Plan:
    """Return the plan of a request. If its region is None, addresses and instances may be in any region."""
    if region_id is not None and not Region.objects.filter(pk=region_id).exists():
        problems.add("region", "region is not valid")
        region_id = None
    if len(assignments) > MAX_ADDRESSES_PER_REQUEST:
        problems.add("assignments", f"assignments must be at most {MAX_ADDRESSES_PER_REQUEST} items")
        problems.raise_any()
    keys = [each.instance_id for each in assignments if each.instance_id is not None]
    targets = named_instances(actor, keys, "assignments")
    found = _find(actor, [each.address for each in assignments if each.address is not None])
    plan, seen = _Plan(), set()
    for index, each in enumerate(assignments):
        where = f"assignments[{index}]"
        row, target = found.get(each.address or ""), targets.get(each.instance_id or 0)
        if row is None and each.address is not None:
            problems.add(f"{where}.address", NO_ADDRESS)
        elif row is not None and region_id is not None and row.region_id != region_id:
            problems.add(f"{where}.address", "This address is in another region.")
        elif row is not None and str(row) in seen:
            problems.add(f"{where}.address", "This address is named twice.")
        if target is None and each.instance_id is not None:
            problems.add(f"{where}.compute_id", f"Invalid Compute ID {each.instance_id}")
        elif target is not None and region_id is not None and target.region_id != region_id:
            problems.add(f"{where}.compute_id", "This compute is in another region.")
        if row is not None and target is not None:
            seen.add(str(row))
            plan.moves.append(_Move(row, target.pk))
    problems.raise_any()
    named_instances(actor, plan.instances, "assignments")
    return plan


def _find(actor: Actor, texts: Iterable[str]) -> dict[str, Address | IPv6Range]:
    """Return the actor's IPv4 addresses and IPv6 ranges, by the text that names them; a range by its first
    address."""
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


def _check_unmoved(rows: Iterable[Address | IPv6Range]) -> None:
    """Raise `Busy` if a job moved an address between the read and the locks; the client tries again."""
    rows = list(rows)
    for model in (Address, IPv6Range):
        before = {row.pk: row.instance_id for row in rows if isinstance(row, model)}
        now = model._default_manager.filter(pk__in=before).values_list("pk", "instance_id")
        if dict(now) != before:
            raise Busy


def _check_outcome(changes: Iterable[_Move]) -> None:
    """Raise `Invalid` if an instance would have no public address left, or two private ones."""
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
        # the former instance may have shared its own range; it must not keep the range
        both = (move.row.instance_id, move.target)
        RangeShare.objects.filter(range=move.row.pk, instance__in=both).delete()
        IPv6Range.objects.filter(pk=move.row.pk).update(instance=move.target, route_target=None)
        return
    Address.objects.filter(pk=move.row.pk).update(instance=move.target)
    # the target owns the address now, and no longer shares it
    AddressShare.objects.filter(address=move.row.pk, instance=move.target).delete()
    nodes = NodeBalancerNode.objects.filter(instance=move.row.instance_id, address__startswith=f"{move.name}:")
    nodes.update(instance=move.target)


# --- sharing ------------------------------------------------------------------------------------------------


@transaction.atomic
def share(
    actor: Actor,
    instance_id: int | None,
    texts: Sequence[str],
    problems: Problems | None = None,
    *,
    keep_others: bool = False,
) -> None:
    """Share exactly these public IPv4 addresses and IPv6 ranges with an instance (IP failover).

    An IPv4 address of the instance itself stays as it is. A range of the instance itself becomes a shared range.
    With `keep_others`, shares of addresses and ranges of instances that the actor may not change stay as well. Then
    the owner of a share that stays may move or be deleted.
    Raises `Invalid` with every failing field (``ips[0]``), after those in `problems`: an `instance_id` of None
    failed earlier. Raises `Denied` if the actor may only read one of the instances, and `Busy` while one of them
    moves or is being deleted.
    """
    lock_account(actor.account_id)
    problems = problems or Problems()
    rows = _read_shared(actor, instance_id, texts, problems)
    instance_id = problems.checked(instance_id)
    locked = lock_all({instance_id, *(row.instance_id for row in rows if row.instance_id is not None)})
    _check_unmoved(rows)
    addresses, ranges = AddressShare.objects.all(), RangeShare.objects.all()
    if keep_others and actor.restricted:
        writable = Instance.objects.writable_by(actor).values("pk")
        addresses = addresses.filter(address__instance__in=writable)
        ranges = ranges.filter(range__instance__in=writable)
    changed = [
        *_write_shares(addresses, "address", instance_id, [row for row in rows if isinstance(row, Address)]),
        *_write_shares(ranges, "range", instance_id, [row for row in rows if isinstance(row, IPv6Range)]),
    ]
    concerned = [row.instance_id for row in rows if not keep_others or str(row) in changed]
    check_staying({pk: locked[pk] for pk in (instance_id, *concerned) if pk is not None})
    for name in changed:
        record_event(actor, "ipaddress_update", instance_ref(locked[instance_id]), address_ref(name))


def _write_shares(
    shares: QuerySet[AddressShare] | QuerySet[RangeShare],
    what: str,
    instance_id: int,
    rows: Sequence[Address | IPv6Range],
) -> list[str]:
    """Share exactly `rows` with the instance. Return the names of rows that it shares now, or no longer.

    `what` is the column of the shares that refers to such a row. Shares that are not in `shares` stay.
    """
    mine = shares.filter(instance=instance_id)
    before = {getattr(share, what).pk: getattr(share, what) for share in mine.select_related(what)}
    wanted = {row.pk: row for row in rows}
    mine.filter(**{f"{what}__in": before.keys() - wanted.keys()}).delete()
    for pk in sorted(wanted.keys() - before.keys()):
        shares.create(**{what: wanted[pk], "instance_id": instance_id})
    both = {**before, **wanted}
    return [str(both[pk]) for pk in sorted(before.keys() ^ wanted.keys())]


def _read_shared(
    actor: Actor, instance_id: int | None, texts: Sequence[str], problems: Problems
) -> list[Address | IPv6Range]:
    """Return the named ranges, and named addresses of other instances. Without an instance, any region is valid."""
    wanted = () if instance_id is None else (instance_id,)
    target = next(iter(named_instances(actor, wanted, "compute_id").values()), None)
    if target is None and "compute_id" not in problems:
        problems.add("compute_id", "compute_id is not valid")
    if len(texts) > MAX_ADDRESSES_PER_REQUEST:
        problems.add("ips", f"ips must be at most {MAX_ADDRESSES_PER_REQUEST} items")
        problems.raise_any()
    found = _find(actor, texts)
    rows: dict[str, Address | IPv6Range] = {}
    for index, text in enumerate(texts):
        row = found.get(text)
        if row is None:
            problems.add(f"ips[{index}]", NO_ADDRESS)
        elif isinstance(row, Address) and not row.public:
            problems.add(f"ips[{index}]", "Only public addresses can be shared.")
        elif target is not None and row.region_id != target.region_id:
            problems.add(f"ips[{index}]", "This address is in another region.")
        elif target is None or isinstance(row, IPv6Range) or row.instance_id != target.pk:
            rows[str(row)] = row
    problems.raise_any()
    named_instances(actor, (row.instance_id for row in rows.values() if row.instance_id is not None), "ips")
    return list(rows.values())
