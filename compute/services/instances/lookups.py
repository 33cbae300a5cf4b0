"""What a create refers to, found in one look at the database."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Model

from accounts.actors import Actor
from accounts.models import Account
from compute.models import Host, Image, InstanceType
from compute.services.hosts.placement import FITS
from regions.models import Region


@dataclass(frozen=True, slots=True)
class Offer:
    """The type, region and image of these ids, None where there is none that the actor may use.

    `room` is whether a host of the region has room for the type, `network` the region's IPv6 /64, None where it has
    no IPv6. `backups` and `network_helper` are the account's settings for new instances.
    """

    type: InstanceType | None
    region: Region | None
    image: Image | None
    room: bool
    network: str | None
    backups: bool
    network_helper: bool


def find_offer(actor: Actor, type_id: str, region_id: str, image_id: str | None) -> Offer:
    """Look up what is named, by one statement in place of four: every create begins with it."""
    asked = {"type": type_id, "region": region_id, "image": image_id, "account": actor.account_id}
    asked |= {"user": actor.user_id, "restricted": actor.restricted}
    with connection.cursor() as cursor:
        cursor.execute(_statement(), asked)
        row = cursor.fetchone()
    plan, row = _take(InstanceType, row)
    region, row = _take(Region, row)
    image, row = _take(Image, row)
    return Offer(plan, region, image, *row)


IMAGE_IS_VISIBLE = """
    i.status <> 'deleting' AND (
        i.is_public OR i.account_id = %(account)s AND (
            NOT %(restricted)s OR EXISTS (
                SELECT FROM accounts_grant g
                 WHERE g.user_id = %(user)s AND g.entity_type = 'image' AND g.entity_id = i.number)))
"""
"""What `ImageQuerySet.visible_to` says, here where four tables are read at once."""


@cache
def _statement() -> str:
    """The SQL, with the columns that the models have. An image is visible as `ImageQuerySet.visible_to` says."""
    columns = ", ".join(
        f"{alias}.{column}" for alias, model in (("t", InstanceType), ("r", Region), ("i", Image))
        for column in _columns(model)
    )  # fmt: skip
    fits = FITS.format(memory="t.memory", vcpus="t.vcpus", disk="t.disk")
    return f"""
        SELECT {columns},
               EXISTS (SELECT FROM {Host._meta.db_table} h WHERE h.region_id = r.id AND {fits}),
               (SELECT network FROM compute_addresspool p WHERE p.region_id = r.id AND p.kind = 'slaac'
                 ORDER BY p.id LIMIT 1),
               a.backups_enabled, a.network_helper
          FROM (SELECT %(type)s::text AS type, %(region)s::text AS region, %(image)s::text AS image) AS asked
          JOIN {Account._meta.db_table} a ON a.id = %(account)s
          LEFT JOIN {InstanceType._meta.db_table} t ON t.id = asked.type
          LEFT JOIN {Region._meta.db_table} r ON r.id = asked.region
          LEFT JOIN {Image._meta.db_table} i
                 ON i.id = asked.image AND ({IMAGE_IS_VISIBLE})
    """  # noqa: S608 - made of the models' own names


@cache
def _columns(model: type[Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields)


def _take(model: Any, row: tuple) -> tuple[Any, tuple]:
    """Split the model's columns off the row: the object they make, or None, and what is left."""
    columns = _columns(model)
    mine, rest = row[: len(columns)], row[len(columns) :]
    return (None if mine[0] is None else model.from_db("default", columns, mine)), rest
