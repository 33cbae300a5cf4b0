"""Consoles of machines on this machine. A thread for each console copies the data in both directions."""

import socket
import threading
from contextlib import ExitStack, suppress

from compute.drivers.consoles import SocketConsole
from compute.drivers.qemu.agent.machines import console
from compute.drivers.qemu.agent.store import Store


def open_console(store: Store, machine: str) -> SocketConsole:
    """Attach to the console of a machine. Raises the agent's `Failed` if it is off or somebody else is attached."""
    with ExitStack() as stack:
        attached = stack.enter_context(console.attached(store, machine))
        end, other = socket.socketpair()
        stack.enter_context(other)
        thread = threading.Thread(target=_carry, args=(attached, other, stack.pop_all()), daemon=True)
    thread.start()
    return SocketConsole(end)


def _carry(attached: console.Attached, other: socket.socket, stack: ExitStack) -> None:
    # the user of the console may be gone
    with stack, suppress(BrokenPipeError, ConnectionResetError):
        attached.carry(other.fileno(), other.fileno())
