"""Fields of instances: create, disks, profiles, backups, clones, moves; of images and StackScripts."""

from typing import Any

from compute.models import Kernel
from regions.models import Region
from tests.factories import InstanceFactory, InstanceTypeFactory, StackScriptFactory
from tests.policy import Scene
from tests.world import STRONG

WEAK = "1234567"
NO_KEY = ["ssh-rsa nothing"]
SLOT = {"sda": {"disk_id": 0}}


def another_compute(scene: Scene) -> str:
    """Return the label of another compute of the account."""
    world = scene.world
    place = {"region": world.region, "type": world.type, "host": world.host}
    return InstanceFactory(account=scene.account, label="taken-label", **place).label


def asking(scene: Scene) -> int:
    """Return a script that requires a value."""
    return StackScriptFactory(account=scene.account, script='#!/bin/sh\n# <UDF name="who" label="Who"/>').pk


def deploy(scene: Scene) -> dict[str, Any]:
    """Return a deployment with all possible fields."""
    return {
        "image": scene.world.image.pk,
        "root_pass": STRONG,
        "stackscript_id": asking(scene),
        "stackscript_data": {"who": "me"},
    }


def wrong_deploy(scene: Scene) -> dict[str, Any]:
    return {
        "image": "private/0",
        "root_pass": WEAK,
        "authorized_keys": NO_KEY,
        "authorized_users": ["nobody"],
        "stackscript_id": 0,
        "stackscript_data": {"who": []},
    }


def large_type(scene: Scene) -> str:
    return InstanceTypeFactory(id="g6-large", disk=102400).pk


def no_xen(scene: Scene) -> str:
    """Return a kernel that the platform's hypervisors do not boot."""
    return Kernel.objects.create(id="compute/xen", label="Xen", version="2.6", kvm=False, architecture="i386").pk


def config(scene: Scene) -> dict[str, Any]:
    return {
        "kernel": no_xen(scene),
        "memory_limit": scene.world.type.memory + 1,
        "interfaces": [{"purpose": "vlan"}],
        "devices": SLOT,
    }


def elsewhere(scene: Scene) -> dict[str, Any]:
    """Return a clone to a place of its own."""
    region = Region.objects.create(id="us-other", country="us", capabilities=["Computes"])
    return {"region": region.pk, "type": large_type(scene), "label": "a-clone"}


WRONG: dict[str, Any] = {
    "POST /v4/compute/instances": lambda scene: {
        **wrong_deploy(scene),
        "region": "mars",
        "type": "none",
        "label": another_compute(scene),
        "tags": ["x"],
        "interfaces": [{"purpose": "vlan"}],
        "swap_size": 25_000,
    },
    "PUT /v4/compute/instances/{id}": lambda scene: {"label": another_compute(scene), "tags": ["x"]},
    "POST /v4/compute/instances/{id}/boot": lambda scene: {"config_id": 1},
    "POST /v4/compute/instances/{id}/reboot": lambda scene: {"config_id": 1},
    "POST /v4/compute/instances/{id}/rescue": lambda scene: {"devices": SLOT},
    "POST /v4/compute/instances/{id}/resize": lambda scene: {"type": "none"},
    "POST /v4/compute/instances/{id}/rebuild": wrong_deploy,
    "POST /v4/compute/instances/{id}/password": lambda scene: {"root_pass": WEAK},
    "POST /v4/compute/instances/{id}/migrate": lambda scene: {"region": "mars", "upgrade": True},
    "POST /v4/compute/instances/{id}/clone": lambda scene: {
        "region": "mars",
        "type": "none",
        "compute_id": 0,
        "label": another_compute(scene),
        "disks": [0],
        "configs": [0],
    },
    "POST /v4/compute/instances/{compute_id}/disks": lambda scene: {
        **wrong_deploy(scene),
        "size": 100_000,
        "filesystem": "swap",
    },
    "PUT /v4/compute/instances/{compute_id}/disks/{id}": lambda scene: {"size": 100_000},
    "POST /v4/compute/instances/{compute_id}/disks/{id}/password": lambda scene: {"password": WEAK},
    "POST /v4/compute/instances/{compute_id}/disks/{id}/resize": lambda scene: {"size": 100_000},
    "POST /v4/compute/instances/{compute_id}/configs": config,
    "PUT /v4/compute/instances/{compute_id}/configs/{id}": config,
    "POST /v4/compute/instances/{compute_id}/backups/{id}/restore": lambda scene: {"compute_id": 0},
    "POST /v4/images/upload": lambda scene: {"region": "mars"},
    "POST /v4/compute/stackscripts": lambda scene: {
        "description": "x" * 65_536,
        "images": ["none"],
        "rev_note": "x" * 513,
        "script": "<UDF/>",
    },
    "PUT /v4/compute/stackscripts/{id}": lambda scene: {
        "description": "x" * 65_536,
        "images": ["none"],
        "rev_note": "x" * 513,
        "script": "<UDF/>",
    },
}
FULL_BODIES: dict[str, Any] = {
    "POST /v4/compute/instances": lambda scene: {
        **deploy(scene),
        "region": scene.world.region.pk,
        "type": scene.world.type.pk,
        "label": "a-compute",
    },
    "POST /v4/compute/instances/{id}/rebuild": deploy,
    "POST /v4/compute/instances/{compute_id}/disks": lambda scene: {**deploy(scene), "size": 5000},
}
SCRIPT = [("stackscript_id", "stackscript_data")]
"""The script defines which values it requires."""
BACKUP = [("backup_id", name) for name in ("stackscript_data", "swap_size")]
"""A restore from a backup deploys nothing, so these fields are not checked."""
DEPENDENT: dict[str, list[tuple[str, str]]] = {
    "POST /v4/compute/instances": [
        *SCRIPT,
        *BACKUP,
        # a deployment's swap is compared with its image's size and the type's disk
        ("image", "swap_size"),
        ("type", "swap_size"),
    ],
    "POST /v4/compute/instances/{id}/rebuild": SCRIPT,
    # whether a type can hold the disks, and is newer than the present one, is checked only for a known type
    "POST /v4/compute/instances/{compute_id}/disks": [*SCRIPT, ("image", "filesystem")],
    # a clone into an existing compute has neither a label nor a place of its own
    "POST /v4/compute/instances/{id}/clone": [("compute_id", name) for name in ("region", "type", "label")],
}
