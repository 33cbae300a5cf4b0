"""Creating, changing and deleting instances."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.models import Event
from accounts.services.events import notify
from accounts.services.grants import grant_creator
from compute.jobs.queue import begin, enqueue
from compute.models import Image, Instance, InstanceType, Job
from compute.services import addresses
from compute.services.deploy import DEFAULT_SWAP, Deploy, DeploySpec, check_deploy, fill_plan, is_available
from compute.services.interfaces import check_interfaces
from compute.services.ips import hold_account
from compute.services.offer import find_offer
from compute.services.placement import FULL, place
from compute.services.refs import image_ref, instance_ref
from compute.services.scripts import count_deployment
from compute.services.vlans import bring_vlans, check_vlans, tell, vlans_in, vlans_of
from config.errors import Problems
from config.inserts import draw_keys
from regions.models import Region
from tags.services import check_labels, check_may_tag, set_tags

CAPABILITY = {"gpu": "GPU Computes", "metal": "Bare Metal"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSpec(DeploySpec):
    """What a client asks for. Sizes in MB."""

    region: str
    type: str
    label: str | None = None
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
    network: str | None
    deploy: Deploy
    interfaces: tuple[dict[str, str], ...]


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
    deploy = plan.deploy
    config, parts = fill_plan(instance, deploy, spec.swap_size, plan.interfaces) if deploy.image else (None, [])
    vlans = vlans_of([config]) if config else set()
    bring_vlans(actor.account_id, plan.region.pk, vlans)
    grant_creator(actor, "compute", instance.pk)
    if deploy.script:
        count_deployment(deploy.script.script)
    # last: all creates in the region want the row of one of its few hosts, and hold it until they commit
    instance.host = place(instance, plan.type, plan.region.pk)
    begin(
        "provision",
        instance,
        actor,
        keys=(event_and_job[0], event_and_job[1]),
        along=(instance, *parts),
        data={"boot": bool(config and spec.booted), "config": config and config.pk},
        secrets=deploy.secrets,
        secondary=image_ref(deploy.image),
    )
    tell(actor, instance, set(), vlans)
    return instance


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
    if plan_type and image and is_available(image):
        _check_room(spec, image, plan_type, problems)
    deploy = check_deploy(actor, spec, image, problems)
    interfaces = _check_interfaces(actor, spec, region, problems)
    if spec.tags:
        check_may_tag(actor)
        for index, reason in check_labels(spec.tags):
            problems.add(f"tags[{index}]", reason)
    problems.raise_any()
    assert plan_type is not None  # noqa: S101 - or else there were problems
    assert region is not None  # noqa: S101
    return _Plan(plan_type, region, offer.network, deploy, interfaces)


def _check_room(spec: InstanceSpec, image: Image, plan: InstanceType, problems: Problems) -> None:
    """Whether the type's disk holds the image beside the swap disk."""
    if plan.disk - spec.swap_size < image.size:
        problems.add(
            "swap_size" if plan.disk >= image.size else "type",
            f"The image needs {image.size} MB, which this type does not have beside {spec.swap_size} MB of swap.",
        )


def _check_interfaces(
    actor: Actor, spec: InstanceSpec, region: Region | None, problems: Problems
) -> tuple[dict[str, str], ...]:
    """The interfaces as the profile is to have them. Without an image there is no profile, and no VLAN is named."""
    found = Problems()
    interfaces = check_interfaces(spec.interfaces, region, found)
    problems.extend(found)
    vlans = vlans_in(interfaces)
    if vlans and region and spec.image and not found:
        hold_account(actor)
        check_vlans(actor.account_id, region, vlans, "interfaces", problems)
    return tuple(interfaces)


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
