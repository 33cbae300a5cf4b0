"""Hosts, guests and the world between them as network namespaces, on 198.18.0.0/15 alone.

Code in a namespace runs in a thread of the test's own process. A guest is a network stack of Linux behind the
interface that a host made for its machine. A thread passes packets from one to the other, as QEMU does.
"""

import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compute.drivers.boot import BootSpec
from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.machines import lifecycle
from compute.drivers.qemu.agent.machines.command_line import Machine
from compute.drivers.qemu.agent.machines.lifecycle import _boot_of
from compute.drivers.qemu.agent.machines.machine_dirs import described
from compute.drivers.qemu.agent.networks import machine_networks
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.disk_files import needs
from tests.compute.drivers.qemu.hosts import boot
from tests.waiting import wait_for

SECONDS = 60
CROWDED = 300
"""Seconds to wait for events that take no time, on a busy machine."""
GATEWAY, INTERNET = "198.18.0.1", "198.19.0.1"
GATEWAY6, INTERNET6 = "fd00:18::1", "fd00:19::1"
LIBC, CLONE_NEWNET = ctypes.CDLL(None), 0x40000000
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000


made: list[str] = []
"""The existing namespaces."""


class Namespace:
    """A network namespace, and a thread that runs in it."""

    def __init__(self, name: str):
        self.name = f"skt{os.getpid()}-{name}"
        run("ip", "netns", "add", self.name)
        made.append(self.name)
        self.thread = ThreadPoolExecutor(1, initializer=self._enter)
        self.ip("link", "set", "lo", "up")

    def _enter(self) -> None:
        descriptor = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        assert LIBC.setns(descriptor, CLONE_NEWNET) == 0, "no way into the namespace"
        os.close(descriptor)

    def do(self, call: Callable[..., Any], *values: Any, **named: Any) -> Any:
        """Call a function in the namespace."""
        return self.thread.submit(call, *values, **named).result(CROWDED)

    def run(self, *command: str) -> str:
        return self.do(run, *command)

    def start(self, *command: str, **named: Any) -> "subprocess.Popen[Any]":
        """Start a process in the namespace. Its children run there too."""
        return self.do(subprocess.Popen, command, **named)

    def ip(self, *words: str) -> str:
        return self.run("ip", *words)

    def udp(self, address: str, port: int = 0) -> socket.socket:
        """Return a socket bound to an address, whether the namespace has that address or not."""
        return self.do(_udp, address, port)

    def reaches(self, address: str, port: int, patience: float = 1.0) -> bool:
        """Tell whether TCP connects from here."""
        return self.do(_connects, address, port, patience)

    def pings(self, address: str) -> bool:
        """Tell whether an address answers an echo request from here."""
        return self.do(_pings, address)

    def listen(self, port: int) -> socket.socket:
        """Listen for TCP connections, on all addresses."""
        return self.do(socket.create_server, ("", port))

    def listen6(self, port: int) -> socket.socket:
        """Listen for TCP connections by IPv6."""
        return self.do(socket.create_server, ("", port), family=socket.AF_INET6)

    def traces(self) -> dict[str, list[str]]:
        """Return all objects of the platform in the kernel, by kind."""
        names = [line.split(": ")[1] for line in self.ip("-o", "link").splitlines()]
        routes = [*self.ip("route").splitlines(), *self.ip("-6", "route").splitlines()]
        proxies = [line for six in ([], ["-6"]) for line in self.ip(*six, "neigh", "show", "proxy").splitlines()]
        return {
            "links": sorted(each for each in names if each.startswith("sk-")),
            "routes": sorted(each for each in routes if " sk-" in each),
            "proxies": sorted(proxies),
            "tables": sorted(self.run("nft", "list", "tables").splitlines()),
        }

    def kill(self) -> None:
        """Kill all processes that were started here, and their children."""
        wait_for(self._are_dead, CROWDED)

    def _are_dead(self) -> bool:
        # the next pass finds a process that was forked in this moment
        pids = run("ip", "netns", "pids", self.name).split()
        for pid in map(int, pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    def end(self) -> None:
        self.thread.shutdown()
        run("ip", "netns", "del", self.name)
        made.remove(self.name)


class Guest(Namespace):
    """A network namespace behind interfaces of a host."""

    def __init__(self, host: "Host", machine: str, written: list[dict[str, Any]], taps: list[str]):
        super().__init__(machine)
        self.stop, self.stopped = os.pipe()
        self.wires = []
        for network, tap in zip(written, taps, strict=True):
            name = network["name"]
            pair = host.do(open_tap, tap), self.do(open_tap, name)
            self.ip("link", "set", name, "address", network["mac"], "up")
            self.ip("link", "set", name, "mtu", "1400")
            for address in network["addresses"]:
                self.ip("addr", "add", address, "dev", name, *(["nodad"] if ":" in address else []))
            for gateway in network["gateways"]:
                family = "-6" if ":" in gateway else "-4"
                self.ip(family, "route", "add", gateway, "dev", name)
                self.ip(family, "route", "add", "default", "via", gateway, "dev", name)
            wire = threading.Thread(target=_carry, args=(pair, self.stop))
            wire.start()
            self.wires.append(wire)

    def end(self) -> None:
        os.close(self.stopped)
        for wire in self.wires:
            wire.join(CROWDED)
        os.close(self.stop)
        super().end()


class Host(Namespace):
    """A QEMU host, with an uplink into the world."""

    def __init__(self, world: "World", store: Store, number: int):
        super().__init__(f"h{number}")
        self.store = store
        settings.save(store, Settings(accel="tcg", patience=500.0, networking=True))
        self.address = world.join(self, number)

    def know(self, *others: "Host") -> None:
        self.do(machine_networks.set_peers, self.store, self.address, [each.address for each in others])

    def define(self, number: int, **changes: Any) -> dict[str, Any]:
        """Define a machine. Returns the arguments that boot it."""
        machine = f"skerry-{number}"
        mac = f"f2:3c:00:00:00:{number:02x}"
        self.do(lifecycle.define, self.store, machine, memory=32, vcpus=1, mac=mac)
        return boot(machine, **changes)

    def plug(self, number: int, **changes: Any) -> Guest:
        """Return a guest on the interfaces that the host makes for a machine before it starts."""
        what, how = self.about(number, **changes)
        self.do(machine_networks.make, self.store, what, how)
        written = machine_networks.in_guest(what, how, settings.load(self.store))
        taps = [f"sk-{number}{f'-{at}' if each.vlan else ''}" for at, each in enumerate(_nics(what, how))]
        return Guest(self, what.name, written, taps)

    def about(self, number: int, **changes: Any) -> tuple[Machine, BootSpec]:
        """Return a machine, and the specification of its boot."""
        how = _boot_of(self.define(number, **changes))
        return described(self.store.machine(f"skerry-{number}")), how

    def mac(self, interface: str) -> str:
        return self.ip("-o", "link", "show", interface).split("link/ether ")[1].split()[0]

    def counted(self, machine: str, counter: str) -> int:
        """Return the packets of a machine that reached a counter of its table."""
        output = self.run("nft", "list", "counter", "netdev", machine, counter)
        return int(output.split("packets ")[1].split()[0])


class World(Namespace):
    """The hosts' router, and the network behind it."""

    def __init__(self) -> None:
        super().__init__("world")
        self.ip("link", "add", "switch", "type", "bridge")
        self.ip("addr", "add", f"{GATEWAY}/24", "dev", "switch")
        self.ip("-6", "addr", "add", f"{GATEWAY6}/64", "dev", "switch", "nodad")
        self.ip("addr", "add", f"{INTERNET}/32", "dev", "lo")
        self.ip("-6", "addr", "add", f"{INTERNET6}/128", "dev", "lo")
        self.ip("link", "set", "switch", "up")

    def join(self, namespace: Namespace, number: int) -> str:
        """Give a namespace an uplink into the world. Returns its address there."""
        port, address = f"h{number}", f"198.18.0.{200 + number}"
        pair = ("type", "veth", "peer", "up0", "netns", namespace.name)
        run("ip", "link", "add", port, "netns", self.name, *pair)
        self.ip("link", "set", port, "master", "switch", "up")
        namespace.ip("addr", "add", f"{address}/24", "dev", "up0")
        namespace.ip("-6", "addr", "add", f"fd00:18::{200 + number}/64", "dev", "up0", "nodad")
        namespace.ip("link", "set", "up0", "up")
        namespace.ip("route", "add", "default", "via", GATEWAY)
        namespace.ip("-6", "route", "add", "default", "via", GATEWAY6)
        return address

    def cut_off(self, number: int) -> None:
        """Remove the uplink of a namespace. Its peers get no notice."""
        self.ip("link", "del", f"h{number}")


def needs_namespaces() -> None:
    """Skip the test if namespaces cannot be created, or hosts cannot run in them."""
    needs("ip", "bridge", "nft")
    if os.geteuid() or not Path("/dev/net/tun").exists():
        pytest.skip("needs root, for network namespaces, and /dev/net/tun")


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=CROWDED)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def end_all() -> None:
    """Delete the remaining namespaces."""
    while made:
        run("ip", "netns", "del", made.pop())


def open_tap(name: str) -> int:
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TAP | IFF_NO_PI))
    return descriptor


def _nics(machine: Any, how: Any) -> Any:
    return machine_networks.nics(machine.name, machine.mac, how.interfaces)


def _carry(pair: tuple[int, int], stop: int) -> None:
    left, right = pair
    other = {left: right, right: left}
    while stop not in (ready := select.select([left, right, stop], [], [])[0]):
        for each in ready:
            try:
                os.write(other[each], os.read(each, 65536))
            except OSError:  # an interface that is down, or was deleted, loses the packet
                if stop in select.select([stop], [], [], 0.01)[0]:
                    break
    for each in pair:
        os.close(each)


def _udp(address: str, port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    found.settimeout(SECONDS)
    found.setsockopt(socket.IPPROTO_IPV6 if ":" in address else socket.SOL_IP, 75 if ":" in address else 15, 1)
    found.bind((address, port))
    return found


def _pings(address: str) -> bool:
    six = ":" in address
    protocol = socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW, protocol) as raw:
        raw.settimeout(SECONDS)
        # type, code, checksum (which the kernel writes for IPv6), identifier 1 and number 1
        raw.sendto(bytes.fromhex("8000000000010001" if six else "0800f7fd00010001"), (address, 0))
        try:
            while True:
                answer = raw.recv(1000)
                if answer[0 if six else 20] == (129 if six else 0):
                    return True
        except TimeoutError:
            return False


def _connects(address: str, port: int, patience: float) -> bool:
    try:
        socket.create_connection((address, port), patience).close()
    except OSError:
        return False
    return True
