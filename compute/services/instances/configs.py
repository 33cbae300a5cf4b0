"""Configuration profiles: creating, changing and deleting them.

Changes take effect at the next boot. All functions work whatever job runs on the instance, except that a profile
cannot be deleted while a job is about to boot it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accounts.actors import Actor
from accounts.services.account import lock_account
from accounts.services.events import record_event
from compute.models import Config, Instance, Job, Kernel
from compute.models.instances import default_helpers
from compute.refs import config_ref, instance_ref
from compute.services.common.locks import lock_alive
from compute.services.hosts.deployable import boots_kernel
from compute.services.instances.devices import DeviceMap, Devices, check_devices, devices_of, write_devices
from compute.services.networking.interfaces import check_interfaces
from compute.services.networking.vlans import bring_vlans, check_vlans, record_vlan_changes, vlans_in, vlans_of
from config.db.rows import differing, lock
from config.errors import Busy, Missing, Problems


@dataclass(frozen=True, slots=True)
class ConfigChanges:
    """A client's request for a profile. `fields` are column values; the others are None when not given.

    `helpers` may name only some helpers; `devices` and `interfaces` replace all present ones.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    helpers: Mapping[str, bool] | None = None
    devices: DeviceMap | None = None
    interfaces: list[dict[str, Any]] | None = None


@transaction.atomic
def create(actor: Actor, instance: Instance, given: ConfigChanges, problems: Problems | None = None) -> Config:
    """Create a profile; fields that are not given get defaults.

    Raises `Invalid` with every failing field, `Busy` while the instance is being deleted.
    """
    locked = _lock_row(actor, instance.pk, given)
    config = Config(instance=locked)
    before = vlans_of(locked.configs.all())
    _apply(actor, config, given, before, problems or Problems())
    record_vlan_changes(actor, locked, before, before | vlans_of([config]))
    record_event(actor, "compute_config_create", instance_ref(locked), config_ref(config))
    return config


@transaction.atomic
def update(actor: Actor, config: Config, given: ConfigChanges, problems: Problems | None = None) -> Config:
    """Write the values that differ, with an event if any do. Returns the profile anew.

    Raises `Invalid` with every failing field, `Busy` while the instance is being deleted. Unchanged values are not
    checked again. So a client can send back a profile that it once read, even if other objects have changed since.
    """
    locked = _lock_row(actor, config.instance_id, given)
    others = list(_profiles(locked))
    found = next((each for each in others if each.pk == config.pk), None)
    if found is None:
        raise Missing
    before = vlans_of(others)
    if _apply(actor, found, given, before, problems or Problems()):
        record_vlan_changes(actor, locked, before, vlans_of(others))
        record_event(actor, "compute_config_update", instance_ref(locked), config_ref(found))
    return found


@transaction.atomic
def delete(actor: Actor, config: Config) -> None:
    """Delete a profile, even the one that a running instance has booted: the instance keeps running.

    Raises `Busy` while a live job is about to boot the profile.
    """
    locked = lock_alive(config.instance_id)
    others = list(_profiles(locked))
    found = next((each for each in others if each.pk == config.pk), None)
    if found is None:
        raise Missing
    # the instance is locked: no request enqueues a boot of it meanwhile, and the platform's own jobs find it gone
    if Job.objects.filter(instance=locked, finished_at=None, data__config=found.pk).exists():
        raise Busy
    record_vlan_changes(actor, locked, vlans_of(others), vlans_of(each for each in others if each is not found))
    record_event(actor, "compute_config_delete", instance_ref(locked), config_ref(found))
    found.delete()


def _lock_row(actor: Actor, instance_id: int, given: ConfigChanges) -> Instance:
    """Lock the instance, whatever its status. Lock the account before, if VLANs may be created."""
    if vlans_in(given.interfaces or ()):
        lock_account(actor.account_id)
    return lock(Instance.objects.filter(pk=instance_id))


def _profiles(instance: Instance) -> QuerySet[Config]:
    """Lock the profiles of a locked instance: a rebuild's job, which locks no instance, must not delete them."""
    return instance.configs.order_by("pk").select_for_update(no_key=True)


def _apply(actor: Actor, config: Config, given: ConfigChanges, vlans: set[str], problems: Problems) -> bool:
    """Check and write the values that differ; returns whether any did. `vlans` are the VLANs that the instance is
    on."""
    new = config.pk is None
    present = None if new else devices_of(config)
    fields = {name: value for name, value in given.fields.items() if value is not None or not new}
    wanted = fields if new else differing(config, fields)
    _check_fields(config.instance, wanted, problems)
    if given.helpers is not None or new:
        helpers = {**(first_helpers(config.instance) if new else config.helpers), **(given.helpers or {})}
        wanted |= {"helpers": helpers} if helpers != config.helpers else {}
    if given.interfaces is not None and given.interfaces != config.interfaces:
        interfaces = _interfaces(config.instance, given.interfaces, problems)
        wanted |= {"interfaces": interfaces} if interfaces != config.interfaces else {}
    devices = None
    if given.devices is not None:
        devices = check_devices(actor, config.instance, given.devices, problems, present)
    problems.raise_any()
    _check_stays(config.instance, vlans_in(wanted.get("interfaces", ())) - vlans, devices)
    for name, value in wanted.items():
        setattr(config, name, value)
    if new:
        config.save(force_insert=True)
    elif wanted or (devices is not None and devices != present):
        config.save(update_fields=[*wanted, "updated"])
    else:
        return False
    if devices is not None and devices != present:
        write_devices(actor, config, devices)
    if "interfaces" in wanted:
        bring_vlans(config.instance.account_id, config.instance.region_id, vlans_of([config]))
    return True


def first_helpers(instance: Instance) -> dict[str, bool]:
    """Return the helpers of a new profile without given ones: all on, except the network helper, which the account
    sets."""
    return {**default_helpers(), "network": instance.account.network_helper}


def _check_fields(instance: Instance, wanted: dict[str, Any], problems: Problems) -> None:
    if "kernel_id" in wanted:
        _check_kernel(instance, wanted["kernel_id"], problems)
    if not 0 <= wanted.get("memory_limit", 0) <= instance.type.memory:
        problems.add("memory_limit", f"memory_limit must be 0-{instance.type.memory}")


def _check_kernel(instance: Instance, kernel_id: str, problems: Problems) -> None:
    kernel = Kernel.objects.filter(pk=kernel_id).first()
    if kernel is None:
        problems.add("kernel", "kernel is not valid")
    elif not kernel.kvm:
        problems.add("kernel", "kernel is not valid: it needs Xen.")
    elif not boots_kernel(instance.host_id, kernel):
        problems.add("kernel", f"kernel is not valid: computes of this region do not boot {kernel.architecture}.")


def _interfaces(instance: Instance, given: list[dict[str, Any]], problems: Problems) -> list[dict[str, str]]:
    """The interfaces as they are stored, checked together with the VLANs that they name."""
    found = Problems()
    kept = check_interfaces(given, instance.region, found)
    problems.extend(found)
    if not found:
        check_vlans(instance.account_id, instance.region, vlans_in(kept), "interfaces", problems)
    return kept


def _check_stays(instance: Instance, new_vlans: set[str], devices: Devices | None) -> None:
    """Raise `Busy` while the instance is being deleted, or moves with a new VLAN or volume that it could not have
    there."""
    status = Instance.Status
    # the VLANs were inserted in the new region when the move began: one more could be too many; volumes stay behind
    leaves = instance.status == status.MIGRATING and (new_vlans or (devices and devices.unattached))
    if leaves or instance.status == status.DELETING:
        raise Busy
