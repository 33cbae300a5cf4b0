"""Rebuilding an instance: its disks and profiles are deleted, and an image is deployed as on a new one."""

from dataclasses import dataclass

from django.db import transaction

from accounts.actors import Actor
from compute.jobs.data import RebuildData
from compute.jobs.queue import enqueue
from compute.models import Disk, Instance
from compute.refs import image_ref
from compute.services.common.locks import is_busy, lock_any
from compute.services.hosts.deployable import check_deployable
from compute.services.hosts.maintenance import note_maintenance
from compute.services.instances.deploy import (
    DEFAULT_SWAP,
    DeploySpec,
    check_deploy,
    draw_plan_keys,
    find_image,
    is_available,
)
from compute.services.stackscripts.stackscripts import count_deployment
from config.errors import Busy, Problems


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildSpec(DeploySpec):
    """A client's request for a rebuild.

    A request without `image` or `root_pass` is refused, because they failed a check before.
    """

    booted: bool = True


@transaction.atomic
def rebuild(actor: Actor, instance: Instance, spec: RebuildSpec, problems: Problems | None = None) -> Instance:
    """Deploy an image in place of all disks and profiles of the instance, which keeps its id, addresses and
    settings.

    Raises `Invalid` with every failing field, `Busy` while another job is live. A running instance is shut down
    before its disks are deleted. If the job fails before that, everything stays as it was. If it fails later, the
    disks are lost.
    """
    problems = problems or Problems()
    locked = lock_any(instance)
    busy = is_busy(locked)
    image = find_image(actor, spec.image)
    if image and is_available(image) and locked.type.disk - DEFAULT_SWAP < image.size:
        needed = f"The image ({image.size} MB) and {DEFAULT_SWAP} MB of swap"
        problems.add("image", f"{needed} need more disk space than the type has.")
    check_deployable(image, locked.host, problems)
    deploy = check_deploy(actor, spec, image, problems)
    if spec.booted and not busy and "booted" not in problems:
        note_maintenance(locked, problems)
    image = problems.checked(image)
    if busy:
        raise Busy
    if deploy.script:
        count_deployment(deploy.script.script)
    keys = draw_plan_keys()
    data = RebuildData(
        running=locked.status == Instance.Status.RUNNING,
        stopped=locked.status == Instance.Status.STOPPED,
        boot=spec.booted,
        previous_config_id=locked.booted_config_id,
        previous_disk_statuses=dict(locked.disks.values_list("pk", "status")),
        image_id=image.pk,
        previous_image_id=locked.image_id,
        script_id=deploy.script.script.pk if deploy.script else None,
        row_keys=keys,
        config_id=keys[0],
        disk_ids=[keys[1], keys[3]],
    )
    enqueue("rebuild", locked, actor, data=data, secrets=deploy.secrets, secondary=image_ref(image))
    locked.disks.update(status=Disk.Status.DELETING)
    locked.image = image
    locked.save(update_fields=["image", "updated"])
    return locked
