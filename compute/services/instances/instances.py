"""Creating, changing and deleting instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Model

from accounts.actors import Actor
from accounts.models import Event
from accounts.services.account import lock_account
from accounts.services.events import EntityRef, record_event
from accounts.services.grants import grant_creator
from compute.jobs.data import BackupProvisionData, ProvisionData
from compute.jobs.queue import enqueue, enqueue_with_rows
from compute.models import Backup, Config, Firewall, Image, Instance, InstanceType, Job, PacketFilter
from compute.refs import backup_ref, image_ref, instance_ref
from compute.services.backups.content import archives_of, draw_row_keys, rows_of, vlans_kept
from compute.services.backups.restores import check_place, lock_backup
from compute.services.backups.settings import NOT_OFFERED, is_offered, scheduled, switch_on
from compute.services.common.labels import NewLabel
from compute.services.common.locks import check_writable
from compute.services.common.regions import NO_SUCH_TYPE, capability_of, check_region
from compute.services.hosts.deployable import NOT_THERE
from compute.services.hosts.placement import REGION_FULL, place
from compute.services.instances.deploy import (
    DEFAULT_SWAP,
    PLAN_ROWS,
    Deploy,
    DeploySpec,
    check_deploy,
    fill_plan,
    find_image,
    is_available,
)
from compute.services.instances.lookups import find_choices
from compute.services.networking import addresses
from compute.services.networking.firewalls.delivery import first_filters
from compute.services.networking.firewalls.firewalls import named_firewall, put_on_new
from compute.services.networking.interfaces import check_interfaces
from compute.services.networking.vlans import bring_vlans, check_vlans, record_vlan_changes, vlans_in, vlans_of
from compute.services.stackscripts.stackscripts import count_deployment
from compute.services.usage import recording
from config.db.inserts import draw_keys
from config.db.rows import differing, lock, write
from config.db.unique import note_taken
from config.errors import Invalid, Problems
from regions.models import Region
from tags.services import check_tags, differing_tags, set_tags


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSpec(DeploySpec):
    """A client's request for an instance. Sizes are in MB. With `backup_id`, fields for image deploys are unused.

    A request without region or type is refused, because they failed a check before.
    """

    region: str | None = None
    type: str | None = None
    label: str | None = None
    booted: bool = True
    swap_size: int = DEFAULT_SWAP
    private_ip: bool = False
    interfaces: tuple[dict[str, Any], ...] = ()
    group: str = ""
    tags: tuple[str, ...] = ()
    backup_id: int | None = None
    backups_enabled: bool | None = None
    """The client's choice. If the account enables backups for new instances, they have backups in any case."""
    firewall_id: int | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """The objects that a spec names, found and checked."""

    type: InstanceType
    region: Region
    network: str | None
    deploy: Deploy
    backups: bool
    network_helper: bool
    mail_ports_closed: bool
    limits: Mapping[str, int | None]
    interfaces: tuple[dict[str, str], ...]
    backup: Backup | None
    firewall: Firewall | None


def create(actor: Actor, spec: InstanceSpec, problems: Problems | None = None) -> Instance:
    """Create an instance of the actor's account, and the job that provisions it.

    Raises `Invalid` with every failing field, after those in `problems`. A label that another instance of the
    account has is refused by the database's own constraint, and so only if nothing else is wrong. Raises `Invalid`
    without a field if the account's quotas do not allow one more instance of the type. Raises `Denied` on
    ``backup_id`` if the actor may only read the backup's instance, and on ``firewall_id`` if the actor may only
    read the firewall. Everything is written, or nothing.
    """
    label = NewLabel(Instance, actor.account_id, spec.label)
    while True:
        try:
            return _create(actor, spec, problems, label)
        except IntegrityError as error:
            label.retry_after(error)


@transaction.atomic
def _create(actor: Actor, spec: InstanceSpec, problems: Problems | None, label: NewLabel) -> Instance:
    plan = _check(actor, spec, problems or Problems())
    # all keys first: label, addresses and machine name derive from the instance's, and one statement inserts all
    key, event_key, job_key, *row_keys = draw_keys(Instance, Event, Job, *(PLAN_ROWS if plan.deploy.image else ()))
    instance = Instance(id=key, account_id=actor.account_id, region=plan.region, type=plan.type)
    instance.label = label.of(instance.pk)
    instance.image = plan.deploy.image
    instance.group = spec.group
    instance.alert_cpu = 90 * plan.type.vcpus
    instance.ipv4 = [addresses.take(plan.region.pk, instance.pk, public=True)]
    if spec.private_ip:
        instance.ipv4.append(addresses.take(plan.region.pk, instance.pk, public=False))
    if plan.network:
        instance.ipv6 = f"{addresses.slaac_address(plan.network, instance.pk)}/128"
    if spec.tags:
        instance.tags = set_tags(actor.account_id, "compute", instance.pk, list(spec.tags))
    if plan.backups:
        switch_on(instance)
    if plan.backup:
        first = _from_backup(instance, plan.backup, spec.booted)
    else:
        first = _from_image(instance, plan, spec, row_keys)
    vlans = vlans_of(first.configs)
    bring_vlans(actor.account_id, plan.region.pk, vlans)
    grant_creator(actor, "compute", instance.pk)
    if plan.deploy.script:
        count_deployment(plan.deploy.script.script)
    # last: all creates in the region lock the row of one of its few hosts until they commit
    instance.host = place(instance, plan.type, plan.region.pk, image=plan.deploy.image)
    enqueue_with_rows(
        first.kind,
        instance,
        actor,
        keys=(event_key, job_key),
        rows=(instance, *_first_filters(instance, plan), *first.rows),
        data=first.data,
        secrets=plan.deploy.secrets,
        secondary=first.secondary,
    )
    record_vlan_changes(actor, instance, set(), vlans)
    if plan.firewall:
        put_on_new(actor, plan.firewall, instance)
    recording.begin(instance, plan.limits)
    return instance


def _first_filters(instance: Instance, plan: _Plan) -> list[PacketFilter]:
    filtered = plan.firewall is not None and plan.firewall.status == Firewall.Status.ENABLED
    return first_filters(instance, mail_ports_closed=plan.mail_ports_closed, filtered=filtered)


@dataclass(frozen=True, slots=True)
class _First:
    """The first rows of a new instance, and the job that makes its disks."""

    kind: str
    rows: list[Model]
    configs: list[Config]
    secondary: EntityRef | None
    data: ProvisionData


def _from_image(instance: Instance, plan: _Plan, spec: InstanceSpec, keys: Sequence[int]) -> _First:
    """Return the disks and the profile of an image deploy, or nothing without an image."""
    image = plan.deploy.image
    if image is None:
        return _First("provision", [], [], None, ProvisionData(boot=False))
    script = plan.deploy.script.script if plan.deploy.script else None
    config, rows = fill_plan(
        instance, image, script, spec.swap_size, plan.interfaces, keys, network_helper=plan.network_helper
    )
    data = ProvisionData(boot=spec.booted, config_id=config.pk)
    return _First("provision", rows, [config], image_ref(image), data)


def _from_backup(instance: Instance, backup: Backup, booted: bool) -> _First:
    """Return disks and profiles as in the backup, including root's password."""
    instance.status = Instance.Status.RESTORING
    keys = draw_row_keys(backup.content)
    restored = rows_of(backup.content, instance, keys)
    instance.image_id = restored.image
    boots = restored.boots
    data = BackupProvisionData(
        boot=booted and boots is not None,
        config_id=boots.pk if boots else None,
        backup_id=backup.pk,
        archives=archives_of(backup.content, keys),
    )
    return _First("provision_from_backup", restored.rows, restored.configs, backup_ref(backup), data)


# --- checks -------------------------------------------------------------------------------------------


def _check(actor: Actor, spec: InstanceSpec, problems: Problems) -> _Plan:
    firewall = named_firewall(actor, spec.firewall_id, problems)  # before the image and the backup: it is locked
    choices = find_choices(actor, spec.type, spec.region, spec.image)
    plan_type, region, image = choices.type, choices.region, choices.image
    if image and not image.is_public:
        if spec.interfaces or spec.backup_id is not None:
            lock_account(actor.account_id)  # before the image, for VLANs of the profiles or of the backup
        image = find_image(actor, image.pk)  # an account's own may be deleted meanwhile: locked
    if plan_type is None and spec.type is not None:
        problems.add("type", NO_SUCH_TYPE)
    if spec.region is not None:
        fits = check_region(region, capability_of(plan_type), problems)
        if fits and plan_type and not choices.fits:
            problems.add("region", REGION_FULL)
    if image and not choices.deploys and "region" not in problems:
        problems.add("image", NOT_THERE)
    if plan_type and image and is_available(image) and spec.backup_id is None and "swap_size" not in problems:
        _check_disk_space(spec, image, plan_type, problems)
    deploy = check_deploy(actor, _to_deploy(spec, problems), image, problems)
    interfaces = _check_interfaces(actor, spec, region, problems)
    backup = _check_backup(actor, spec, plan_type, region, problems)
    if spec.backups_enabled and plan_type and not is_offered(plan_type):
        problems.add("backups_enabled", NOT_OFFERED)
    if spec.tags:
        check_tags(actor, spec.tags, problems)
    if spec.label:
        note_taken(Instance(account_id=actor.account_id, label=spec.label), problems)
    plan_type = problems.checked(plan_type)
    region = problems.checked(region)
    backups = (choices.backups or bool(spec.backups_enabled)) and is_offered(plan_type)
    return _Plan(
        plan_type, region, choices.network, deploy, backups, choices.network_helper, choices.mail_ports_closed,
        choices.limits, interfaces, backup, firewall,
    )  # fmt: skip


def _to_deploy(spec: InstanceSpec, problems: Problems) -> DeploySpec:
    """Return the spec to deploy: with a backup, it has neither image nor script."""
    if spec.backup_id is None:
        return spec
    for name in ("image", "stackscript_id"):
        if getattr(spec, name) is not None:
            problems.add(name, f"{name} cannot be combined with backup_id.")
    return replace(spec, image=None, stackscript_id=None)


def _check_backup(
    actor: Actor, spec: InstanceSpec, plan: InstanceType | None, region: Region | None, problems: Problems
) -> Backup | None:
    """Lock and return the named backup, which must be of an instance that the actor may change, in this region, and
    fit the type."""
    if spec.backup_id is None:
        return None
    lock_account(actor.account_id)  # before the backup, for the VLANs that its profiles may bring
    seen = Instance.objects.visible_to(actor).values("pk")
    backup = lock_backup(Backup.objects.filter(pk=spec.backup_id, instance__in=seen))
    if backup is None:
        problems.add("backup_id", "backup_id is not valid")
        return None
    check_writable(actor, backup.instance, "backup_id")
    if plan and (reason := restore_refusal(backup, plan)):
        problems.add("type", reason)
    if region:
        check_place(backup, region.pk, "region", problems)
        check_vlans(actor.account_id, region, vlans_kept(backup.content), "region", problems)
    return backup


def restore_refusal(backup: Backup, plan: InstanceType) -> str:
    """Return the reason why the type's disk is too small for the disks of the backup; empty if it is not."""
    if backup.size <= plan.disk:
        return ""
    return f"The backup needs {backup.size} MB, and this type has {plan.disk} MB."


def _check_disk_space(spec: InstanceSpec, image: Image, plan: InstanceType, problems: Problems) -> None:
    """Note a problem if the type's disk is too small for both the image and the swap disk."""
    if reason := space_refusal(image, plan, spec.swap_size):
        problems.add("swap_size" if plan.disk >= image.size else "type", reason)


def space_refusal(image: Image, plan: InstanceType, swap_size: int) -> str:
    """Return the reason why the type's disk is too small for both the image and `swap_size` MB of swap; empty if it
    is not."""
    if plan.disk - swap_size >= image.size:
        return ""
    return f"The image ({image.size} MB) and {swap_size} MB of swap need more disk space than this type has."


def _check_interfaces(
    actor: Actor, spec: InstanceSpec, region: Region | None, problems: Problems
) -> tuple[dict[str, str], ...]:
    """Return the interfaces of the new profile. Without an image there is no profile, and no VLAN is named."""
    found = Problems()
    interfaces = check_interfaces(spec.interfaces, region, found)
    problems.extend(found)
    vlans = vlans_in(interfaces)
    if vlans and region and spec.image and not found:
        lock_account(actor.account_id)
        check_vlans(actor.account_id, region, vlans, "interfaces", problems)
    return tuple(interfaces)


# --- changing and deleting ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InstanceChanges:
    """The fields of a PUT: `fields` are column values, `tags` are None if not given."""

    fields: dict[str, Any]
    tags: tuple[str, ...] | None = None


@transaction.atomic
def update(
    actor: Actor, instance: Instance, changes: InstanceChanges, problems: Problems | None = None
) -> Instance:
    """Write the values that differ, with one ``compute_update`` event if any do. Works whatever job runs.

    Returns the instance as it is then. Raises `Invalid` with every failing field, `Denied` if a restricted user
    changes tags, `Missing` if the instance is gone.
    """
    problems = problems or Problems()
    # locked, so that of two requests that change its tags, the later one's are in both tables
    locked = lock(Instance.objects.filter(pk=instance.pk))
    wanted = differing(locked, scheduled(locked, changes.fields))
    tags = differing_tags(changes.tags, locked.tags)
    if tags is not None:
        check_tags(actor, tags, problems)
    if "label" in wanted:
        locked.label = wanted["label"]
        note_taken(locked, problems)
    problems.raise_any()
    if tags is not None:
        wanted["tags"] = set_tags(locked.account_id, "compute", locked.pk, tags)
    if wanted:
        write(locked, wanted, "updated")
        record_event(actor, "compute_update", instance_ref(locked))
    return locked


@transaction.atomic
def add_tag(actor: Actor, instance: Instance, tag: str) -> Instance:
    """Add a tag. Other tags stay, including those of a request at the same moment. Raises as `update` does."""
    locked = lock(Instance.objects.filter(pk=instance.pk))
    return update(actor, locked, InstanceChanges({}, (*locked.tags, tag)))


@transaction.atomic
def remove_tag(actor: Actor, instance: Instance, tag: str) -> Instance:
    """Remove a tag, as `add_tag` adds one."""
    locked = lock(Instance.objects.filter(pk=instance.pk))
    return update(actor, locked, InstanceChanges({}, tuple(each for each in locked.tags if each != tag)))


def delete(actor: Actor, instance: Instance) -> Job | None:
    """Delete the instance with its disks, profiles and addresses.

    Its label is free at once, so the job is retried until the instance is gone. Another running job is ended, but a
    clone or a restore of the instance refuses the deletion. Returns None if the instance is already being deleted:
    that deletion continues, with its event.
    """
    try:
        with transaction.atomic():
            job = enqueue("delete", instance, actor)
            parts = recording.parts_of(instance)
            recording.record(instance.account_id, addresses=True, check=False, **parts)
            return job
    except Invalid:
        if Instance.objects.filter(pk=instance.pk, status=Instance.Status.DELETING).exists():
            return None
        raise
