"""Examples of requests and answers for the OpenAPI document. Tests write them, out of what is really answered."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("examples.json")


@cache
def examples() -> dict[str, dict[str, Any]]:
    """By operation (``POST /v4/volumes``): a `request` and a `response`, each where there is JSON."""
    return json.loads(FILE.read_text())
