"""The arguments of QEMU, and so the hardware of a guest."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compute.drivers.boot import BootSpec
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.machines import command_line
from compute.drivers.qemu.agent.machines.command_line import Drive, Machine, kernel_for
from compute.drivers.qemu.agent.machines.devices import Attached
from compute.drivers.qemu.agent.settings import Settings

CATALOGUE = json.loads((Path(command_line.__file__).parents[4] / "data" / "catalogue.json").read_text())
KERNELS = {each["id"]: each for each in CATALOGUE["kernels"]}
ITSELF = ("compute/grub2", "compute/grub-legacy", "compute/direct-disk")
SPEC = Machine("skerry-7", memory=2048, vcpus=2, mac="f2:3c:00:00:00:07")
BOOT = BootSpec(
    kernel="compute/latest-64bit",
    root_device="/dev/sda",
    memory=1024,
    devices={"sda": "skerry-7-disk-1"},
    ipv4=("198.18.0.7", "192.168.128.9"),
    ipv6="2001:db8:77:1:f03c:ff:fe00:7",
)
HOST_KERNEL = Path("/srv/kernels/default")


def arguments(
    boot: BootSpec = BOOT, kernel: Path | None = HOST_KERNEL, drives: Any = (), **settings: Any
) -> list[str]:
    return command_line.arguments(SPEC, boot, drives, Settings(**settings), "tcg", kernel, 40022)


def option(found: list[str], name: str) -> list[str]:
    return [value for key, value in pairwise(found) if key == name]


def devices(found: list[str], driver: str) -> list[dict[str, Any]]:
    read = [json.loads(each) for each in option(found, "-device") if each.startswith("{")]
    return [each for each in read if each["driver"] == driver]


def test_a_machine_that_is_on_has_places_for_64_drives_on_one_controller():
    nodes = {f"device-{number}": f"lun{number}" for number in range(63)}
    place = Attached(nodes, frozenset()).free_place()
    assert Drive("skerry-volume-7", "x", place, "data").device().items() >= {"bus": "scsi.0", "lun": 63}.items()
    found = arguments(drives=[Drive("skerry-7-disk-1", "x", 0)])
    assert [each for each in option(found, "-device") if "scsi" in each and "{" not in each] == [
        "virtio-scsi-pci,id=scsi"
    ]
    with pytest.raises(Refused, match="64 disks and volumes"):
        Attached(nodes, frozenset({"lun63"})).free_place()


# --- kernels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kernel_of_the_catalogue_is_booted_or_refused(kernel):
    row = KERNELS[kernel]
    if not row["kvm"] or row["architecture"] != "x86_64":
        with pytest.raises(Refused, match=kernel):
            kernel_for(kernel)
    elif kernel in ITSELF:
        assert kernel_for(kernel) is None
    else:
        assert kernel_for(kernel) == "default"


def test_grub_is_that_of_the_disk_or_else_the_hosts_kernel_boots():
    assert kernel_for("compute/grub2", boots_itself=False) == "default"
    assert kernel_for("compute/direct-disk", boots_itself=False) is None


@pytest.mark.parametrize("kernel", ["", "compute/", "compute/../../etc", "default", "compute/latest-64bit\n"])
def test_a_kernel_that_nobody_knows_is_refused(kernel):
    with pytest.raises(Refused):
        kernel_for(kernel)


def test_a_disk_boots_itself_by_its_boot_sector(tmp_path):
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(510) + b"\x55\xaa" + bytes(512))
    assert command_line.boots_itself(disk)
    for content in (b"", bytes(1024)):
        disk.write_bytes(content)
        assert not command_line.boots_itself(disk)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "console=ttyS0 no_timer_check root=/dev/sda rw"),
        ({"run_level": "single"}, "console=ttyS0 no_timer_check root=/dev/sda rw single"),
        ({"run_level": "binbash", "ipv4": ()}, "console=ttyS0 no_timer_check root=/dev/sda rw init=/bin/bash"),
        ({"rescue": True}, "console=ttyS0 no_timer_check rescue"),
    ],
)
def test_the_kernel_gets_its_root_and_run_level(changes, line):
    assert option(arguments(replace(BOOT, **changes)), "-append") == [line]


def test_the_network_of_a_guest_is_that_of_its_first_address_unless_its_owner_writes_it():
    [network] = command_line.networks(SPEC, BOOT)
    assert network == {
        "name": "eth0",
        "mac": SPEC.mac,
        "addresses": ["198.18.0.7/24"],
        "gateways": ["198.18.0.1"],
        "resolvers": ["198.18.0.254"],
        "router_advertisements": True,
    }
    assert command_line.networks(SPEC, replace(BOOT, helpers={"network": False})) is None
    assert command_line.networks(SPEC, replace(BOOT, ipv4=())) is None


@pytest.mark.parametrize(
    ("root", "name"),
    [("/dev/sdb", "b"), ("UUID=1", "a"), ("/dev/sdz", "a"), ("/dev/sdc", None), ("/dev/sda1", "a")],
)
def test_the_system_is_on_the_disk_of_the_root_device(root, name):
    drives = [Drive("a", "x", 0), Drive("b", "y", 1), Drive("c", "z", 2, "data")]
    boot = replace(BOOT, root_device=root, devices={"sda": "a", "sdb": "b", "sdc": "c"})
    found = command_line.root_disk(boot, drives)
    assert (found and found.name) == name


@pytest.mark.parametrize("root", ["/dev/sda init=/bin/sh", "", "a" * 200, "/dev/sda\n"])
def test_a_root_device_is_one_word(root):
    with pytest.raises(Refused):
        arguments(replace(BOOT, root_device=root))


def test_without_a_kernel_the_first_disk_is_booted():
    drives = [Drive("skerry-7-disk-1", "disks/skerry-7-disk-1.raw", 0), Drive("skerry-7-disk-2", "x", 1)]
    found = arguments(kernel=None, drives=drives)
    assert "-kernel" not in found
    assert [each.get("bootindex") for each in devices(found, "scsi-hd")] == [1, None]


# --- devices ------------------------------------------------------------------------------------------------------


def test_disks_have_the_number_of_their_slot_and_volumes_the_name_that_udev_makes_a_link_of():
    drives = [
        Drive("skerry-7-disk-1", "disks/a,b.raw", 0),
        Drive("skerry-volume-7", "/shared/volumes/skerry-volume-7.raw", 7, "my_data-1"),
    ]
    found = arguments(drives=drives)
    disk, volume = devices(found, "scsi-hd")
    assert (disk["lun"], disk["vendor"], disk["product"]) == (0, "Skerry", "Disk")
    assert (volume["lun"], volume["vendor"], volume["product"], volume["device_id"]) == (
        7, "Skerry", "Volume", "my_data-1",
    )  # fmt: skip
    nodes = [json.loads(each) for each in option(found, "-blockdev")]
    assert [each["file"]["filename"] for each in nodes] == ["disks/a,b.raw", "/shared/volumes/skerry-volume-7.raw"]
    assert all(len(each["node-name"]) <= 31 for each in nodes)


def test_a_host_may_limit_operations_bytes_both_or_nothing():
    sides = {"iops_rd": 0, "iops_wr": 0, "bps_rd": 0, "bps_wr": 0}
    found = command_line.limits(Settings(disk_iops=300, disk_rate=20))
    assert found == {"group": "limits", "iops": 300, "bps": 20_000_000, **sides}
    assert command_line.limits(Settings(disk_iops=0, disk_rate=20)) == {**found, "iops": 0}
    assert command_line.limits(Settings(disk_iops=0, disk_rate=0)) is None
    assert command_line.limits(Settings()) == {**found, "iops": 20_000, "bps": 500_000_000}


def test_sockets_have_names_without_directories():
    found = arguments()
    assert option(found, "-qmp") == [f"unix:{name},server=on,wait=off" for name in ("qmp", "ask", "watch")]
    assert "path=console,server=on,wait=off,logfile=console.log" in option(found, "-chardev")[0]
    assert "spawn=deny" in option(found, "-sandbox")[0]
    assert "-daemonize" not in found


def test_a_boot_has_its_memory_and_the_machine_its_cores():
    found = arguments()
    assert option(found, "-m") == ["1024M"]
    assert option(found, "-smp") == ["2"]
    assert devices(found, "virtio-net-pci")[0]["mac"] == SPEC.mac


@pytest.mark.parametrize(
    ("address", "gateway", "server"),
    [
        ("198.18.0.7", "198.18.0.1", "198.18.0.254"),
        ("198.18.0.1", "198.18.0.2", "198.18.0.254"),
        ("198.18.0.254", "198.18.0.1", "198.18.0.253"),
    ],
)
def test_user_mode_network_has_the_machines_own_address_and_gateway(address, gateway, server):
    [found] = option(arguments(replace(BOOT, ipv4=(address,), ipv6=None)), "-netdev")
    assert found == (
        f"user,id=public,net=198.18.0.0/24,host={gateway},dns={server},dhcpstart={address}"
        f",hostfwd=tcp:127.0.0.1:40022-{address}:22"
    )


def test_user_mode_network_announces_the_network_of_the_ipv6_address():
    [found] = option(arguments(), "-netdev")
    assert "ipv6-net=2001:db8:77:1::/64,ipv6-host=2001:db8:77:1::1" in found


def test_a_host_with_networking_has_an_interface_for_each_machine():
    [found] = option(arguments(networking=True), "-netdev")
    assert found == "tap,id=public,ifname=sk-7,script=no,downscript=no"


@pytest.mark.parametrize(("accel", "first"), [("kvm", "kvm"), ("tcg", "tcg,thread=multi,tb-size=64")])
def test_machines_run_by_kvm_or_emulated(accel, first):
    found = command_line.arguments(SPEC, BOOT, (), Settings(), accel, HOST_KERNEL, None)
    assert option(found, "-accel") == [first]
    assert "hostfwd" not in option(found, "-netdev")[0]
