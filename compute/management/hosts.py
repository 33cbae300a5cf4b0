"""Functions that the commands about hosts share."""

import re
from collections.abc import Iterator

from django.core.management.base import CommandError

from compute.models import Host
from compute.worker.hosts import Checked


def host_called(label: str) -> Host:
    """Return the host with this label. Raises `CommandError`."""
    host = Host.objects.filter(label=label).first()
    if host is None:
        raise CommandError(f"There is no host {label}.")
    return host


def location_by_ssh(target: str, port: int, directory: str) -> str:
    """Return the location of a host that is reached by ssh, from an operator's input such as ``root@hv1``, 22.

    The port may instead follow the machine's name. Raises `CommandError` for an invalid port.
    """
    user, _, machine = target.rpartition("@")
    if behind := re.fullmatch(r"([^:]+|\[[^]]*\]):(\d+)", machine):
        machine, port = behind[1], int(behind[2])
    if not 0 < port < 1 << 16:
        raise CommandError(f"The ssh port must be a number from 1 to 65535, not {port}.")
    if ":" in machine and not machine.startswith("["):
        machine = f"[{machine}]"
    return f"ssh://{user or 'root'}@{machine}:{port}{directory or '/var/lib/skerry'}"


def describe(checked: Checked) -> str:
    """Return the findings about a host, one line each."""
    return "\n".join(_lines(checked))


def _lines(checked: Checked) -> Iterator[str]:
    host, report = checked.host, checked.report
    state = "takes instances" if host.enabled else "is disabled and takes no new instances"
    yield f"{host.label} {state}: {host.memory} MB of memory, {host.vcpus} cores, {host.disk} MB of disk."
    images = "any image" if host.images is None else ", ".join(host.images) or "no image yet"
    yield f"It deploys {images}, and has {'the volumes of its region' if report.volumes else 'no volumes'}."
    if checked.withdrawn:
        yield f"Its region, {host.region_id}, offers no volumes from now on."
    yield from report.notes
