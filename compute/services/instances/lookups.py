"""Looking up the rows that a create refers to, in one statement."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection

from accounts.actors import Actor
from accounts.models import Account, TrustLevel
from accounts.services.quotas import effective_limits, limits_of_level
from compute.models import Host, Image, InstanceType
from compute.services.hosts.deployable import IS_DEPLOYABLE
from compute.services.hosts.placement import FITS
from compute.services.networking.firewalls.mail_ports import CLOSED_SQL, closed_after
from config.db.rows import columns_of
from config.db.statements import Param, Statement, SymbolicActor, bindings
from regions.models import Region


@dataclass(frozen=True, slots=True)
class Choices:
    """The type, region and image of the request's ids, None for an id that the actor cannot use.

    `fits` tells whether a host of the region has the capacity for one more instance of the type. `deploys` tells
    whether a host there can deploy the image; it is true without region or image. `network` is the region's IPv6
    /64, None if the region has no IPv6. `backups` and `network_helper` are the account's settings for new
    instances. These can connect out to mail ports unless `mail_ports_closed` is set. `limits` are the account's
    quotas of resources.
    """

    type: InstanceType | None
    region: Region | None
    image: Image | None
    fits: bool
    deploys: bool
    network: str | None
    backups: bool
    network_helper: bool
    mail_ports_closed: bool
    limits: Mapping[str, int | None]


def find_choices(actor: Actor, type_id: str | None, region_id: str | None, image_id: str | None) -> Choices:
    """Look up the rows of these ids in one statement in place of four, because every create begins with it.

    An id of None finds nothing.
    """
    _, constants = _visible_image(actor.restricted)
    asked = {"type": type_id, "region": region_id, "image": image_id, "mail_ports_closed_after": closed_after()}
    with connection.cursor() as cursor:
        cursor.execute(_statement(actor.restricted), {**asked, **constants, **bindings(actor, {})})
        row = cursor.fetchone()
    plan, row = _take(InstanceType, row)
    region, row = _take(Region, row)
    image, row = _take(Image, row)
    fits, deploys, network, backups, network_helper, closed, level, own, of_level = row
    limits = effective_limits(limits_of_level(level, of_level and json.loads(of_level)), json.loads(own))
    return Choices(plan, region, image, fits, deploys, network, backups, network_helper, closed, limits)


@cache
def _statement(restricted: bool) -> str:
    """Return the SQL, with the columns of the models."""
    columns = ", ".join(
        f"{alias}.{column}" for alias, model in (("t", InstanceType), ("r", Region), ("i", Image))
        for column in columns_of(model)
    )  # fmt: skip
    fits = FITS.format(memory="t.memory", vcpus="t.vcpus", disk="t.disk")
    deploys = IS_DEPLOYABLE.format(image="i", host="h")
    image, _ = _visible_image(restricted)
    return f"""
        SELECT {columns},
               EXISTS (SELECT FROM {Host._meta.db_table} h WHERE h.region_id = r.id AND {fits}),
               r.id IS NULL OR i.id IS NULL
               OR EXISTS (SELECT FROM {Host._meta.db_table} h WHERE h.region_id = r.id AND {deploys}),
               (SELECT network FROM compute_addresspool p WHERE p.region_id = r.id AND p.kind = 'slaac'
                 ORDER BY p.id LIMIT 1),
               a.backups_enabled, a.network_helper, {CLOSED_SQL}, a.trust_level, a.quotas, l.limits
          FROM (SELECT %(type)s::text AS type, %(region)s::text AS region) AS asked
          JOIN {Account._meta.db_table} a ON a.id = %(actor.account_id)s
          LEFT JOIN {TrustLevel._meta.db_table} l ON l.id = a.trust_level
          LEFT JOIN {InstanceType._meta.db_table} t ON t.id = asked.type
          LEFT JOIN {Region._meta.db_table} r ON r.id = asked.region
          LEFT JOIN ({image}) i ON TRUE
    """  # noqa: S608 - made of the models' own names


@cache
def _visible_image(restricted: bool) -> tuple[str, Mapping[str, Any]]:
    """Return the SQL for the image of the request, as `Image.objects.visible_to` finds it.

    Only that method decides who sees which image. The parameters are named; the constant ones are returned with
    the SQL.
    """
    anybody: Any = SymbolicActor(restricted)
    images = Image.objects.visible_to(anybody).filter(pk=Param("image"))
    statement = Statement.of(images.order_by().values_list(*columns_of(Image)))
    assert statement.sql is not None  # noqa: S101 - only without a condition that can hold
    constants: dict[str, Any] = {}
    names = []
    for number, param in enumerate(statement.params):
        names.append(param.name if isinstance(param, Param) else f"constant{number}")
        if not isinstance(param, Param):
            constants[names[-1]] = param
    left = iter(names)
    return re.sub("%s", lambda _: f"%({next(left)})s", statement.sql), constants


def _take(model: Any, row: tuple) -> tuple[Any, tuple]:
    """Split the model's columns off the row. Return the object that they make, or None, and the rest of the row."""
    columns = columns_of(model)
    mine, rest = row[: len(columns)], row[len(columns) :]
    return (None if mine[0] is None else model.from_db("default", columns, mine)), rest
