"""The transports of the driver's calls to a host's agent: in this process, or by ssh."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from compute.drivers.base import Address, Console, DriverError, Options, Refused
from compute.drivers.qemu.agent import errors
from compute.drivers.qemu.agent.serving.calls import call
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.consoles import open_console
from compute.drivers.qemu.ssh import Ssh

NOWHERE = (
    "The location of a host is a directory on this machine, such as /var/lib/skerry, or a directory that ssh "
    "reaches, such as ssh://root@hv1/var/lib/skerry."
)

logger = logging.getLogger(__name__)


class Transport(Protocol):
    def call(self, verb: str, **values: Any) -> Any:
        """Call a verb of the agent, and return the result. Raises `DriverError`."""

    def console(self, machine: str) -> Console:
        """Open the console of a machine that is on. Raises `DriverError`."""

    def is_current(self) -> bool:
        """Tell whether the host has the agent of this release. Raises `DriverError`."""

    def takes_data(self) -> bool:
        """Tell whether the host's agent takes packet filters as data. Raises `DriverError`."""


class Local:
    """The transport to the agent in this process, for the machine that the worker runs on."""

    def __init__(self, location: str, shared: str):
        self.store = Store(Path(location), Path(shared) if shared else None)

    def call(self, verb: str, **values: Any) -> Any:
        with _translated_errors():
            return call(self.store, verb, values)

    def console(self, machine: str) -> Console:
        with _translated_errors():
            return open_console(self.store, machine)

    def is_current(self) -> bool:
        return True

    def takes_data(self) -> bool:
        return True


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise errors of the agent as errors of the driver interface."""
    try:
        yield
    except errors.Failed as error:
        if details := errors.details_of(error):
            logger.warning("%s %s", error, details)
        raise (Refused if isinstance(error, errors.Refused) else DriverError)(str(error)) from error
    except OSError as error:
        raise DriverError(f"The call failed on the host: {error.strerror or type(error).__name__}.") from error


def transport(address: Address, options: Options) -> Transport:
    """Return the transport to a host. Raises `Refused` for an invalid location."""
    if address.location.startswith("ssh:"):
        return Ssh(address, options)
    if not address.location.startswith("/"):
        raise Refused(NOWHERE)
    return Local(address.location, address.shared)
