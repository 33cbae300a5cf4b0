"""Zones for a name server (Knot DNS): one file for each master, and the list of all of them.

A directory holds ``zones/<id>.zone`` and ``zones.conf``, which the server's own configuration includes. An export
updates the directory from the tables. It replaces only the files of zones whose serial or name changed since the
last export. Each file is replaced as a whole, by a rename, so that the server never reads half a file.

The name server writes the transferred copy of a slave, ``zones/<id>.slave``. The export deletes the copy of a zone
that is no longer served.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from compute.models import Domain
from compute.services.domains import zone_files
from compute.services.domains.domains import asked

CONFIGURATION, MANIFEST, ZONES = "zones.conf", "manifest.json", "zones"
BATCH = 500
State = list[Any]
"""A zone's serial, name and type."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The changes of one run: zones written, zones removed, and whether the list of zones changed.

    `turned` zones are left out of the list until the next run, which must come after the server has read the list.
    """

    written: int
    removed: int
    listed: bool
    turned: int

    def __bool__(self) -> bool:
        return bool(self.written or self.removed or self.listed)


def export(directory: Path) -> Exported:
    """Update the directory from the tables. It may be interrupted at any point, and run again."""
    (directory / ZONES).mkdir(parents=True, exist_ok=True)
    known, servers = _manifest(directory)
    served = {str(pk): [serial, zone, kind] for pk, serial, zone, kind in _served()}
    turned = _turned(known, served)
    for pk in turned:
        del served[pk]
    renewed = servers != settings.DNS_NAMESERVERS
    stale = [pk for pk, state in served.items() if renewed or known.get(pk) != state]
    masters = [int(pk) for pk in stale if served[pk][2] == Domain.Type.MASTER]
    for domain in _domains(masters):
        # the serial in the file may be newer than the manifest's: the next run writes the file again, without harm
        _write(directory / ZONES / f"{domain.pk}.zone", "\n".join(zone_files.lines(domain)) + "\n")
    listed = _write(directory / CONFIGURATION, "\n".join(_configuration(directory, served)) + "\n")
    gone = [path for path in (directory / ZONES).glob("[0-9]*") if path.stem not in served]
    for path in gone:
        path.unlink(missing_ok=True)
    _write(directory / MANIFEST, json.dumps({"servers": settings.DNS_NAMESERVERS, "zones": served}))
    return Exported(len(masters), len({path.stem for path in gone}), listed, len(turned))


def _turned(known: Mapping[str, State], served: Mapping[str, State]) -> list[str]:
    """Return the zones whose name was another domain's, or whose own type or name has changed.

    The server would keep using its data under that name, or in that file, and ask masters only for a later serial.
    It forgets the zones that are not in its list.
    """
    had = {zone: (pk, kind) for pk, (_, zone, kind) in known.items()}
    return [
        pk
        for pk, (_, zone, kind) in served.items()
        if had.get(zone, (pk, kind)) != (pk, kind) or (pk in known and known[pk][1] != zone)
    ]


def _served() -> Iterator[tuple[int, int, str, str]]:
    """Yield key, serial, zone and type of each domain that is served. A slave needs a master that the platform
    asks."""
    active = Domain.objects.filter(status=Domain.Status.ACTIVE, account__is_active=True).order_by("pk")
    for pk, serial, label, kind, masters in active.values_list("pk", "serial", "label", "type", "master_ips"):
        if kind == Domain.Type.MASTER or asked(masters):
            yield pk, serial, label, kind


def _domains(keys: list[int]) -> Iterator[Domain]:
    for at in range(0, len(keys), BATCH):
        yield from Domain.objects.filter(pk__in=keys[at : at + BATCH]).order_by("pk").prefetch_related("records")


def _manifest(directory: Path) -> tuple[dict[str, State], list[str]]:
    """Return the state of each zone at the last export, and the platform's name servers at that time."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}, []  # everything is written anew
    return manifest["zones"], manifest["servers"]


def _configuration(directory: Path, served: Iterable[str]) -> Iterator[str]:
    """Yield the zones in the form of Knot's configuration. Names and addresses are the only texts of customers in
    it."""
    zones = list(Domain.objects.filter(pk__in=list(served)).order_by("pk"))
    yield "# Written by manage.py export_zones: changes are lost."
    yield "remote:"
    for domain in zones:
        if domain.type == Domain.Type.SLAVE:
            yield f"  - id: masters-{domain.pk}"
            yield f"    address: [{_list(asked(domain.master_ips))}]"
    yield "acl:"
    for domain in zones:
        if domain.axfr_ips:
            yield f"  - id: transfer-{domain.pk}"
            yield f"    address: [{_list(domain.axfr_ips)}]"
            yield "    action: transfer"
        if domain.type == Domain.Type.SLAVE:
            yield f"  - id: notify-{domain.pk}"
            yield f"    address: [{_list(asked(domain.master_ips))}]"
            yield "    action: notify"
    yield "zone:"
    for domain in zones:
        yield from _zone(directory, domain)


def _zone(directory: Path, domain: Domain) -> Iterator[str]:
    allowed = [f"transfer-{domain.pk}"] if domain.axfr_ips else []
    yield f'  - domain: "{domain.label}."'
    if domain.type == Domain.Type.SLAVE:
        allowed.append(f"notify-{domain.pk}")
        yield f"    master: masters-{domain.pk}"
        yield f'    file: "{directory}/{ZONES}/{domain.pk}.slave"'
    else:
        yield f'    file: "{directory}/{ZONES}/{domain.pk}.zone"'
        yield "    zonefile-sync: -1"
        yield "    zonefile-load: whole"
        yield "    journal-content: none"
    if allowed:
        yield f"    acl: [{', '.join(allowed)}]"


def _list(addresses: list[str]) -> str:
    return ", ".join(f'"{address}"' for address in addresses)


def _write(path: Path, text: str) -> bool:
    """Replace the file with one that contains `text`, unless it does already; returns whether it was replaced."""
    if path.exists() and path.read_text() == text:
        return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    return True
