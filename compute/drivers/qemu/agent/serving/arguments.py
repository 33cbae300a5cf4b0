"""Checks of the arguments of every verb.

A caller's value is checked before it reaches a program, a file that a program parses, or a path. `calls.VERBS` has
the verbs and the names of their arguments. An argument with a default there may be missing. If a verb takes a
dataclass, the arguments are its fields.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

from compute.drivers.qemu.agent.checks import (
    OTHER_RELEASE,
    Check,
    address,
    blank_or,
    boolean,
    content,
    fields,
    interface,
    ipv4,
    ipv4_network,
    ipv6,
    ipv6_network,
    many,
    network,
    one_of,
    optional,
    row,
    table,
    text,
    whole,
)
from compute.drivers.qemu.agent.disks import machine_disks, systems
from compute.drivers.qemu.agent.disks.transfer import CHUNK
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines.command_line import RUN_LEVELS, SLOTS
from compute.drivers.qemu.agent.networks import packet_filters
from compute.drivers.qemu.agent.networks.nics import MAX_VLAN_NUMBER
from compute.drivers.qemu.agent.settings import ACCELERATORS
from compute.drivers.qemu.agent.store import IMAGE, MACHINE, NAME

MAX_SIZE = 1 << 50
"""Bytes of the largest file."""
MAX_SCRIPT = 1 << 20
MAX_KEYS, MAX_KEY_LENGTH = 1000, 20_000
MAX_INTERFACES, MAX_ADDRESSES, MAX_VOLUMES = 16, 1000, 64
MAX_RULES, MAX_NETWORKS, MAX_RANGES, MAX_LABEL = 200, 1000, 200, 1000
MAX_HOSTS, MAX_CUSTOMER_NETWORKS = 10_000, 300_000
MAX_VERSION = (1 << 63) - 1

machine, name, image = text(MACHINE.pattern), text(NAME.pattern), text(IMAGE.pattern)
megabytes, gigabytes, size = whole(0, MAX_SIZE >> 20), whole(0, MAX_SIZE >> 30), whole(0, MAX_SIZE)
memory, vcpus, mac = whole(1, 1 << 30), whole(1, 4096), text(systems.MAC.pattern)
volume_label = text(r"[A-Za-z0-9_.-]{1,64}")
path = text(r"/[^\x00-\x1f\x7f]{1,4000}")
root_hash, hostname = text(systems.HASH.pattern), text(systems.HOST_NAME.pattern)
key = text(rf"[^\x00-\x08\x0a-\x1f\x7f]{{1,{MAX_KEY_LENGTH}}}")
port = whole(1, 65535)


def port_range(value: Any) -> list[int]:
    """The first and the last port of a range. nft refuses a range whose last port is below its first."""
    first, last = row(port, port)(value)
    if first > last:
        raise ValueError(first, last)
    return [first, last]


INTERFACE = {
    "purpose": one_of("public", "vlan"),
    "number": optional(whole(1, MAX_VLAN_NUMBER)),
    "label": optional(content(100)),
    "ipam_address": optional(blank_or(interface)),
}
RULE = {
    "action": one_of(*packet_filters.ACTIONS),
    "protocol": one_of(*packet_filters.PROTOCOLS),
    "ports": many(port_range, MAX_RANGES),
    "ipv4": many(ipv4_network, MAX_NETWORKS),
    "ipv6": many(ipv6_network, MAX_NETWORKS),
    "label": content(MAX_LABEL),
}
RULES = {
    **dict.fromkeys(("inbound", "outbound"), many(fields(RULE, RULE), MAX_RULES)),
    **dict.fromkeys(("inbound_policy", "outbound_policy"), one_of(*packet_filters.ACTIONS)),
}
FIREWALL = {
    "version": whole(0, MAX_VERSION),
    "rules": optional(fields(RULES, RULES)),
    "closed_ports": many(port, 100),
}
firewall = fields(FIREWALL, FIREWALL)
BOOT = {
    "kernel": text(r"[A-Za-z0-9/._-]{1,100}"),
    "root_device": text(r"[A-Za-z0-9/=_.:-]{1,100}"),
    "run_level": one_of(*RUN_LEVELS),
    "memory": memory,
    "devices": table(one_of(*SLOTS), name, len(SLOTS)),
    "volumes": table(name, volume_label, MAX_VOLUMES),
    "ipv4": many(ipv4, MAX_ADDRESSES),
    "ipv6": optional(ipv6),
    "helpers": table(text(r"[a-z0-9_]{1,50}"), boolean, 50),
    "interfaces": many(fields(INTERFACE, ["purpose"], lenient=True), MAX_INTERFACES),
    "ranges": many(ipv6_network, MAX_ADDRESSES),
    "resolvers": many(address, MAX_ADDRESSES),
    "network_out": optional(whole(0, 1 << 31)),
    "rescue": boolean,
    "firewall": optional(firewall),
}
boot = fields(BOOT, ("kernel", "root_device", "memory", "devices"), lenient=True)
DESCRIPTION = {"name": machine, "memory": memory, "vcpus": vcpus, "mac": mac}
LEFT = {
    "description": fields(DESCRIPTION, DESCRIPTION),
    "firewall": optional(firewall),
    "disks": table(name, row(*[whole(0, (1 << 64) - 1)] * 3), 1000),
}
CHUNK_FIELDS = {
    "version": text(r"[0-9-]{1,100}"),
    "size": size,
    "start": size,
    "next": size,
    "pieces": many(row(size, content(2 * CHUNK)), CHUNK),
}


def a_place(value: Any) -> list[str]:
    """The place of a disk's content: `transfer.path_of`."""
    if isinstance(value, list | tuple) and len(value) == 3:
        return row(one_of("disk"), machine, name)(value)
    return row(one_of("outgoing", "incoming"), name)(value)


def an_image(value: Any) -> str:
    """An official image's id, or the name of an archive."""
    return image(value) if isinstance(value, str) and "/" in value else name(value)


_NONE: dict[str, Check] = {}
_MACHINE: dict[str, Check] = {"machine": machine}
_DISK: dict[str, Check] = {"machine": machine, "disk": name}
_VOLUME: dict[str, Check] = {"volume": name}
_PLACE: dict[str, Check] = {"place": a_place}

ARGUMENTS: dict[str, dict[str, Check]] = {
    "check": {"accel": one_of(*ACCELERATORS), "again": boolean},
    "define": {**_MACHINE, "memory": memory, "vcpus": vcpus, "mac": mac},
    "start": {**_MACHINE, "boot": boot},
    **dict.fromkeys(("undefine", "stop", "power", "ended", "ssh_port", "firewall", "disks"), _MACHINE),
    **dict.fromkeys(("powered_off", "usage", "inventory", "leave_mark"), _NONE),
    "set_aside": {**_MACHINE, "disk": optional(name)},
    "set_volume_aside": _VOLUME,
    "discard": {"name": text(r"[a-z0-9._/-]{1,250}")},
    "set_firewall": {**_MACHINE, "firewall": firewall},
    "set_peers": {
        "underlay": blank_or(ipv4),
        "peers": many(ipv4, MAX_HOSTS),
        "customers": optional(many(network, MAX_CUSTOMER_NETWORKS)),
    },
    "create_disk": {
        **_DISK,
        "size": megabytes,
        "filesystem": one_of(*machine_disks.FILESYSTEMS),
        "image": optional(an_image),
        "copy_of": optional(row(machine, name)),
        "hostname": optional(hostname),
        "root_hash": optional(root_hash),
        "authorized_keys": many(key, MAX_KEYS),
        "script": optional(content(MAX_SCRIPT)),
    },
    "resize_disk": {**_DISK, "size": megabytes},
    "set_password": {**_DISK, "root_hash": root_hash},
    **dict.fromkeys(("delete_disk", "disk_size"), _DISK),
    "save_disk": {**_DISK, "archive": name},
    "create_volume": {**_VOLUME, "size": gigabytes, "copy_of": optional(name), "machine": optional(machine)},
    "grow_volume": {**_VOLUME, "size": gigabytes},
    **dict.fromkeys(("volume_size", "delete_volume", "machine_with"), _VOLUME),
    "take_mark": {"mark": text(r"[0-9a-f]{32}")},
    "plug": {**_MACHINE, **_VOLUME, "label": volume_label},
    "unplug": {**_MACHINE, **_VOLUME},
    "resize_running": {**_DISK, "size": size},
    "read": {**_PLACE, "start": size, "most": whole(0, CHUNK)},
    "write": {**_PLACE, "chunk": fields(CHUNK_FIELDS, CHUNK_FIELDS, lenient=True)},
    **dict.fromkeys(("arrived", "finish", "drop"), _PLACE),
    "import_image": {"image": image, "file": path, "os_name": optional(content(100))},
    "delete_image": {"image": image},
    **dict.fromkeys(("leaving", "arrive", "is_whole"), _MACHINE),
    "expect": {**_MACHINE, "left": fields(LEFT, LEFT)},
}


def _dataclass_of(function: Callable[..., Any]) -> tuple[str, type[Any]] | None:
    """The name and the class of a verb's only argument, if that is a dataclass."""
    taken = list(inspect.signature(function).parameters.values())[1:]
    if len(taken) != 1:
        return None
    annotation = taken[0].annotation
    return (taken[0].name, annotation) if isinstance(annotation, type) and is_dataclass(annotation) else None


def parameters(function: Callable[..., Any]) -> dict[str, bool]:
    """The names of a verb's arguments, each with whether a call must have it."""
    found = _dataclass_of(function)
    taken = list(inspect.signature(function if found is None else found[1]).parameters.values())
    return {each.name: each.default is each.empty for each in (taken[1:] if found is None else taken)}


def checked(verb: str, function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Check the values of a call. Raises `Refused` for invalid ones, `Failed` for arguments of another release."""
    known = ARGUMENTS[verb]
    if values.keys() - known.keys():
        raise Failed(OTHER_RELEASE)
    found = {}
    for argument, is_required in parameters(function).items():
        if argument not in values:
            if is_required:
                raise Refused(f"{verb} needs {argument}.")
            continue
        try:
            found[argument] = known[argument](values[argument])
        except (ValueError, TypeError) as error:
            raise Refused(f"{argument} of {verb} is not valid.") from error
    return found


def packed(function: Callable[..., Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked values as the function's arguments: as they are, or as the dataclass that the verb takes."""
    taken = _dataclass_of(function)
    return dict(found) if taken is None else {taken[0]: taken[1](**found)}
