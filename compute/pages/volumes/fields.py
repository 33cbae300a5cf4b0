"""Fields and texts that several forms of volumes share."""

from typing import Any

from compute.models import Config, Instance, UsageKind
from compute.services.usage.metering import FREE, prices
from compute.services.volumes.volumes import MAX_SIZE, MIN_SIZE
from config.display.quantities import price
from config.pages.forms import ChoiceField, FlagField, NumberField, TextField

DEFAULT_SIZE = 20
UNMOUNT = "Unmount the volume in the instance first. The volume keeps its data."
IS_DETACHED = "The volume {} is being detached."
IS_ATTACHED = "The volume {} is being attached."
IS_CREATED = "The volume {} is being created."


def label_field() -> TextField:
    return TextField(label="Label", help_text="A letter, then letters, digits, - and _. At most 32 characters.")


def size_field() -> NumberField:
    return NumberField(label="Size", help_text=f"GB, {MIN_SIZE} to {MAX_SIZE}.")


def profile_field() -> ChoiceField:
    return ChoiceField(label="Configuration profile", number=True)


def stays_field() -> FlagField:
    return FlagField(
        label="Keep the volume attached after the next boot",
        help_text="Otherwise the volume is added to no profile, and the instance must be running.",
    )


def profiles_of(instance: Instance) -> list[tuple[Any, str]]:
    """The profiles of the instance that a volume can be added to, as choices. One query."""
    rows = Config.objects.filter(instance=instance, rescue=False).order_by("pk").values_list("pk", "label")
    return [("", "the one that boots next"), *rows]


def price_of(size: Any) -> str:
    """The price of a size in GB, such as ``$2 a month, $0.003 an hour``; empty without one. One query."""
    hourly, monthly = prices().get(UsageKind.VOLUME, FREE)
    if not hourly or not isinstance(size, int) or not MIN_SIZE <= size <= MAX_SIZE:
        return ""
    by_hour = f"{price(float(hourly * size))} an hour"
    return by_hour if monthly is None else f"{price(float(monthly * size))} a month, {by_hour}"
