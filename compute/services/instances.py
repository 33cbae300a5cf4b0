"""Creating, changing and deleting instances."""

from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Model

from accounts.actors import Actor
from accounts.models import Event, SSHKey
from accounts.services.events import notify
from accounts.services.grants import grant_creator
from accounts.ssh_keys import parse_public_key
from compute.jobs.queue import begin, enqueue
from compute.models import Config, ConfigDevice, Disk, Image, Instance, InstanceType, Job
from compute.services import addresses
from compute.services.offer import find_offer
from compute.services.passwords import WEAK, is_strong
from compute.services.placement import FULL, place
from compute.services.refs import image_ref, instance_ref
from compute.services.scripts import Deployment, count_deployment, resolve
from config.errors import Problems
from config.inserts import draw_keys
from regions.models import Region
from tags.services import check_labels, check_may_tag, set_tags

DEFAULT_SWAP = 512
DEPLOYED_KERNEL = "compute/grub2"
CAPABILITY = {"gpu": "GPU Computes", "metal": "Bare Metal"}


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """What a client asks for. Sizes in MB. `root_pass` and the keys are secrets and never shown."""

    region: str
    type: str
    label: str | None = None
    image: str | None = None
    root_pass: str | None = field(default=None, repr=False)
    authorized_keys: tuple[str, ...] = field(default=(), repr=False)
    authorized_users: tuple[str, ...] = ()
    stackscript_id: int | None = None
    stackscript_data: dict[str, Any] | None = field(default=None, repr=False)
    booted: bool = True
    swap_size: int = DEFAULT_SWAP
    private_ip: bool = False
    interfaces: tuple[dict[str, Any], ...] = ()
    group: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a spec names, found and checked."""

    type: InstanceType
    region: Region
    image: Image | None
    network: str | None
    keys: tuple[str, ...]
    script: Deployment | None


@transaction.atomic
def create(actor: Actor, spec: InstanceSpec) -> Instance:
    """Make an instance of the actor's account and the job that provisions it.

    Reports every failing field at once (`Invalid`); a label that another instance of the account has is refused
    by the database's own constraint. Everything is written, or nothing.
    """
    plan = _check(actor, spec)
    # all keys first: label, addresses and machine name derive from the instance's, and one statement inserts all
    key, *event_and_job = draw_keys(Instance, Event, Job)
    instance = Instance(id=key, account_id=actor.account_id, region=plan.region, type=plan.type)
    instance.label = spec.label or f"compute{instance.pk}"
    instance.image = plan.image
    instance.group = spec.group
    instance.alert_cpu = 90 * plan.type.vcpus
    instance.ipv4 = [addresses.take(plan.region.pk, instance.pk, public=True)]
    if spec.private_ip:
        instance.ipv4.append(addresses.take(plan.region.pk, instance.pk, public=False))
    if plan.network:
        instance.ipv6 = f"{addresses.slaac_address(plan.network, instance.pk)}/128"
    if spec.tags:
        instance.tags = set_tags(actor.account_id, "compute", instance.pk, list(spec.tags))
    config, parts = _deploy(instance, plan, spec) if plan.image else (None, [])
    grant_creator(actor, "compute", instance.pk)
    secrets: dict[str, Any] = {"root_pass": spec.root_pass, "authorized_keys": plan.keys} if plan.image else {}
    if plan.script:
        secrets["script"] = plan.script.text
        count_deployment(plan.script.script)
    # last: all creates in the region want the row of one of its few hosts, and hold it until they commit
    instance.host = place(instance, plan.type, plan.region.pk)
    begin(
        "provision",
        instance,
        actor,
        keys=(event_and_job[0], event_and_job[1]),
        along=(instance, *parts),
        data={"boot": bool(config and spec.booted), "config": config and config.pk},
        secrets=secrets,
        secondary=image_ref(plan.image),
    )
    return instance


def _deploy(instance: Instance, plan: _Plan, spec: InstanceSpec) -> tuple[Config, list[Model]]:
    """The disks of an image deploy, which fill the plan, and the profile that boots from them.

    Returns the profile, and all rows that are to be inserted.
    """
    config_key, *keys = draw_keys(Config, Disk, ConfigDevice, Disk, ConfigDevice)
    image = plan.image
    assert image is not None  # noqa: S101  (the caller asked for it)
    name = image.label
    disks = [
        Disk(
            instance=instance,
            label=f"{name} Disk"[:48],
            size=plan.type.disk - spec.swap_size,
            filesystem=Disk.Filesystem.EXT4,
            image=image,
            stackscript=plan.script.script if plan.script else None,
        )
    ]
    if spec.swap_size:
        label = f"{spec.swap_size}MB Swap Image"
        disks.append(Disk(instance=instance, label=label, size=spec.swap_size, filesystem=Disk.Filesystem.SWAP))
    for disk, key in zip(disks, keys[::2], strict=False):
        disk.pk = key
    config = Config(
        pk=config_key,
        instance=instance,
        label=f"My {name} Disk Profile"[:48],
        kernel_id=DEPLOYED_KERNEL,
        interfaces=list(spec.interfaces),
    )
    slots = zip(keys[1::2], ConfigDevice.SLOTS, disks, strict=False)
    devices = [ConfigDevice(pk=key, config=config, slot=slot, disk=disk) for key, slot, disk in slots]
    return config, [*disks, config, *devices]


# --- checks -------------------------------------------------------------------------------------------


def _check(actor: Actor, spec: InstanceSpec) -> _Plan:
    problems = Problems()
    offer = find_offer(actor, spec.type, spec.region, spec.image)
    plan_type, region, image = offer.type, offer.region, offer.image
    if plan_type is None:
        problems.add("type", "type is not valid")
    if region is None:
        problems.add("region", "region is not valid")
    if plan_type and region:
        needs = CAPABILITY.get(plan_type.type_class, "Computes")
        if needs not in region.capabilities:
            problems.add("region", f"This region does not offer {needs}.")
        elif not offer.room:
            problems.add("region", FULL)
    if spec.image:
        _check_image(spec, image, plan_type, problems)
    if spec.root_pass is not None and not is_strong(spec.root_pass):
        problems.add("root_pass", WEAK)
    keys = (*_own_keys(spec, problems), *_users_keys(actor, spec, problems))
    script = resolve(actor, spec.stackscript_id, spec.stackscript_data, spec.image, problems)
    _check_interfaces(spec, problems)
    if spec.tags:
        check_may_tag(actor)
        for index, reason in check_labels(spec.tags):
            problems.add(f"tags[{index}]", reason)
    problems.raise_any()
    assert plan_type is not None  # noqa: S101 - or else there were problems
    assert region is not None  # noqa: S101
    return _Plan(plan_type, region, image, offer.network, keys, script)


def _check_image(spec: InstanceSpec, image: Image | None, plan: InstanceType | None, problems: Problems) -> None:
    if image is None or image.status != Image.Status.AVAILABLE:
        problems.add("image", "image is not valid")
    elif plan and plan.disk - spec.swap_size < image.size:
        problems.add(
            "swap_size" if plan.disk >= image.size else "type",
            f"The image needs {image.size} MB, which this type does not have beside {spec.swap_size} MB of swap.",
        )
    if not spec.root_pass:
        problems.add("root_pass", "root_pass is required")


def _own_keys(spec: InstanceSpec, problems: Problems) -> list[str]:
    for index, key in enumerate(spec.authorized_keys):
        try:
            parse_public_key(key)
        except ValueError as error:
            problems.add(f"authorized_keys[{index}]", str(error))
    return list(spec.authorized_keys)


def _users_keys(actor: Actor, spec: InstanceSpec, problems: Problems) -> list[str]:
    """The profile keys of the named users of this account; each must have at least one."""
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
            problems.add(f"authorized_users[{index}]", f"{username} has no SSH key on the profile")
    return [key for username in dict.fromkeys(spec.authorized_users) for key in found.get(username, [])]


def _check_interfaces(spec: InstanceSpec, problems: Problems) -> None:
    """At most three, at most one public, which has neither label nor address. VLANs are not offered yet."""
    if len(spec.interfaces) > 3:
        problems.add("interfaces", "At most three interfaces are allowed.")
    purposes = [interface.get("purpose") for interface in spec.interfaces]
    for index, interface in enumerate(spec.interfaces):
        if purposes[index] == "vlan":
            problems.add(f"interfaces[{index}].purpose", "VLANs are not offered yet.")
        elif purposes[index] == "public":
            for name in ("label", "ipam_address"):
                if interface.get(name):
                    problems.add(f"interfaces[{index}].{name}", f"A public interface has no {name}.")
    if purposes.count("public") > 1:
        problems.add("interfaces", "Only one interface may be public.")


# --- changing and deleting ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InstanceChanges:
    """The fields of a PUT that were given; `fields` are column values, `tags` None when not given."""

    fields: dict[str, Any]
    tags: tuple[str, ...] | None = None


@transaction.atomic
def update(actor: Actor, instance: Instance, changes: InstanceChanges) -> None:
    """Write what differs, and one ``compute_update`` event when anything does. Works whatever job runs."""
    wanted = {name: value for name, value in changes.fields.items() if getattr(instance, name) != value}
    if changes.tags is not None and list(changes.tags) != list(instance.tags):
        check_may_tag(actor)
        problems = Problems()
        for index, reason in check_labels(changes.tags):
            problems.add(f"tags[{index}]", reason)
        problems.raise_any()
        wanted["tags"] = set_tags(actor.account_id, "compute", instance.pk, list(changes.tags))
    if not wanted:
        return
    for name, value in wanted.items():
        setattr(instance, name, value)
    instance.save(update_fields=[*wanted, "updated"])
    notify(actor, "compute_update", instance_ref(instance))


@transaction.atomic
def delete(actor: Actor, instance: Instance) -> Job:
    """Give the instance up, with its disks, profiles and addresses. Ends another job that may be running,
    except a clone's or a restore's, which refuse."""
    return enqueue("delete", instance, actor)
