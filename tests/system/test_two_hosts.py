"""Two hosts that the platform reaches by ssh: machines over HTTP, with real packets, a move and a power cut."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compute.drivers.qemu.disk_files import needs
from tests.compute.drivers.qemu.namespaces import World, end_all, needs_namespaces
from tests.compute.drivers.qemu.ssh_hosts import make_key
from tests.compute.drivers.qemu.tiny_guests import tiny_guest
from tests.system.sites import NOTHING, PACE, REGION, Guest, Machine, Platform
from tests.waiting import wait_for

pytestmark = [pytest.mark.system, pytest.mark.guest]

OTHER_PORT = 2222
LISTENS = f"grep -q ':{OTHER_PORT:04X} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6"
"""A command that succeeds in a guest if a process listens on its other port."""
SAYS_SSH = "timeout 20 nc {address} 22 </dev/null | head -c 4 | grep -q SSH-"
"""A command that succeeds in a guest if the ssh server at an address answers."""
EVERYWHERE = {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]}


@pytest.fixture
def state() -> Iterator[Path]:
    """A folder with a short name. Names of sockets have at most 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="sk-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def guest() -> Path:
    """A directory with the tiny guest."""
    needs_namespaces()
    needs("qemu-system-x86_64", "sshd", "ssh", "ssh-keygen", "ssh-keyscan", "unshare", "tar")
    return tiny_guest("make guest").root


@pytest.fixture
def world(guest: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
    try:
        made = World()
        yield made
        made.kill()  # the connections to guests
    finally:
        end_all()


@pytest.fixture
def operator(state: Path) -> Path:
    """The key by which both hosts know their administrator."""
    make_key(state / "operator" / "key")
    return state / "operator" / "key"


@pytest.fixture
def machines(world: World, state: Path, operator: Path) -> Iterator[list[Machine]]:
    (state / "shared" / "volumes").mkdir(parents=True)
    made = [Machine(world, state, number, operator.with_suffix(".pub").read_text().strip()) for number in (1, 2)]
    try:
        for each in made:
            each.switch_on()
        yield made
    finally:
        for each in made:
            each.end()


@pytest.fixture
def platform(world: World, state: Path) -> Iterator[Platform]:
    plenty = dict.fromkeys(("RATE_LIMIT_OVERALL", "RATE_LIMIT_ENDPOINT"), "1000000/60")
    # a slow answer of a host fails no job, and everything is slow here
    made = Platform(world, state, WATCHDOG_EVERY="3", JOB_ATTEMPTS="50", **plenty)
    try:
        yield made
    finally:
        made.end()
        sys.stdout.write(made.server.text[-20_000:])


@pytest.mark.timeout(1800)  # two hosts and two guests on two cores, which other tests use too
def test_machines_of_two_hosts_are_reached_filtered_moved_and_outlive_a_power_cut(
    world, platform, machines, operator, guest, state
):
    platform.ready()
    hv1, hv2 = machines
    platform.remove_made_up_hosts()
    make_key(state / "customer" / "key")
    guests = []
    for machine in machines:
        # the second host is added while the first one's machine boots, which must reach it afterwards
        assert f"{machine.label} takes instances" in platform.add(machine, operator, guest)
        if guests:
            platform.disable(hv1.label)  # so the next one goes to a known host, however slowly hosts answer
        guests.append(deploy(world, platform, state, f"web-{machine.number}"))
    one, two = guests
    platform.until_running(one.id, two.id)
    assert [(each.has(one.id), each.has(two.id)) for each in machines] == [(True, False), (False, True)]
    assert (one.run("hostname"), two.run("hostname")) == ("web-1", "web-2")
    wait_for(lambda: one.pings(two.private) and two.pings(one.private), every=PACE)

    wait_for(lambda: one.tries(SAYS_SSH.format(address=two.address)).returncode == 0, every=PACE)
    wait_for(lambda: one.tries(SAYS_SSH.format(address=hv2.address)).returncode == 1, every=PACE)
    firewall = close_but_ssh(platform, two)
    restart_after_a_power_cut(platform, hv2, one, two)
    assert not is_open(two), "its firewall is there with each boot"

    platform.schedule_move(two.id, hv1.label)
    two.hang_up()
    platform.ask("POST", f"/compute/instances/{two.id}/migrate")
    wait_for(lambda: platform.events("compute_migrate", two.id) == ["finished"], every=PACE)
    platform.until_running(one.id, two.id)
    assert (hv1.has(two.id), hv2.has(two.id)) == (True, False)
    assert two.run("cat /root/kept") == "kept"
    wait_for(lambda: one.pings(two.private) and two.pings(one.private), every=PACE)
    assert not is_open(two), "its firewall came along"
    platform.ask("DELETE", f"/networking/firewalls/{firewall}")
    wait_for(lambda: two.lets_in(OTHER_PORT))
    assert hv2.left() == NOTHING

    for each in (one, two):
        platform.ask("DELETE", f"/compute/instances/{each.id}")
    wait_for(lambda: [each.left() for each in machines] == [NOTHING, NOTHING], every=PACE)
    wait_for(lambda: platform.settled() and not platform.statuses(), every=PACE)
    for machine in machines:
        platform.manage("host_remove", machine.label, "--identity", str(operator))
        assert machine.keys.read_text() == operator.with_suffix(".pub").read_text().strip() + "\n"
    assert platform.server.stop() == 0


def deploy(world: World, platform: Platform, state: Path, label: str) -> Guest:
    """Create an instance on the host that accepts instances."""
    key = state / "customer" / "key"
    made = platform.ask(
        "POST", "/compute/instances", label=label, type="g6-nanode-1", region=REGION, image="compute/tiny",
        root_pass="Tall-ships.sail-at-9", authorized_keys=[key.with_suffix(".pub").read_text().strip()],
        private_ip=True,
    )  # fmt: skip
    return Guest(world, made, key)


def close_but_ssh(platform: Platform, guest: Guest) -> int:
    """Attach a firewall to a guest that also listens on another port. Returns the firewall's id."""
    guest.run(f"dropbear -R -p {OTHER_PORT}")
    wait_for(lambda: guest.lets_in(OTHER_PORT))
    ssh = {"action": "ACCEPT", "protocol": "TCP", "ports": "22", "addresses": EVERYWHERE}
    ping = {"action": "ACCEPT", "protocol": "ICMP", "addresses": EVERYWHERE}
    rules = {"inbound": [ssh, ping], "inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
    made = platform.ask(
        "POST", "/networking/firewalls", label="ssh-alone", rules=rules, devices={"computes": [guest.id]}
    )
    wait_for(lambda: not guest.lets_in(OTHER_PORT))
    assert guest.lets_in(22, patience=60)
    guest.run(LISTENS)
    return made["id"]


def is_open(guest: Guest) -> bool:
    """Listen on the guest's other port, and tell whether the world reaches it."""
    guest.run(f"{LISTENS} || dropbear -R -p {OTHER_PORT}")
    wait_for(lambda: guest.tries(LISTENS).returncode == 0, every=PACE)
    return guest.lets_in(OTHER_PORT)


def restart_after_a_power_cut(platform: Platform, host: Machine, other: Guest, guest: Guest) -> None:
    """Cut the power of a guest's host, and restore it.

    Nobody turned the guest off, so it runs again, also without its watchdog. `other`, on another host, notices
    nothing.
    """
    platform.ask("PUT", f"/compute/instances/{guest.id}", watchdog_enabled=False)
    boots = other.boot(), guest.boot()
    guest.run("echo kept > /root/kept && sync")
    host.cut()
    wait_for(lambda: platform.has_lost(host.label), every=PACE)
    assert platform.statuses() == {other.id: "running", guest.id: "running"}, "nothing is known of it"
    assert not guest.lets_in(22)
    assert other.boot() == boots[0]

    guest.hang_up()
    host.switch_on()
    wait_for(lambda: not platform.has_lost(host.label), every=PACE)
    wait_for(lambda: platform.events("host_reboot", guest.id) == ["finished"], every=PACE)
    platform.until_running(other.id, guest.id)
    assert guest.boot() != boots[1]
    assert guest.run("cat /root/kept") == "kept"
    assert other.boot() == boots[0]
    wait_for(lambda: other.pings(guest.private) and guest.pings(other.private), every=PACE)
