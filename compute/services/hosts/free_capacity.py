"""Free capacity of hosts: the regions and types that are full for an existing instance. For pages; placement
decides."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from django.db import connection

from compute.models import Host, Instance, InstanceType, Reservation
from compute.services.hosts.placement import FITS, RESOURCES
from regions.models import Region

_FITS = FITS.format(memory="t.memory", vcpus="t.vcpus", disk="t.disk")


def full_regions(instance: Instance, types: Iterable[str]) -> set[str]:
    """Return the regions without capacity for another copy of the instance, of any of these types.

    Copies need a host with the driver of the instance's host. One query.
    """
    return _found(_full_regions(), instance, types)


def full_types(instance: Instance, types: Iterable[str]) -> set[str]:
    """Return the types that the instance cannot get in its region; one query.

    Neither its own host, without the instance's present reservation, nor another host has the capacity for such a
    type.
    """
    return _found(_full_types(), instance, types)


def _found(statement: str, instance: Instance, types: Iterable[str]) -> set[str]:
    asked: dict[str, Any] = {
        "types": list(types),
        "host": instance.host_id,
        "region": instance.region_id,
        "instance": instance.pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, asked)
        return {found for (found,) in cursor.fetchall()}


@cache
def _full_regions() -> str:
    types, hosts, regions = (model._meta.db_table for model in (InstanceType, Host, Region))
    return f"""
        SELECT r.id FROM {regions} r
         WHERE NOT EXISTS (
            SELECT FROM {types} t
             WHERE t.id = ANY(%(types)s)
               AND EXISTS (SELECT FROM {hosts} h
                            WHERE h.region_id = r.id AND {_FITS}
                              AND h.driver = (SELECT driver FROM {hosts} WHERE id = %(host)s)))
    """  # noqa: S608 - made of the models' own names


@cache
def _full_types() -> str:
    types, hosts, reserved = (model._meta.db_table for model in (InstanceType, Host, Reservation))
    grows = " AND ".join(
        f"h.{name}_used + GREATEST(t.{name} - COALESCE(v.{name}, 0), 0) <= h.{name}" for name in RESOURCES
    )
    return f"""
        SELECT t.id FROM {types} t
         WHERE t.id = ANY(%(types)s)
           AND NOT EXISTS (SELECT FROM {hosts} h
                            WHERE h.region_id = %(region)s AND h.id <> %(host)s AND {_FITS})
           AND NOT EXISTS (SELECT FROM {hosts} h
                             LEFT JOIN {reserved} v ON v.host_id = h.id AND v.instance_id = %(instance)s
                            WHERE h.id = %(host)s AND {grows})
    """  # noqa: S608 - made of the models' own names
