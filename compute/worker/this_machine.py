"""Making this machine a host of real machines, as ``make serve HYPERVISOR=qemu`` does."""

from pathlib import Path

from compute.drivers.base import DriverError
from compute.drivers.qemu import this_machine
from compute.services.hosts.this_machine import ensure
from compute.worker.hosts import Checked, NotReady, check

DRIVER = "qemu"


def check_programs() -> None:
    """Raise `NotReady` if this machine lacks programs: the text has the one line that installs them."""
    try:
        this_machine.check()
    except DriverError as error:
        raise NotReady(str(error)) from error


def add_this_machine(directory: Path) -> Checked:
    """Make this machine the host of the region ``local``, with its machines in `directory`; may be repeated.

    The first call takes seconds, or up to half a minute if the machine's ``/dev/kvm`` does not work. Raises
    `NotReady` if machines cannot run here, and a `DomainError` if no network is free.
    """
    shared = directory / "shared"
    try:
        this_machine.prepare(directory, shared)
    except DriverError as error:
        raise NotReady(str(error)) from error
    return check(ensure(DRIVER, str(directory), str(shared)))
