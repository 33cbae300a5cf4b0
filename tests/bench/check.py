"""Check that the two servers do the same work. A ratio between different answers would mean nothing."""

from collections.abc import Callable
from typing import Any

from config import word
from tests.bench.data import Sizes
from tests.bench.errors import BenchError
from tests.bench.traffic import PATH, create_body, filter_of, owner

Ask = Callable[..., Any]
"""A function of a path under /v4, an account's number, and a body to POST or an `x_filter`. It returns the
parsed answer."""

SAMPLE = 20

# Fields whose values are random in each instance.
DRAWN = ("id", "label", "ipv4", "ipv6", "host_uuid", "created", "updated")


def same_answers(ours: Ask, bare: Ask, sizes: Sizes) -> None:
    """Compare a sample of lists, filtered lists and retrieves, and one create, of the two servers.

    Raises BenchError with the first difference. The creates may differ only in the fields of DRAWN. A filter
    that finds all instances or none is an error too: equal answers would not show that a server filters.
    """
    bare = worded(bare)
    for account in range(1, sizes.accounts + 1, max(1, sizes.accounts // SAMPLE)):
        listed, filtered = ours(PATH, account), ours(PATH, account, x_filter=filter_of(account))
        compare(listed, bare(PATH, account), f"the list of account {account}")
        others = bare(PATH, account, x_filter=filter_of(account))
        compare(filtered, others, f"the filtered list of account {account}")
        if not 0 < filtered["results"] < listed["results"]:
            raise BenchError(f"the filter finds {filtered['results']} of {listed['results']} instances")
    for number in range(1, sizes.instances + 1, max(1, sizes.instances // SAMPLE)):
        path, account = f"{PATH}/{number}", owner(number, sizes)
        compare(ours(path, account), bare(path, account), path)
    one, other = (ask(PATH, 1, create_body(1)) for ask in (ours, bare))
    compare(undrawn(one), undrawn(other), "the answer to a create")


def worded(ask: Ask) -> Ask:
    """Return `ask` with the word of the installation in the answers, which the bare server does not translate."""

    def answer(*arguments: Any, **more: Any) -> Any:
        return word.WORD.renamed(ask(*arguments, **more))

    return answer


def undrawn(instance: dict[str, Any]) -> dict[str, Any]:
    """Return the instance with only the types of the fields in DRAWN."""
    return {key: type(value).__name__ if key in DRAWN else value for key, value in instance.items()}


def compare(ours: Any, bare: Any, where: str) -> None:
    """Raise BenchError at the first place where the two parsed answers differ."""
    if isinstance(ours, dict) and isinstance(bare, dict) and ours.keys() == bare.keys():
        for key in ours:
            compare(ours[key], bare[key], f"{where}: {key}")
    elif isinstance(ours, list) and isinstance(bare, list) and len(ours) == len(bare):
        for index, pair in enumerate(zip(ours, bare, strict=True)):
            compare(pair[0], pair[1], f"{where}[{index}]")
    elif ours != bare:
        raise BenchError(f"the answers differ in {where}: ours {ours!r}, bare {bare!r}")
