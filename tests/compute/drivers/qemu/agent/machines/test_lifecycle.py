"""Machines of a real QEMU, emulated: their power from definition to removal, with verbs repeated."""

import os
import signal
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from compute.drivers.qemu.agent import records, settings
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines import console, lifecycle, machine_dirs, usage
from compute.drivers.qemu.agent.machines.machine_dirs import NoMachine
from compute.drivers.qemu.agent.networks import firewalls
from compute.drivers.qemu.agent.networks.packet_filters import render
from tests.compute.drivers.qemu.hosts import (
    MAC,
    MACHINE,
    OTHER,
    VOLUME,
    boot,
    configure,
    make_disk,
    make_kernel,
    make_machine,
    make_volume,
    run_machine,
    typed,
    until_done,
    until_off,
)
from tests.waiting import wait_for

pytestmark = pytest.mark.guest


def start(store, machine=MACHINE, **changes):
    return lifecycle.start(store, machine, boot(machine, **changes))


# --- known and gone -----------------------------------------------------------------------------------------------


def test_an_unknown_machine_is_absent_and_nothing_is_left_of_asking(store):
    assert lifecycle.power(store, MACHINE) == "absent"
    assert lifecycle.powered_off(store) == []
    assert lifecycle.stop(store, MACHINE).done
    lifecycle.undefine(store, MACHINE)
    assert firewalls.set_firewall(store, MACHINE, packet_filter(1)) == 0
    with pytest.raises(NoMachine):
        start(store)
    assert not store.machine(MACHINE).exists()


def test_a_machine_is_off_once_it_is_defined_and_defined_again_it_changes(store, machine):
    assert lifecycle.power(store, machine) == "off"
    assert lifecycle.powered_off(store) == [machine]
    lifecycle.define(store, machine, memory=64, vcpus=2, mac=MAC)
    assert machine_dirs.described(store.machine(machine)).memory == 64
    assert store.disk(machine, f"{machine}-disk-1").exists()


@pytest.mark.parametrize("mac", ["", "f2:3c:00:00:00:0", "f2:3c:00:00:00:07,netdev=x", "F2:3C:00:00:00:07"])
def test_a_machine_has_a_hardware_address(store, mac):
    with pytest.raises(Refused):
        lifecycle.define(store, MACHINE, memory=32, vcpus=1, mac=mac)


def test_undefining_a_machine_that_is_on_leaves_nothing(store, running):
    for _ in range(2):
        lifecycle.undefine(store, running)
    assert lifecycle.power(store, running) == "absent"
    assert os.listdir(store.root / "machines") == []


# --- on -----------------------------------------------------------------------------------------------------------


def test_a_machine_lives_from_definition_to_removal(store, machine):
    until_done(lambda: start(store))
    assert lifecycle.power(store, machine) == "on"
    assert lifecycle.powered_off(store) == []
    assert console.history(store, machine) == b"one sector, login: "
    assert start(store).done, "once more changes nothing"
    until_done(lambda: lifecycle.stop(store, machine))
    assert lifecycle.power(store, machine) == "off"
    assert lifecycle.ended(store, machine)["why"] == "host-request"
    until_done(lambda: start(store))
    assert lifecycle.ended(store, machine) is None
    lifecycle.undefine(store, machine)


def test_a_start_is_not_done_before_the_guest_asks_for_a_login_or_had_the_time_for_it(store, machine):
    store.disk(machine, f"{machine}-disk-1").write_bytes(bytes(1 << 20))  # boots nothing
    assert not start(store).done
    assert lifecycle.power(store, machine) == "on"
    configure(store, patience=0.0)
    assert start(store).done


def test_a_kernel_of_the_host_gets_its_root_device(store, machine):
    make_kernel(store)
    until_done(lambda: start(store, kernel="compute/latest-64bit", root_device="/dev/sdb"))
    assert b"root=/dev/sdb rw" in console.history(store, machine)


def test_a_disk_without_a_boot_sector_boots_the_hosts_kernel_for_grub(store, machine):
    make_kernel(store)
    store.disk(machine, f"{machine}-disk-1").write_bytes(bytes(1 << 20))
    until_done(lambda: start(store, kernel="compute/grub2"))
    assert b"root=/dev/sda" in console.history(store, machine)


def test_a_rescue_boots_the_hosts_kernel_and_needs_no_disk(store, machine):
    make_kernel(store)
    until_done(lambda: start(store, rescue=True, devices={}))
    assert b"console=ttyS0 no_timer_check rescue" in console.history(store, machine)


def test_a_host_without_a_kernel_says_so(store, machine):
    with pytest.raises(Refused, match="no kernel"):
        start(store, rescue=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"devices": {}},
        {"devices": {"sda": "skerry-7-disk-9"}},
        {"devices": {"sdz": "skerry-7-disk-1"}},
        {"devices": {"sda": "../../etc"}},
        {"volumes": {"skerry-7-disk-1": "data"}},
        {"kernel": "compute/pv-grub_x86_64"},
        {"rescue": True, "devices": {"sda": "skerry-7-disk-9"}},
    ],
)
def test_a_boot_that_can_never_succeed_is_refused(store, machine, changes):
    with pytest.raises(Refused):
        start(store, **changes)
    assert lifecycle.power(store, machine) == "off"


def test_a_boot_waits_for_a_disk_that_is_half_made(store, machine):
    path = store.disk(machine, f"{machine}-disk-1")
    path.rename(path.with_suffix(".part"))
    with pytest.raises(Failed) as caught:
        start(store)
    assert not isinstance(caught.value, Refused)


def test_a_host_that_was_never_checked_says_so(store, machine):
    configure(store, accel="auto")
    with pytest.raises(Failed, match="not been checked"):
        start(store)


def test_simultaneous_starts_of_a_machine_start_one(store, machine):
    began = threading.Barrier(4)

    def go(_):
        began.wait()
        until_done(lambda: start(store))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(go, range(4)))
    assert console.history(store, machine).count(b"login") == 1
    assert len(machine_dirs.holders(store.machine(machine))) == 2, "QEMU and its supervisor"


def test_the_port_of_a_machine_stays_and_leads_to_it_alone(store):
    for name in (MACHINE, OTHER):
        run_machine(store, name)
    ports = [lifecycle.booted(store, name)["port"] for name in (MACHINE, OTHER)]
    assert len({*ports}) == 2
    until_done(lambda: lifecycle.stop(store, MACHINE))
    until_done(lambda: start(store))
    assert lifecycle.booted(store, MACHINE)["port"] == ports[0]


def test_a_port_that_somebody_takes_in_this_moment_is_another_one_at_the_next_try(store, machine, monkeypatch):

    free = lifecycle._free_port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answers = iter([taken.getsockname()[1]])
        monkeypatch.setattr(lifecycle, "_free_port", lambda wanted: next(answers, None) or free(wanted))
        until_done(lambda: start(store))
    assert lifecycle.power(store, machine) == "on"


# --- off ----------------------------------------------------------------------------------------------------------


def test_a_guest_that_never_looks_has_its_power_cut_after_the_grace(store):
    configure(store, grace=2.0)
    run_machine(store, obedient=False)
    assert not lifecycle.stop(store, MACHINE).done
    assert lifecycle.power(store, MACHINE) == "on"
    until_done(lambda: lifecycle.stop(store, MACHINE))
    assert lifecycle.ended(store, MACHINE)["why"] == "host-request"


def test_a_qemu_that_is_stuck_is_killed(store, monkeypatch):
    monkeypatch.setattr(lifecycle, "QUIT_SECONDS", 1.0)
    configure(store, grace=0.0)
    run_machine(store)
    for pid in machine_dirs.holders(store.machine(MACHINE)):
        os.kill(pid, signal.SIGSTOP)  # the supervisor too
    until_done(lambda: lifecycle.stop(store, MACHINE))
    assert lifecycle.power(store, MACHINE) == "off"


def test_a_start_during_a_shutdown_finishes_that_and_boots(store):
    configure(store, grace=2.0)
    run_machine(store, obedient=False)
    lifecycle.stop(store, MACHINE)
    assert not start(store).done
    until_done(lambda: start(store))
    assert lifecycle.power(store, MACHINE) == "on"
    assert console.history(store, MACHINE).count(b"login") == 2


def test_a_stop_during_a_boot_ends_with_the_machine_off(store, machine):
    start(store)
    until_done(lambda: lifecycle.stop(store, machine))
    assert lifecycle.power(store, machine) == "off"


def test_a_guest_that_powers_itself_off_differs_from_a_requested_shutdown(store, running):
    typed(store, running, b"p")
    until_off(store, running)
    assert lifecycle.ended(store, running)["why"] == "guest-shutdown"
    assert lifecycle.powered_off(store) == [running]


def test_a_reboot_of_the_guest_is_its_own_matter(store, running):
    typed(store, running, b"r")
    wait_for(lambda: console.history(store, running).count(b"login") == 2)
    assert lifecycle.power(store, running) == "on"


# --- what it uses, and what filters it ----------------------------------------------------------------------------


def test_only_machines_that_are_on_report_usage(store):
    make_machine(store, OTHER)
    make_machine(store)
    swap = store.disk(MACHINE, f"{MACHINE}-disk-2")
    make_disk(swap)
    with swap.open("r+b") as file:
        file.seek(4086)
        file.write(b"SWAPSPACE2")
    devices = {"sda": f"{MACHINE}-disk-1", "sdb": f"{MACHINE}-disk-2"}
    until_done(lambda: start(store, devices=devices))
    assert lifecycle.booted(store, MACHINE)["swap"] == [f"{MACHINE}-disk-2"]
    [first] = usage.usage(store)
    assert (first["machine"], first["swap"]) == (MACHINE, 0)
    assert first["io"] >= 1
    assert first["cpu"] > 0
    [second] = usage.usage(store)
    assert all(second[each] >= first[each] for each in ("cpu", "io", "swap"))


def packet_filter(version: int, *closed: int) -> dict[str, Any]:
    return {"version": version, "rules": None, "closed_ports": list(closed)}


def test_the_newest_firewall_is_kept_across_power_and_goes_with_the_machine(store, machine):
    assert firewalls.firewall(store, machine) is None
    old, new = packet_filter(3, 25), packet_filter(4, 465)
    assert [firewalls.set_firewall(store, machine, each) for each in (old, new, old)] == [3, 4, 4]
    until_done(lambda: start(store, firewall=packet_filter(2, 80)))
    until_done(lambda: start(store, firewall=None))
    assert firewalls.firewall(store, machine) == new
    kept = records.read(store.machine(machine) / firewalls.FIREWALL)
    assert kept["ruleset"] == render(machine, new), "for an agent of the previous release, after a way back"
    lifecycle.undefine(store, machine)
    lifecycle.define(store, machine, memory=32, vcpus=1, mac=MAC)
    assert firewalls.firewall(store, machine) is None


def test_stored_firewalls_are_loaded_and_deleted_with_the_machine(store, machine, recorded_nft):
    configure(store, networking=True)
    third = packet_filter(3, 25)
    firewalls.set_firewall(store, machine, third)
    firewalls.set_firewall(store, machine, packet_filter(2))
    loaded = f"{render(machine, third)}|" * 2
    assert recorded_nft.read_text() == loaded
    lifecycle.undefine(store, machine)
    assert recorded_nft.read_text() == f"{loaded}table inet {machine}\ndelete table inet {machine}\n|"


def test_a_stored_text_of_an_earlier_release_is_replaced_by_data(store, machine, recorded_nft):
    configure(store, networking=True)
    kept = store.machine(machine) / firewalls.FIREWALL
    records.write(kept, {"version": 3, "ruleset": "flush ruleset"})
    assert firewalls.set_firewall(store, machine, packet_filter(2)) == 3
    with pytest.raises(Failed, match="sends it again"):
        start(store)
    assert not recorded_nft.exists()
    assert firewalls.set_firewall(store, machine, packet_filter(3, 25)) == 3
    assert recorded_nft.read_text() == f"{render(machine, packet_filter(3, 25))}|"


@pytest.fixture
def recorded_nft(tmp_path, monkeypatch):
    """Replace nft with a program that records its input. Returns the path of the record."""
    record = tmp_path / "given"
    program = tmp_path / "bin" / "nft"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{{ cat; printf '|'; }} >> {record}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return record


def test_a_machine_that_is_off_has_no_console(store, machine):
    assert console.history(store, machine) == b""
    with pytest.raises(Refused):
        console.attach(store, machine, 0, 1)
    with pytest.raises(NoMachine):
        console.paths(store, OTHER)


def test_settings_are_checked_and_kept(store):
    with pytest.raises(Refused):
        configure(store, accel="xen")
    before = settings.load(store)
    configure(store, grace=7.0)
    assert settings.load(store) == replace(before, grace=7.0)


def test_settings_that_a_newer_agent_wrote_are_kept(store):
    configure(store, grace=7.0)
    path = store.root / settings.CONFIGURED
    records.write(path, {**records.read(path), "newer": [1]})
    configure(store, grace=8.0)
    settings.change(store, patience=9.0)
    found = records.read(path)
    assert (found["newer"], found["grace"], found["patience"]) == ([1], 8.0, 9.0)


def test_a_boot_with_a_volume_that_is_not_there_is_refused(store, machine):
    with pytest.raises(Refused, match="volume does not exist"):
        start(store, volumes={VOLUME: "data"}, devices={"sda": f"{machine}-disk-1", "sdb": VOLUME})
    make_volume(store)
    until_done(lambda: start(store, volumes={VOLUME: "data"}, devices={"sda": f"{machine}-disk-1", "sdb": VOLUME}))
