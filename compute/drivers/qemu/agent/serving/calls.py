"""The verbs of a host's agent by name, for calls in this process or by ssh."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from compute.drivers.qemu.agent import hosts, inventory
from compute.drivers.qemu.agent.disks import images, machine_disks, transfer, volumes
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.machines import arrivals, devices, lifecycle, usage
from compute.drivers.qemu.agent.networks import firewalls, machine_networks
from compute.drivers.qemu.agent.serving import arguments
from compute.drivers.qemu.agent.store import Store

VERBS: dict[str, Callable[..., Any]] = {
    verb.__name__: verb
    for verb in (
        hosts.check,
        lifecycle.define,
        lifecycle.undefine,
        lifecycle.start,
        lifecycle.stop,
        lifecycle.power,
        lifecycle.powered_off,
        lifecycle.ended,
        lifecycle.ssh_port,
        usage.usage,
        inventory.inventory,
        inventory.set_aside,
        inventory.set_volume_aside,
        inventory.discard,
        firewalls.set_firewall,
        firewalls.firewall,
        machine_networks.set_peers,
        machine_disks.create_disk,
        machine_disks.resize_disk,
        machine_disks.set_password,
        machine_disks.delete_disk,
        machine_disks.disks,
        machine_disks.disk_size,
        machine_disks.save_disk,
        volumes.create_volume,
        volumes.grow_volume,
        volumes.volume_size,
        volumes.delete_volume,
        volumes.leave_mark,
        volumes.take_mark,
        devices.plug,
        devices.unplug,
        devices.machine_with,
        devices.resize_running,
        transfer.read,
        transfer.write,
        transfer.arrived,
        transfer.finish,
        transfer.drop,
        images.import_image,
        images.delete_image,
        arrivals.leaving,
        arrivals.expect,
        arrivals.arrive,
        arrivals.is_whole,
    )
}


PROTOCOL = 2
"""The version of the verbs. Version 2 takes packet filters as data, and an agent without a version as text."""


def call(store: Store, verb: str, values: Mapping[str, Any]) -> Any:
    """Call a verb with plain values, and return its result as plain values. Raises `Failed`."""
    function = VERBS.get(verb)
    if function is None:
        raise Refused(f"There is no verb {verb!r:.40}.")
    found = arguments.checked(verb, function, values)
    result = function(store, **arguments.packed(function, found))
    return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result
