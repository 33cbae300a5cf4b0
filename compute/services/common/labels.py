"""Default labels: ``compute7`` for the instance 7, or one like it where the account uses that label already."""

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from django.db import IntegrityError

from compute.models import Instance, NodeBalancer
from config.db.rows import violated_constraint

Labelled = TypeVar("Labelled", Instance, NodeBalancer)
LabelOf = Callable[[int], str]
"""The label of a new row, by its key."""

STEMS: dict[type[Any], str] = {Instance: "compute", NodeBalancer: "balancer"}
CONSTRAINTS: dict[type[Any], str] = {Instance: "instance_label", NodeBalancer: "nodebalancer_label"}
TRIES = 5
"""Runs of `create`, at most: more than two only where other requests take labels at the same moment."""


def create_labelled(
    model: type[Labelled], account_id: int, label: str | None, create: Callable[[LabelOf], Labelled]
) -> Labelled:
    """The row that `create`, a transaction of its own, makes with the `label` or, without one, with the default.

    The default is unlikely to be taken, so nothing is looked up for it: where the constraint on labels refuses it,
    `create` runs again, with a new key and the first of ``compute8``, ``compute8-2``, ``compute8-3`` … that is
    free. A `label` that is taken stays refused, by the same constraint.
    """
    if label:
        return create(lambda key: label)

    def default(key: int) -> str:
        return f"{STEMS[model]}{key}"

    def free(key: int) -> str:
        return _free(model, account_id, default(key))

    for label_of in (default, *[free] * (TRIES - 2)):
        try:
            return create(label_of)
        except IntegrityError as error:
            if violated_constraint(error) != CONSTRAINTS[model]:
                raise
    return create(free)


def _free(model: type[Labelled], account_id: int, wanted: str) -> str:
    """`wanted`, or else the first of ``wanted-2``, ``wanted-3`` … that no row of the account has as its label."""
    rows = model._default_manager.filter(account_id=account_id, label__startswith=wanted)
    taken = set(rows.values_list("label", flat=True))
    return next(label for number in count(1) if (label := _numbered(wanted, number)) not in taken)


def _numbered(wanted: str, number: int) -> str:
    return wanted if number == 1 else f"{wanted}-{number}"
