"""The four loads, as endless turns over the seeded accounts, and single requests for the checks."""

import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from config import word
from tests.bench.data import IMAGE, REGIONS, ROOT_PASSWORD, Sizes, token
from tests.bench.errors import BenchError
from tests.bench.load import request

PATH = word.on_wire("/compute/instances")


def lists(sizes: Sizes) -> Iterator[bytes]:
    """Yield requests of page 1 of each account in turn."""
    return itertools.cycle([request("GET", PATH, token(n)) for n in range(1, sizes.accounts + 1)])


def retrieves(sizes: Sizes) -> Iterator[bytes]:
    """Yield requests of one instance of each account in turn, another one in each turn."""
    picked = range(1, sizes.instances + 1, 7)
    return itertools.cycle([request("GET", f"{PATH}/{n}", token(owner(n, sizes))) for n in picked])


def filtered_lists(sizes: Sizes) -> Iterator[bytes]:
    """Yield requests of page 1 of a filtered list of each account in turn."""
    accounts = range(1, sizes.accounts + 1)
    return itertools.cycle([request("GET", PATH, token(n), x_filter=filter_of(n)) for n in accounts])


def creates(sizes: Sizes) -> Iterator[bytes]:
    """Yield creates of an instance from an image, for each account in turn."""
    return itertools.cycle([request("POST", PATH, token(n), create_body(n)) for n in range(1, sizes.accounts + 1)])


def filter_of(account: int) -> str:
    """Return the ``X-Filter`` of an account. Of 100 instances in one region it finds about 70."""
    return json.dumps(
        {
            "region": REGIONS[account % len(REGIONS)],
            "+or": [{"label": {"+contains": "web-1"}}, {"tags": {"+or": ["web", "production"]}}],
            "+order_by": "label",
            "+order": "desc",
        }
    )


def create_body(account: int) -> bytes:
    body = {
        "region": REGIONS[account % len(REGIONS)],
        "type": "g6-nanode-1",
        "image": word.on_wire(IMAGE),
        "root_pass": ROOT_PASSWORD,
    }
    return json.dumps(body).encode()


def owner(instance: int, sizes: Sizes) -> int:
    """Return the account of instance number `instance`."""
    return (instance - 1) % sizes.accounts + 1


def ask(port: int, path: str, account: int, body: bytes | None = None, x_filter: str = "") -> Any:
    """Send one request, a POST if there is a body, and return the parsed answer. Raises BenchError for any
    status but 200."""
    headers = {"Authorization": f"Bearer {token(account)}", "Content-Type": "application/json"}
    if x_filter:
        headers["X-Filter"] = x_filter
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/v4{path}", body, headers)
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        what = f"{asked.get_method()} {path} answered {error.code}"
        raise BenchError(f"{what}: {error.read(2000).decode(errors='replace')}") from error
