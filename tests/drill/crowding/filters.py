"""Filters that the database takes long to evaluate."""

import json
from contextlib import AbstractContextManager

from tests.drill.crowding.attacker import Attacker
from tests.drill.crowding.load import api

PAUSE_SECONDS = 0.5
CONDITIONS = 500


def contains(attacker: Attacker) -> AbstractContextManager[None]:
    """Send two filters a second, each with 500 `+contains` that match no record of a large domain."""
    pk = attacker.add_zone()

    def get(number: int) -> bytes:
        conditions = [{"target": {"+contains": f"none-{number}-{each}"}} for each in range(CONDITIONS)]
        return api(attacker.token, "GET", f"/domains/{pk}/records", X_Filter=json.dumps({"+or": conditions}))

    return attacker.sending([get(number) for number in range(attacker.form.filters)], PAUSE_SECONDS)
