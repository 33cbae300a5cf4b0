"""Deploying an image: the client's request, and the disks and the profile that a deploy makes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from accounts.actors import Actor
from accounts.models import SSHKey
from accounts.ssh_keys import parse_public_key
from compute.models import Config, ConfigDevice, Disk, Image, Instance, StackScript
from compute.models.instances import default_helpers
from compute.services.common.password_strength import WEAK, is_strong
from compute.services.stackscripts.stackscripts import Deployment, resolve
from config import word
from config.db.inserts import draw_keys
from config.errors import Problems

DEFAULT_SWAP = 512
DEPLOYED_KERNEL = "compute/grub2"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploySpec:
    """A client's request to deploy a disk. `root_pass`, the keys and the data are secrets and never shown."""

    image: str | None = None
    root_pass: str | None = field(default=None, repr=False)
    authorized_keys: tuple[str, ...] = field(default=(), repr=False)
    authorized_users: tuple[str, ...] = ()
    stackscript_id: int | None = None
    stackscript_data: dict[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Deploy:
    """The objects that a spec names, found and checked; `image` is None if nothing is deployed."""

    image: Image | None
    script: Deployment | None
    secrets: dict[str, Any] = field(repr=False)
    """Secrets of the job that makes the disks: see ``compute.worker.steps.basic.create_disks``."""


def check_deploy(actor: Actor, spec: DeploySpec, image: Image | None, problems: Problems) -> Deploy:
    """Check the whole spec, whose `image` was looked up as one that the actor may use.

    Adds problems under the names of the spec's fields, except fields that have one already. The result is valid
    only without problems. A caller that deploys with a script calls `count_deployment`. The caller also checks
    whether the image fits, since that depends on the disks that are made.
    """
    if spec.image:
        if not is_available(image):
            problems.add("image", "image is not valid")
        if not spec.root_pass and "root_pass" not in problems:
            problems.add("root_pass", "root_pass is required")
    if spec.root_pass is not None and not is_strong(spec.root_pass):
        problems.add("root_pass", WEAK)
    keys = (*_own_keys(spec, problems), *_users_keys(actor, spec, problems))
    script = resolve(actor, spec.stackscript_id, spec.stackscript_data, spec.image, problems)
    secrets: dict[str, Any] = {"root_pass": spec.root_pass, "authorized_keys": keys} if image else {}
    if script:
        secrets["script"] = script.text
    return Deploy(image, script, secrets)


def is_available(image: Image | None) -> bool:
    """Tell whether disks can be deployed from the image: it exists, and is neither waiting for its upload nor being
    made."""
    return image is not None and image.status == Image.Status.AVAILABLE


def find_image(actor: Actor, image_id: str | None) -> Image | None:
    """Return the image of this id that the actor may use, None if there is none.

    An account's own image is locked: a deletion waits, and then finds the disks that are deployed from it.
    """
    image = Image.objects.visible_to(actor).filter(pk=image_id).first()
    if image is None or image.is_public:
        return image
    return Image.objects.select_for_update(no_key=True).filter(pk=image_id, status=Image.Status.AVAILABLE).first()


PLAN_ROWS = (Config, Disk, ConfigDevice, Disk, ConfigDevice)
"""The models of the rows that `fill_plan` makes, in the order in which it uses their keys."""


def draw_plan_keys() -> list[int]:
    """Draw the keys of all rows for a later `fill_plan`; the profile's key comes first."""
    return draw_keys(*PLAN_ROWS)


def fill_plan(
    instance: Instance,
    image: Image,
    script: StackScript | None,
    swap_size: int = DEFAULT_SWAP,
    interfaces: tuple[dict[str, Any], ...] = (),
    keys: Sequence[int] | None = None,
    *,
    network_helper: bool,
) -> tuple[Config, list[Model]]:
    """Return the profile and all rows of a deploy of `image`, with their keys, to be inserted.

    The disks fill the instance's type, and the profile boots from them. `swap_size` is in MB, 0 for no swap disk.
    `network_helper` is the account's setting for new profiles.
    """
    config_key, *keys = keys or draw_plan_keys()
    name = image.label
    disks = [
        Disk(
            instance=instance,
            label=f"{name} Disk"[:48],
            size=instance.type.disk - swap_size,
            filesystem=Disk.Filesystem.EXT4,
            image=image,
            stackscript=script,
        )
    ]
    if swap_size:
        label = f"{swap_size}MB Swap Image"
        disks.append(Disk(instance=instance, label=label, size=swap_size, filesystem=Disk.Filesystem.SWAP))
    for disk, key in zip(disks, keys[::2], strict=False):
        disk.pk = key
    config = Config(
        pk=config_key,
        instance=instance,
        label=f"My {name} Disk Profile"[:48],
        kernel_id=DEPLOYED_KERNEL,
        interfaces=list(interfaces),
        helpers={**default_helpers(), "network": network_helper},
    )
    slots = zip(keys[1::2], ConfigDevice.SLOTS, disks, strict=False)
    devices = [ConfigDevice(pk=key, config=config, slot=slot, disk=disk) for key, slot, disk in slots]
    return config, [*disks, config, *devices]


def _own_keys(spec: DeploySpec, problems: Problems) -> list[str]:
    for index, key in enumerate(spec.authorized_keys):
        try:
            parse_public_key(key)
        except ValueError as error:
            problems.add(f"authorized_keys[{index}]", str(error))
    return list(spec.authorized_keys)


def _users_keys(actor: Actor, spec: DeploySpec, problems: Problems) -> list[str]:
    """Return the SSH keys of the named users of this account. Each user must have at least one key."""
    if not spec.authorized_users:
        return []
    rows = SSHKey.objects.filter(
        user__account_id=actor.account_id, user__username__in=spec.authorized_users, user__is_active=True
    ).values_list("user__username", "ssh_key")
    found: dict[str, list[str]] = {}
    for username, key in rows:
        found.setdefault(username, []).append(key)
    for index, username in enumerate(spec.authorized_users):
        if username not in found:
            problems.add(f"authorized_users[{index}]", f"{word.quoted(username)} has no SSH key on the profile")
    return [key for username in dict.fromkeys(spec.authorized_users) for key in found.get(username, [])]
