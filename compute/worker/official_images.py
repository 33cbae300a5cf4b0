"""Official images of hosts: an operator's file becomes an image that each host deploys."""

import time
from pathlib import Path
from typing import Any

from compute.drivers.base import DriverError, Progress
from compute.drivers.qemu.host_setup import Operator
from compute.drivers.qemu.transport import Local
from compute.models import Host
from compute.worker.hosts import Checked, NotReady, check
from compute.worker.joining import is_by_ssh, operator

DRIVER = "qemu"


def import_image(
    host: Host, file: Path, image: str, label: str | None = None, replace: bool = False, identity: str = ""
) -> Checked:
    """Import the file of a disk as an official image of a host, and record it in the host's row.

    An existing image of the host stays, unless `replace` is set. Disks that were deployed from it are not affected.
    A host on another machine is reached as its administrator, by the operator's own ssh. Raises `NotReady` if the
    host cannot be reached or the file is no image.
    """
    try:
        if is_by_ssh(host):
            by_ssh = operator(host, identity)
            with by_ssh.uploaded_copy(file) as place:
                _import(by_ssh, place, image, label, replace)
        else:
            _import(Local(host.location, host.shared), str(file.absolute()), image, label, replace)
    except DriverError as error:
        raise NotReady(f"{host.label}: {error}") from error
    return check(host)


def _import(agent: Operator | Local, file: str, image: str, label: str | None, replace: bool) -> None:
    if replace:
        agent.call("delete_image", image=image)
    wanted: dict[str, Any] = {"image": image, "file": file, "os_name": label}
    while not (progress := Progress(**agent.call("import_image", **wanted))).done:
        time.sleep(progress.wait)
