"""The whole life of a real machine over HTTP, on ``make serve HYPERVISOR=qemu``."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from compute.drivers.qemu.agent.machines import machine_dirs
from compute.drivers.qemu.agent.store import Store
from config.server.consoles import BY_MACHINE
from tests.compute.drivers.qemu.consoles import Console
from tests.compute.drivers.qemu.disk_files import needs
from tests.files import below
from tests.system.console_page import ConsolePage
from tests.system.server import Server
from tests.waiting import wait_for

pytestmark = [pytest.mark.system, pytest.mark.guest]

FIRST, SECOND = "Tall-ships.sail-at-9", "Low-tides.turn-at-6"
UNFINISHED = {"scheduled", "started"}


class Customer:
    """A person with the token that the banner prints."""

    def __init__(self, server: Server):
        self._address = f"http://127.0.0.1:{server.port}/v4"
        self._headers = {"Authorization": f"Bearer {server.tokens()[0]}"}

    def ask(self, method: str, path: str, **body: Any) -> Any:
        answer = requests.request(method, self._address + path, headers=self._headers, json=body or None)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def do(self, path: str, status: str, method: str = "POST", **body: Any) -> Any:
        """Send a request, and wait until its work is done and the instance has this status."""
        found = self.ask(method, path, **body)
        wait_for(lambda: self.status() == status and not self.unfinished())
        return found

    def status(self) -> str:
        [instance] = self.ask("GET", "/compute/instances")["data"]
        return instance["status"]

    def unfinished(self) -> list[dict[str, Any]]:
        events = self.ask("GET", "/account/events")["data"]
        failed = [event for event in events if event["status"] == "failed"]
        assert not failed, failed
        return [event for event in events if event["status"] in UNFINISHED]

    def count(self, action: str) -> int:
        return sum(event["action"] == action for event in self.ask("GET", "/account/events")["data"])


@pytest.fixture
def state() -> Iterator[Path]:
    """A folder with a short name. Names of sockets have at most 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="sk-"))
    yield folder
    for directory in (folder / "hypervisor" / "machines").glob("*"):
        machine_dirs.cut(directory, timeout=120)
    shutil.rmtree(folder)


@pytest.fixture
def server(state) -> Iterator[Server]:
    needs("qemu-system-x86_64", "e2fsck", "mke2fs", "debugfs", "resize2fs", "apt-get", "dpkg-deb")
    plenty = dict.fromkeys(("RATE_LIMIT_OVERALL", "RATE_LIMIT_ENDPOINT"), "1000000/60")
    server = Server(state, HYPERVISOR="qemu", WATCHDOG_EVERY="1", **plenty)
    yield server
    server.kill()


def log_in(state: Path, instance: int, password: str) -> Console:
    console = Console(state / "hypervisor" / "machines" / f"skerry-{instance}" / "console")
    console.wake()
    console.log_in(password)
    return console


def boot_of(console: Console) -> str:
    return console.run("cat /proc/sys/kernel/random/boot_id")


def test_a_machine_lives_from_its_create_to_its_delete(server, state):
    shown = server.ready()
    assert '"region": "local", "image": "compute/tiny"' in shown
    server.read_on()
    customer = Customer(server)
    made = customer.do(
        "/compute/instances", "running",
        type="g6-nanode-1", region="local", image="compute/tiny", root_pass=FIRST, label="web-1",
        backups_enabled=True,
    )  # fmt: skip
    number, path = made["id"], f"/compute/instances/{made['id']}"

    page = ConsolePage(server, number)
    with page.opened() as console:
        console.wake()
        console.log_in(FIRST)
        assert console.run("hostname") == "web-1"
        assert made["ipv4"][0] in console.run("ip addr show eth0")
        boots = [boot_of(console)]
        customer.do(f"{path}/reboot", "running")
        console.gone()
    assert page.messages == [{"state": "open"}, {"ended": BY_MACHINE, "again": True}]
    console = log_in(state, number, FIRST)
    boots.append(boot_of(console))
    console.run("echo first > /root/kept; sync")

    snapshot = customer.do(f"{path}/backups", "running", label="before")
    assert console.run("cat /root/kept") == "first", "it went on while its disks were saved"
    console.run("echo second > /root/kept; sync")
    console.type("poweroff\n")
    wait_for(lambda: customer.count("lassie_reboot") == 1)
    console.close()
    wait_for(lambda: customer.status() == "running" and not customer.unfinished())
    console = log_in(state, number, FIRST)
    boots.append(boot_of(console))
    assert len(set(boots)) == 3, "its watchdog booted it"
    console.close()

    customer.do(f"{path}/shutdown", "offline")
    disk = max(customer.ask("GET", f"{path}/disks")["data"], key=lambda each: each["size"])
    for size in (4000, 8000):
        customer.do(f"{path}/disks/{disk['id']}/resize", "offline", size=size)
    customer.do(f"{path}/password", "offline", root_pass=SECOND)
    volume = customer.ask("POST", "/volumes", label="data", size=10, region="local")
    wait_for(lambda: not customer.unfinished())
    customer.do(f"{path}/boot", "running")
    console = refused(state, number, FIRST)
    console.log_in(SECOND)
    assert 7000 < int(console.run("df -m / | tail -1").split()[1]) < 8000
    customer.do(f"/volumes/{volume['id']}/attach", "running", compute_id=number)
    wait_for(lambda: "data" in console.run("ls /dev/disk/by-id"))
    assert "mounted" in console.run(
        "mke2fs /dev/disk/by-id/scsi-0Skerry_Volume_data > /dev/null 2>&1; "
        "mount /dev/disk/by-id/scsi-0Skerry_Volume_data /mnt && touch /mnt/here && umount /mnt && echo mounted"
    )
    console.close()
    customer.do(f"/volumes/{volume['id']}/detach", "running")

    customer.do(f"{path}/backups/{snapshot['id']}/restore", "offline", compute_id=number, overwrite=True)
    customer.do(f"{path}/boot", "running")
    console = log_in(state, number, FIRST)
    assert console.run("cat /root/kept") == "first"
    console.close()

    customer.ask("DELETE", path)
    customer.ask("DELETE", f"/volumes/{volume['id']}")
    wait_for(lambda: left(state) == [])
    assert server.stop() == 0


def refused(state: Path, instance: int, password: str) -> Console:
    """Return a console that refused a password."""
    console = Console(state / "hypervisor" / "machines" / f"skerry-{instance}" / "console")
    console.wake()
    console.expect(b"login: ")
    console.type("root\n")
    console.expect(b"assword: ")
    console.type(f"{password}\n")
    console.expect(b"incorrect")
    return console


def left(state: Path) -> list[str]:
    """Return the files of machines and volumes that remain on the host and in the archives."""
    store = Store(state / "hypervisor", state / "hypervisor" / "shared")
    folders = [store.root / each for each in ("machines", "incoming", "outgoing", "tasks")]
    folders += [store.shared / "volumes", store.shared / "tasks", state / "archives"]
    return [str(path.relative_to(state)) for path in below(folders)]
