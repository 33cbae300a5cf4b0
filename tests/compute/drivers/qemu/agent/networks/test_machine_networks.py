"""Networks of machines on routing hosts: real packets between hosts, guests and the world in namespaces."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from compute.drivers.qemu.agent import records, settings
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines import lifecycle
from compute.drivers.qemu.agent.networks import firewalls, machine_networks
from compute.drivers.qemu.agent.store import Store
from compute.services.networking.firewalls.delivery import Wanted
from compute.worker.networking.firewall_specs import firewall_spec
from tests.compute.drivers.qemu.hosts import configure, make_disk, typed, until_off
from tests.compute.drivers.qemu.namespaces import (
    CROWDED,
    GATEWAY,
    INTERNET,
    INTERNET6,
    Guest,
    Host,
    World,
    end_all,
    needs_namespaces,
)
from tests.waiting import wait_for

pytestmark = pytest.mark.guest

PUBLIC, OTHER = "198.18.0.7", "198.18.0.8"
PRIVATE, OTHER_PRIVATE = "192.168.130.7", "192.168.130.8"
V6, OTHER_V6 = "fd00:18::7", "fd00:18::8"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
    needs_namespaces()
    try:
        yield World()
    finally:
        end_all()


@pytest.fixture
def make_host(world: World, tmp_path: Path) -> Iterator[Callable[[], Host]]:
    made: list[Host] = []

    def make() -> Host:
        made.append(Host(world, Store(tmp_path / f"h{len(made)}"), len(made) + 1))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def host(make_host: Callable[[], Host]) -> Host:
    return make_host()


@pytest.fixture
def plug() -> Iterator[Callable[..., Guest]]:
    """Return a function that makes a guest of a host. The guest is gone at the end of the test."""
    made: list[Guest] = []

    def make(host: Host, number: int, **changes: Any) -> Guest:
        made.append(host.plug(number, **changes))
        return made[-1]

    yield make
    for each in made:
        each.end()


def sends(sender, source: str, receiver, address: str, port: int = 7777) -> str:
    """Send a word from one address to another. Returns the source address that the receiver sees."""
    with receiver.udp(address, port) as taker, sender.udp(source) as giver:
        giver.sendto(b"word", (address, port))
        word, where = taker.recvfrom(100)
        assert word == b"word"
        return where[0]


def filters(version: int, rules: dict[str, Any] | None = None, mail_ports_closed: bool = False) -> dict[str, Any]:
    """Return a packet filter as the platform sends it to a host."""
    return asdict(firewall_spec(Wanted(version, rules, mail_ports_closed)))


# --- in and out ---------------------------------------------------------------------------------------------------


def test_a_guest_reaches_the_world_and_the_world_the_guest(world, host, plug):
    guest = plug(host, 7, ipv4=(PUBLIC,), ipv6=V6)
    assert sends(guest, PUBLIC, world, INTERNET) == PUBLIC
    assert sends(guest, PUBLIC, world, GATEWAY) == PUBLIC
    assert sends(world, GATEWAY, guest, PUBLIC) == GATEWAY
    assert sends(guest, V6, world, INTERNET6) == V6
    assert sends(world, INTERNET6, guest, V6) == INTERNET6


def test_guests_of_one_host_and_of_two_reach_each_other(make_host, plug):
    first, second = make_host(), make_host()
    one, two = plug(first, 7, ipv4=(PUBLIC,), ipv6=V6), plug(first, 8, ipv4=(OTHER,), ipv6=OTHER_V6)
    three = plug(second, 9, ipv4=("198.18.0.9",), ipv6="fd00:18::9")
    for other, address, address6 in ((two, OTHER, OTHER_V6), (three, "198.18.0.9", "fd00:18::9")):
        assert sends(one, PUBLIC, other, address) == PUBLIC
        assert sends(other, address6, one, V6) == address6


@pytest.mark.parametrize("next_hop", ["fd00:18::201", V6], ids=["host", "guest"])
def test_a_routed_range_leads_to_its_machine(world, host, plug, next_hop):
    guest = plug(host, 7, ipv4=(PUBLIC,), ipv6=V6, ranges=("fd00:20::/64",))
    guest.ip("addr", "add", "fd00:20::5/64", "dev", "lo")
    world.ip("-6", "route", "add", "fd00:20::/64", "via", next_hop)
    assert sends(world, INTERNET6, guest, "fd00:20::5") == INTERNET6
    assert sends(guest, "fd00:20::5", world, INTERNET6) == "fd00:20::5"


def test_bytes_are_counted_by_direction_and_kind(world, host, plug):
    guest = plug(host, 7, ipv4=(PUBLIC, PRIVATE), ipv6=V6)
    other = plug(host, 8, ipv4=(OTHER, OTHER_PRIVATE), ipv6=None)
    before = host.do(machine_networks.counted, "skerry-7")
    sends(guest, PUBLIC, world, INTERNET)
    sends(world, INTERNET6, guest, V6)
    sends(other, OTHER_PRIVATE, guest, PRIVATE)
    after = host.do(machine_networks.counted, "skerry-7")
    assert {name for name in after if after[name] > before[name]} >= {"v4_out", "v6_in", "v4_private_in"}
    assert after["v4_private_out"] == before["v4_private_out"]
    assert after["v4_out"] - before["v4_out"] == 20 + 8 + len(b"word")


# --- how much of it -----------------------------------------------------------------------------------------------

BIG = bytes(1200)


def floods(sender: Any, source: str, address: str, enough: Callable[[], bool]) -> None:
    """Send packets until `enough`. More packets arrive than the limit lets pass, even on a slow machine."""

    def more() -> bool:
        for _ in range(500):
            with suppress(OSError):  # a queue on the way is full
                giver.sendto(BIG, (address, 7777))
        return enough()

    with sender.udp(source) as giver:
        wait_for(more, CROWDED)


def test_packets_beyond_the_rate_are_dropped_and_not_counted_as_sent(world, host, plug):
    guest, other = (
        plug(host, number, ipv4=(f"198.18.0.{number}",), ipv6=None, network_out=rate)
        for number, rate in ((7, 1), (8, None))
    )
    floods(guest, PUBLIC, INTERNET, lambda: host.counted("skerry-7", "over_out") > 100)
    floods(other, OTHER, INTERNET, lambda: host.do(machine_networks.counted, "skerry-8")["v4_out"] > 1_000_000)
    lost, passed = host.counted("skerry-7", "over_out"), host.do(machine_networks.counted, "skerry-7")["v4_out"]
    came = int(json.loads(host.ip("-j", "-s", "link", "show", "sk-7"))[0]["stats64"]["rx"]["packets"])
    assert passed > 0
    assert passed // (20 + 8 + len(BIG)) + lost <= came
    assert [host.counted(machine, "spoofed") for machine in ("skerry-7", "skerry-8")] == [0, 0]
    assert host.counted("skerry-8", "over_out") == 0


def test_a_guest_shares_its_rate_among_its_interfaces_and_has_another_one_from_its_next_boot_on(host):
    changes = {"ipv4": (PUBLIC,), "ipv6": None, "interfaces": ({"purpose": "public"}, vlan(5, "10.0.0.7/24"))}
    guest = host.plug(7, network_out=1, **changes)
    guest.ip("neigh", "add", "10.0.0.8", "lladdr", "f2:3c:00:00:00:08", "dev", "eth1")
    floods(guest, "10.0.0.7", "10.0.0.8", lambda: host.counted("skerry-7", "over_out") > 100)
    assert "rate over 125000 bytes/second" in host.run("nft", "list", "limits")
    guest.end()
    host.do(machine_networks.make, host.store, *host.about(7, network_out=4000, **changes))
    assert "rate over 500000000 bytes/second burst 50000000 bytes" in host.run("nft", "list", "limits")
    assert host.counted("skerry-7", "over_out") == 0
    for none in (None, 0, 200_000):  # Linux refuses bursts of 2 GB and more, and a plan may have a huge figure
        host.do(machine_networks.make, host.store, *host.about(7, network_out=none, **changes))
        assert "rate_out" not in host.run("nft", "list", "limits")


def test_a_guest_receives_no_more_than_its_host_lets_it(world, host, plug):
    configure(host.store, network_in=1)
    plug(host, 7, ipv4=(PUBLIC,), ipv6=None)
    floods(world, GATEWAY, PUBLIC, lambda: host.counted("skerry-7", "over_in") > 100)
    assert host.counted("skerry-7", "over_out") == 0


# --- what a guest may not -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "forged", "target"),
    [
        (PUBLIC, "198.18.0.66", INTERNET),
        (PUBLIC, OTHER, INTERNET),
        (PUBLIC, PRIVATE, INTERNET),  # its own addresses, and none for the world
        (V6, "fd00:18::66", INTERNET6),
    ],
)
def test_a_forged_source_is_lost(world, host, plug, own, forged, target):
    guest = plug(host, 7, ipv4=(PUBLIC, PRIVATE), ipv6=V6)
    sends(guest, own, world, target)
    if forged != PRIVATE:
        guest.ip("addr", "add", forged, "dev", "lo")
    before = host.counted("skerry-7", "spoofed")
    with world.udp(target, 7777) as taker:
        with guest.udp(forged) as liar:
            for _ in range(5):
                liar.sendto(b"forged", (target, 7777))
        with guest.udp(own) as honest:
            honest.sendto(b"honest", (target, 7777))
        assert taker.recv(100) == b"honest"
    assert host.counted("skerry-7", "spoofed") - before >= 5


def test_another_hardware_address_is_lost(world, host, plug):
    guest = plug(host, 7, ipv4=(PUBLIC,), ipv6=None)
    sends(guest, PUBLIC, world, INTERNET)
    before = host.counted("skerry-7", "spoofed")
    with world.udp(INTERNET, 7777) as taker, guest.udp(PUBLIC) as giver:
        for mac, word in (("f2:3c:00:00:00:66", b"forged"), ("f2:3c:00:00:00:07", b"honest")):
            guest.ip("link", "set", "eth0", "address", mac)
            # the gateway as the guest knows it: otherwise the request for its hardware address would already be
            # lost
            guest.ip("neigh", "replace", GATEWAY, "lladdr", host.mac("sk-7"), "dev", "eth0", "nud", "permanent")
            giver.sendto(word, (INTERNET, 7777))
        assert taker.recv(100) == b"honest"
    assert host.counted("skerry-7", "spoofed") > before


def test_a_guest_reaches_nothing_that_listens_on_its_host(host, plug):
    guest = plug(host, 7, ipv4=(PUBLIC,), ipv6=V6)
    with host.listen(2222):
        assert host.reaches(host.address, 2222)
        assert not guest.reaches(host.address, 2222)
    with guest.listen(2222):
        assert host.reaches(PUBLIC, 2222, 60)


def test_a_guest_reaches_nothing_that_listens_on_another_host(world, make_host, plug):
    first, second = make_host(), make_host()
    guest = plug(first, 7, ipv4=(PUBLIC,), ipv6=V6)
    peers = [first.address]
    address6 = "fd00:18::202"
    with second.listen(2222), second.listen6(2223):
        assert guest.reaches(second.address, 2222, 60)
        assert guest.reaches(address6, 2223, 60)
        customer_networks = ["198.18.0.4/30", "fd00:18::4/126"]
        for _ in range(2):  # a host that has lost its table, e.g. by a restart, gets it again
            second.do(machine_networks.set_peers, second.store, second.address, peers, customer_networks)
            assert not guest.reaches(second.address, 2222)
            assert not guest.reaches(address6, 2223)
            assert first.reaches(second.address, 2222, 60)
            assert world.reaches(second.address, 2222, 60)
            second.run("nft", "delete", "table", "inet", "skerry")
        second.do(
            machine_networks.set_peers, second.store, second.address, peers
        )  # by a worker of the previous release
        assert not guest.reaches(second.address, 2222)
        assert guest.pings(second.address)
        assert guest.pings(address6)
        with guest.listen(2222):
            assert second.reaches(PUBLIC, 2222, 60), "what the host itself begins is answered"
        configure(second.store, trusted=[PUBLIC])
        second.do(machine_networks.set_peers, second.store, second.address, peers, customer_networks)
        assert guest.reaches(second.address, 2222, 60)


def test_the_platform_is_not_locked_out_of_a_host_by_its_own_call(world, host, monkeypatch):
    theirs = ["198.18.0.0/24", "fd00:18::/64"]
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    with host.listen(2222):
        host.do(machine_networks.set_peers, host.store, host.address, [], theirs)
        assert not world.reaches(host.address, 2222)
        monkeypatch.setenv("SSH_CONNECTION", f"{GATEWAY} 50000 {host.address} 22")
        host.do(machine_networks.set_peers, host.store, host.address, [], theirs)
        assert world.reaches(host.address, 2222, 60)
        monkeypatch.setenv("SSH_CONNECTION", f"fe80::1%eth0 50000 {host.address} 22")
        host.do(machine_networks.set_peers, host.store, host.address, [], theirs[:1])
        assert world.reaches(host.address, 2222, 60), "another worker's call forgets no caller"
        host.do(machine_networks.set_peers, host.store, host.address, [], [])
        assert records.read(host.store.root / machine_networks.LOADED)["callers"] == []


def test_a_trusted_network_that_is_none_is_named(host):
    configure(host.store, trusted=["198.18.0.4/30x"])
    with pytest.raises(Failed, match="an invalid trusted network"):
        host.do(machine_networks.set_peers, host.store, host.address, [])


def test_the_rules_of_a_firewall_meet_real_packets(world, host, plug):
    guest = plug(host, 7, ipv4=(PUBLIC,), ipv6=None)
    everywhere = {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]}
    ssh = {"action": "ACCEPT", "protocol": "TCP", "ports": "22", "addresses": everywhere}
    rules = {"inbound": [ssh], "inbound_policy": "DROP", "outbound": [], "outbound_policy": "ACCEPT"}
    with guest.listen(22), guest.listen(23):
        assert world.reaches(PUBLIC, 23, 60)
        assert host.do(firewalls.set_firewall, host.store, "skerry-7", filters(1, rules)) == 1
        assert not world.reaches(PUBLIC, 23)
        assert world.reaches(PUBLIC, 22, 60)
        host.do(firewalls.set_firewall, host.store, "skerry-7", filters(2))
        assert world.reaches(PUBLIC, 23, 60)


def test_a_host_begins_to_route_and_gets_its_peers_once(host):
    settings.save(host.store, settings.Settings(accel="tcg"))
    with pytest.raises(Refused, match="not an IPv4 network"):
        host.do(machine_networks.begin, host.store, "nonsense")
    assert not settings.load(host.store).networking
    host.do(machine_networks.begin, host.store, "192.168.0.0/16")
    known = settings.load(host.store)
    assert (known.networking, known.private_network) == (True, "192.168.0.0/16")
    assert "skerry" in host.run("nft", "list", "tables")
    host.do(machine_networks.set_peers, host.store, host.address, ["198.18.0.202"])
    written = (host.store.root / settings.CONFIGURED).stat().st_mtime_ns
    host.do(machine_networks.set_peers, host.store, host.address, ["198.18.0.202"])
    assert (host.store.root / settings.CONFIGURED).stat().st_mtime_ns == written


# --- between hosts ------------------------------------------------------------------------------------------------


def two_hosts(make_host: Callable[[], Host]) -> tuple[Host, Host]:
    first, second = make_host(), make_host()
    first.know(first, second)
    second.know(first, second)
    return first, second


def test_private_addresses_reach_each_other_across_hosts(make_host, plug):
    first, second = two_hosts(make_host)
    one = plug(first, 7, ipv4=(PUBLIC, PRIVATE), ipv6=None)
    two = plug(second, 8, ipv4=(OTHER, OTHER_PRIVATE), ipv6=None)
    assert sends(one, PRIVATE, two, OTHER_PRIVATE) == PRIVATE
    assert sends(two, OTHER_PRIVATE, one, PRIVATE) == OTHER_PRIVATE


def test_machines_that_were_on_before_their_host_had_an_address_between_hosts_join(make_host, plug):
    first, second = make_host(), make_host()
    public = {"purpose": "public", "label": "", "ipam_address": ""}
    one, two = (
        plug(host, number, ipv4=own, ipv6=None, interfaces=(public, vlan(5, f"10.0.0.{number}/24")))
        for host, number, own in ((first, 7, (PUBLIC, PRIVATE)), (second, 8, (OTHER, OTHER_PRIVATE)))
    )
    second.know(first, second)
    first.know(first, second)
    assert sends(one, PRIVATE, two, OTHER_PRIVATE) == PRIVATE
    assert sends(two, OTHER_PRIVATE, one, PRIVATE) == OTHER_PRIVATE
    with two.listen(2222):
        assert one.reaches("10.0.0.8", 2222, 60)
    for host, machine in ((first, "skerry-7"), (second, "skerry-8")):
        host.do(lifecycle.undefine, host.store, machine)
        traces = host.traces()
        assert [line for line in traces["proxies"] if "sk-" in line] == []
        assert [name for name in traces["links"] if name != "sk-private"] == []


def test_a_host_that_is_no_peer_is_not_listened_to(make_host, plug):
    first, second = two_hosts(make_host)
    one = plug(first, 7, ipv4=(PUBLIC, PRIVATE), ipv6=None)
    two = plug(second, 8, ipv4=(OTHER, OTHER_PRIVATE), ipv6=None)
    assert sends(two, OTHER_PRIVATE, one, PRIVATE) == OTHER_PRIVATE
    with one.udp(PRIVATE, 7777) as taker, two.udp(OTHER_PRIVATE) as giver:
        first.know()
        giver.sendto(b"unheard", (PRIVATE, 7777))
        first.know(second)
        giver.sendto(b"heard", (PRIVATE, 7777))
        assert taker.recv(100) == b"heard"


def vlan(number: int, address: str) -> dict[str, Any]:
    return {"purpose": "vlan", "label": f"v{number}", "ipam_address": address, "number": number}


def test_a_vlan_spans_hosts_and_is_apart_from_others(make_host, plug):
    first, second = two_hosts(make_host)
    public = {"purpose": "public", "label": "", "ipam_address": ""}

    def on(host: Host, number: int, network: int) -> Guest:
        own = vlan(network, f"10.0.0.{number}/24")
        return plug(host, number, ipv4=(f"198.18.0.{number}",), ipv6=None, interfaces=(public, own))

    one, near, far = on(first, 7, 5), on(first, 8, 5), on(second, 9, 5)
    apart, far_apart = on(first, 10, 6), on(second, 11, 6)
    for other in ("10.0.0.8", "10.0.0.9"):
        with (near if other == "10.0.0.8" else far).listen(2222):
            assert one.reaches(other, 2222, 60)
            assert not apart.reaches(other, 2222)
    with far_apart.listen(2222):
        assert apart.reaches("10.0.0.11", 2222, 60)
        assert not one.reaches("10.0.0.11", 2222)


# --- gone ---------------------------------------------------------------------------------------------------------


def test_a_machine_that_is_removed_leaves_nothing(make_host):
    host, _ = two_hosts(make_host)
    before = host.traces()
    changes = {"ipv4": (PUBLIC, PRIVATE), "ipv6": V6, "interfaces": ({"purpose": "public"}, vlan(5, "10.0.0.7/24"))}
    for _ in range(2):
        guest = host.plug(7, **changes)
        guest.end()
    assert host.traces()["links"] == ["sk-7", "sk-7-1", "sk-private", "sk-v5", "sk-x5"]
    assert host.traces()["proxies"]
    host.do(firewalls.set_firewall, host.store, "skerry-7", filters(1, mail_ports_closed=True))
    host.do(lifecycle.undefine, host.store, "skerry-7")
    assert host.traces() == before


def test_a_machine_of_qemu_has_its_interface_while_it_is_on(host, qemu):
    spec = host.define(7, ipv4=(PUBLIC,), ipv6=V6)
    make_disk(host.store.disk("skerry-7", "skerry-7-disk-1"))
    for _ in range(2):
        wait_for(lambda: host.do(lifecycle.start, host.store, "skerry-7", spec).done, 500)
        assert host.traces()["links"] == ["sk-7"]
        assert "LOWER_UP" in host.ip("link", "show", "sk-7")
        typed(host.store, "skerry-7", b"p")
        until_off(host.store, "skerry-7")
        assert host.traces()["links"] == []
    host.do(lifecycle.undefine, host.store, "skerry-7")
    assert host.traces()["tables"] == ["table inet skerry"]
