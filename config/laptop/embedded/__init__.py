"""PostgreSQL and a Redis-compatible server out of two wheels, for a machine that has neither.

`addresses` says where they listen and starts nothing: the settings use it. `services` starts what a
block of code needs and stops it when its last user has gone (docs/decisions/embedded-services.md).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from config.laptop.embedded.errors import EmbeddedError
from config.laptop.embedded.postgres import Postgres
from config.laptop.embedded.shared import Shared
from config.laptop.embedded.valkey import Valkey

__all__ = ["EmbeddedError", "Postgres", "Shared", "Valkey", "services"]


@contextmanager
def services(
    state: Path, *, postgres: bool = False, valkey: bool = False, durable: bool = True
) -> Iterator[list[Shared]]:
    """Run the asked services of the folder `state` for the length of the block; yields them.

    Safe in any number of processes at once: the first starts a service, the last stops it.
    With `durable` false PostgreSQL does not wait for the disk (tests). Raises `EmbeddedError`.
    """
    with ExitStack() as stack:
        wanted: list[Shared] = []
        if postgres:
            wanted.append(Shared(Postgres(state, durable=durable)))
        if valkey:
            wanted.append(Shared(Valkey(state)))
        yield [stack.enter_context(service) for service in wanted]
