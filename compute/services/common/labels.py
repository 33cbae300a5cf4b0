"""Labels of new rows: the requested one, or by default ``compute7`` for the instance 7."""

from itertools import count
from typing import Any

from django.db import IntegrityError

from compute.models import Instance, NodeBalancer
from config import word
from config.db.rows import violated_constraint

STEMS: dict[type[Any], str] = {Instance: word.on_wire("compute"), NodeBalancer: "balancer"}
CONSTRAINTS: dict[type[Any], str] = {Instance: "instance_label", NodeBalancer: "nodebalancer_label"}
MAX_ATTEMPTS = 5
"""The most attempts of a create. More than two happen only if other requests take labels at the same moment."""


class NewLabel:
    """The label of a row that is about to be created. A create inserts the row in a transaction of its own:

        label = NewLabel(Instance, account_id, spec.label)
        while True:
            try:
                return _create(…, label)  # calls label.of(key)
            except IntegrityError as error:
                label.retry_after(error)

    The default is rarely taken, so no statement looks it up. If the constraint on labels refuses it, the create
    runs again with a new key and the first free one of ``compute8``, ``compute8-2``, ``compute8-3`` …
    """

    def __init__(self, model: type[Instance] | type[NodeBalancer], account_id: int, wished: str | None):
        self._model, self._account_id, self._wished = model, account_id, wished
        self._attempt = 1

    def of(self, key: int) -> str:
        """Return the label of the row with this key."""
        if self._wished:
            return self._wished
        default = f"{STEMS[self._model]}{key}"
        return default if self._attempt == 1 else _free(self._model, self._account_id, default)

    def retry_after(self, error: IntegrityError) -> None:
        """Count a failed attempt. Raise `error` again if the next attempt cannot succeed.

        This is so for the error of another constraint, and for a label that the request has chosen.
        """
        if self._wished or self._attempt == MAX_ATTEMPTS or violated_constraint(error) != CONSTRAINTS[self._model]:
            raise error
        self._attempt += 1


def _free(model: type[Instance] | type[NodeBalancer], account_id: int, wanted: str) -> str:
    """Return `wanted`, or else the first of ``wanted-2``, ``wanted-3`` … that is no label of the account."""
    rows = model._default_manager.filter(account_id=account_id, label__startswith=wanted)
    taken = set(rows.values_list("label", flat=True))
    return next(label for number in count(1) if (label := _numbered(wanted, number)) not in taken)


def _numbered(wanted: str, number: int) -> str:
    return wanted if number == 1 else f"{wanted}-{number}"
