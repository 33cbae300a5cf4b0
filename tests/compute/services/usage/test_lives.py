"""Random lives of resources, metered by intervals and by a naive meter that samples every minute."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from compute.models import Instance, ResourcePrice
from compute.services.usage import clock
from compute.services.usage.recording import parts_of, record
from compute.services.usage.reports import GROUPINGS, lines, summary
from tests.factories import (
    AccountFactory,
    ImageFactory,
    InstanceFactory,
    InstanceTypeFactory,
    NodeBalancerFactory,
    RegionFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db

BEGIN = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTES = 3 * 24 * 60
"""The end of a month, and the beginning of the next."""
REGIONS = ("us-test", "eu-test")
TYPES: dict[str, tuple[str, str]] = {"small": ("0.0075", "0.2"), "large": ("0.06", "40"), "capped": ("0.1", "0.35")}
"""Types with their prices. A month that lasts hours reaches the monthly prices."""
BACKUPS = ("0.0031", "0.11")
PRICES = {"volume": ("0.000137", "0.0045"), "image": ("0.000149", None), "nodebalancer": ("0.0139", "0.5")}

Metered = tuple[str, str, Decimal, tuple[str, str | None]]
"""Region, type, quantity and price of a resource."""


def at(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


@dataclass
class Life:
    """The resources of an account, in the database and as the naive meter knows them."""

    account: Account
    next_image: int
    rows: dict[str, list[Any]] = field(default_factory=dict)
    present: dict[tuple[str, int], Metered] = field(default_factory=dict)
    samples: dict[tuple[Any, ...], list[tuple[int, Decimal]]] = field(default_factory=dict)

    def sample(self, minute: int) -> None:
        month = at(minute).date().replace(day=1)
        for (kind, key), (region, plan, quantity, price) in self.present.items():
            self.samples.setdefault((month, kind, key, region, plan, price), []).append((minute, quantity))

    def pick(self, noun: str, number: int) -> Any:
        """Return one of the resources, or None if there are none."""
        rows = self.rows.setdefault(noun, [])
        return rows[number % len(rows)] if rows else None

    def watch(self, instance: Instance) -> None:
        """Tell the naive meter about an instance."""
        place = (instance.region_id, instance.type_id, Decimal(1))
        self.present["compute", instance.pk] = (*place, TYPES[instance.type_id])
        self.present.pop(("compute_backups", instance.pk), None)
        if instance.backups_enabled:
            self.present["compute_backups", instance.pk] = (*place, BACKUPS)

    def gone(self, *keys: tuple[str, int]) -> None:
        for key in keys:
            self.present.pop(key, None)


def create_instance(life: Life, number: int) -> None:
    made = InstanceFactory(
        account=life.account,
        type_id=list(TYPES)[number % 3],
        region_id=REGIONS[number % 2],
        backups_enabled=number % 4 == 0,
    )
    record(life.account.pk, instances=[made.pk])
    life.rows.setdefault("instances", []).append(made)
    life.watch(made)


def change_instance(life: Life, number: int) -> None:
    """Give an instance another type or region, or turn its backups on or off."""
    instance = life.pick("instances", number)
    if instance is None:
        return
    if number % 3 == 0:
        instance.type_id = list(TYPES)[number // 3 % 3]
    elif number % 3 == 1:
        instance.region_id = REGIONS[number // 3 % 2]
    else:
        instance.backups_enabled = not instance.backups_enabled
    instance.save(update_fields=["type", "region", "backups_enabled"])
    record(life.account.pk, instances=[instance.pk])
    life.watch(instance)


def delete_instance(life: Life, number: int) -> None:
    """Request the deletion of an instance, from which on it is free. Odd ones are gone at once."""
    instance = life.pick("instances", number)
    if instance is None:
        return
    life.rows["instances"].remove(instance)
    parts = parts_of(instance)
    if number % 2:
        Instance.objects.filter(pk=instance.pk).delete()
    else:
        Instance.objects.filter(pk=instance.pk).update(status=Instance.Status.DELETING)
    record(life.account.pk, **parts)
    life.gone(("compute", instance.pk), ("compute_backups", instance.pk))


def create_volume(life: Life, number: int) -> None:
    made = VolumeFactory(account=life.account, region_id=REGIONS[number % 2], size=10 + number)
    record(life.account.pk, volumes=[made.pk])
    life.rows.setdefault("volumes", []).append(made)
    life.present["volume", made.pk] = (made.region_id, "", Decimal(made.size), PRICES["volume"])


def enlarge_volume(life: Life, number: int) -> None:
    volume = life.pick("volumes", number)
    if volume is not None:
        volume.size += number
        volume.save(update_fields=["size"])
        record(life.account.pk, volumes=[volume.pk])
        life.present["volume", volume.pk] = (volume.region_id, "", Decimal(volume.size), PRICES["volume"])


def delete_volume(life: Life, number: int) -> None:
    volume = life.pick("volumes", number)
    if volume is not None:
        life.rows["volumes"].remove(volume)
        key = volume.pk
        volume.delete()
        record(life.account.pk, volumes=[key])
        life.gone(("volume", key))


def begin_image(life: Life, number: int) -> None:
    """Begin an image of unknown size. It gets its size, or it cannot be made."""
    life.next_image += 1
    key = life.next_image
    made = ImageFactory(id=f"private/{key}", number=key, account=life.account, is_public=False, size=0)
    record(life.account.pk, images=[made.number])
    life.rows.setdefault("images", []).append(made)
    life.present["image", made.number] = ("", "", Decimal(0), PRICES["image"])


def end_image(life: Life, number: int) -> None:
    """Give an image its size. A failed one, or one that has a size already, is deleted."""
    image = life.pick("images", number)
    if image is None:
        return
    if image.size == 0 and number % 3:
        image.size = 512 * number
        image.save(update_fields=["size"])
        record(life.account.pk, images=[image.number])
        quantity = Decimal(image.size) / 1024
        life.present["image", image.number] = ("", "", quantity.quantize(Decimal("0.0001")), PRICES["image"])
        return
    life.rows["images"].remove(image)
    image.delete()
    record(life.account.pk, images=[image.number], failed=image.size == 0)
    life.gone(("image", image.number))
    if image.size == 0:
        life.samples = {line: taken for line, taken in life.samples.items() if line[1:3] != ("image", image.number)}


def create_balancer(life: Life, number: int) -> None:
    made = NodeBalancerFactory(account=life.account, region_id=REGIONS[number % 2])
    record(life.account.pk, nodebalancers=[made.pk])
    life.rows.setdefault("balancers", []).append(made)
    life.present["nodebalancer", made.pk] = (made.region_id, "", Decimal(1), PRICES["nodebalancer"])


def delete_balancer(life: Life, number: int) -> None:
    balancer = life.pick("balancers", number)
    if balancer is not None:
        life.rows["balancers"].remove(balancer)
        key = balancer.pk
        balancer.delete()
        record(life.account.pk, nodebalancers=[key])
        life.gone(("nodebalancer", key))


ACTIONS: tuple[Callable[[Life, int], None], ...] = (
    create_instance, change_instance, change_instance, delete_instance, create_volume, enlarge_volume,
    delete_volume, begin_image, end_image, create_balancer, delete_balancer,
)  # fmt: skip
"""The actions. Each takes a number that selects the resource and the change."""
STEPS = st.lists(
    st.tuples(st.integers(0, 300), st.sampled_from(ACTIONS), st.integers(0, 60)), min_size=15, max_size=30
)
"""The minutes before each action, the action and its number."""


def expected(life: Life, since: int, until: int) -> dict[tuple[Any, ...], tuple[Decimal, Decimal, Decimal]]:
    """Return hours, quantity-hours and amount by line, from the samples of minutes between two times."""
    found = {}
    for (month, kind, key, region, plan, price), samples in life.samples.items():
        taken = [quantity for minute, quantity in samples if since <= minute < until]
        hours = rounded(Fraction(len(taken), 60), 6)
        used = rounded(Fraction(sum(taken)) / 60, 6)
        if used:
            hourly, monthly = (None if each is None else Fraction(each) for each in price)
            cost = Fraction(used) * hourly
            if monthly is not None:
                cost = min(cost, monthly * Fraction(used) / Fraction(hours))
            prices = (Decimal(price[0]), price[1] and Decimal(price[1]))
            found[month, kind, key, region, plan, *prices] = (hours, used, rounded(cost, 4))
    return found


def rounded(value: Fraction, places: int) -> Decimal:
    """Round half up."""
    with localcontext() as context:
        context.prec = 60
        scaled = Decimal(int(value * 10**places * 2 + 1) // 2)
        return (scaled / 10**places).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def reported(account: Account, since: int, until: int) -> dict[tuple[Any, ...], tuple[Decimal, Decimal, Decimal]]:
    return {
        (each.month, each.kind, each.resource, each.region, each.type, each.price_hourly, each.price_monthly): (
            each.hours, each.quantity_hours, each.amount,
        )
        for each in lines(account.pk, at(since), at(until))
    }  # fmt: skip


@pytest.fixture
def _catalogue(db) -> None:
    for region in REGIONS:
        RegionFactory(id=region)
    for name, (hourly, monthly) in TYPES.items():
        InstanceTypeFactory(
            id=name, price_hourly=float(hourly), price_monthly=float(monthly),
            backup_price_hourly=float(BACKUPS[0]), backup_price_monthly=float(BACKUPS[1]),
        )  # fmt: skip
    for kind, (hourly, monthly) in PRICES.items():
        ResourcePrice.objects.create(pk=kind, hourly=hourly, monthly=monthly)


@pytest.mark.usefixtures("_catalogue")
def test_intervals_cost_as_much_as_samples_of_each_minute(monkeypatch):
    images = iter(range(1000, 1_000_000, 1000))

    # Shrinking a life takes minutes.
    @settings(
        max_examples=10,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=[Phase.generate],
    )
    @given(STEPS, st.integers(0, MINUTES), st.integers(0, MINUTES))
    def live(steps, one, other):
        life = Life(AccountFactory(), next(images))
        times = accumulate(gap for gap, *_ in steps)
        due = deque((time, *each) for time, (_, *each) in zip(times, steps, strict=True))
        for minute in range(MINUTES):
            while due and due[0][0] == minute:
                _, action, number = due.popleft()
                monkeypatch.setattr(clock, "now", partial(at, minute))
                action(life, number)
            life.sample(minute)
        monkeypatch.setattr(clock, "now", partial(at, MINUTES))
        for since, until in ((0, MINUTES), (min(one, other), max(one, other))):
            wanted = expected(life, since, until)
            assert reported(life.account, since, until) == wanted
            total = sum((amount for *_, amount in wanted.values()), Decimal(0))
            assert {summary(life.account.pk, at(since), at(until), each).total for each in GROUPINGS} == {total}

    live()
