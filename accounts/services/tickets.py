"""Support tickets: open, reply, close, attach files."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.entities import kind_of
from accounts.models import Ticket, TicketAttachment, TicketReply, User
from accounts.services import outbox, quotas
from accounts.services.events import EntityRef, record_event
from accounts.services.refs import ticket_ref
from config.db.rows import lock
from config.environment import folders
from config.errors import Invalid, Problems

ABOUT = {
    "compute_id": "compute",
    "database_id": "database",
    "domain_id": "domain",
    "firewall_id": "firewall",
    "lkecluster_id": "lkecluster",
    "longviewclient_id": "longview",
    "nodebalancer_id": "nodebalancer",
    "volume_id": "volume",
}
"""The kinds of entity that a ticket can be about, by the field with the entity's id."""
TYPES = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".txt": "text/plain",
}
"""Media types of the files that may be attached, by the suffix of the name."""
MAX_FILES = 25
"""The maximum number of attachments of a ticket, so that nobody fills the disk with one ticket."""
CLOSED = "This ticket is closed."
NOT_CLOSABLE = "This ticket can only be closed by support."


class Upload(Protocol):
    """A file in a request."""

    @property
    def name(self) -> str | None: ...

    @property
    def size(self) -> int | None: ...

    def chunks(self) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class TicketSpec:
    """A new ticket of a customer. `about` has the field that names an entity, and the entity's id.

    A missing summary or description failed a check before, so the ticket is refused.
    """

    summary: str | None
    description: str | None
    about: dict[str, int]
    vlan: str | None = None
    region: str | None = None
    managed_issue: bool = False


@transaction.atomic
def open_ticket(actor: Actor, spec: TicketSpec, problems: Problems | None = None) -> Ticket:
    """Open a ticket.

    Raises `Invalid` with every failing field: the `problems`, and each field with no entity visible to the actor.
    It raises `Invalid` without a field if the ticket would be about several entities, or if the account has used up
    its quota of tickets that are not closed.
    """
    problems = problems or Problems()
    if actor.user_id is not None:  # the platform's tickets are about incidents, and a customer must learn of them
        waiting = Ticket.objects.filter(account_id=actor.account_id).exclude(status=Ticket.Status.CLOSED)
        quotas.check_quota(actor, "tickets", waiting, problems)
    entity = _entity(actor, spec, problems)
    summary = problems.checked(spec.summary)
    description = problems.checked(spec.description)
    ticket = Ticket(
        account_id=actor.account_id,
        summary=summary,
        description=description,
        managed_issue=spec.managed_issue,
        opened_by=actor.username,
        gravatar_id=gravatar(actor),
    )
    if entity is not None:
        ticket.entity_type, ticket.entity_id = entity.type, str(entity.id)
        ticket.entity_label, ticket.entity_url = entity.label, entity.url
    ticket.save()
    record_event(actor, "ticket_create", ticket_ref(ticket))
    return ticket


@transaction.atomic
def reply(actor: Actor, ticket: Ticket, description: str | None, problems: Problems | None = None) -> TicketReply:
    """Add a reply of the customer or, with a staff actor, of support.

    Support's reply sets the ticket ``open``, and is mailed to the user who opened it. Raises `Invalid` if the
    ticket is closed, together with the `problems`. `description` is None if it failed a check before.
    """
    problems = problems or Problems()
    ticket = _lock_row(ticket)
    _check_open(ticket, problems)
    description = problems.checked(description)
    added = TicketReply.objects.create(
        ticket=ticket,
        description=description,
        created_by=actor.username,
        gravatar_id=gravatar(actor),
        from_staff=actor.is_staff,
    )
    if actor.is_staff:
        ticket.status = Ticket.Status.OPEN
        if (user := mail_recipient(ticket)) is not None:
            outbox.mail(user, "ticket_reply", {"ticket": ticket, "description": description})
    ticket.updated_by = actor.username
    ticket.save(update_fields=["status", "updated", "updated_by"])
    record_event(actor, "ticket_update", ticket_ref(ticket))
    return added


@transaction.atomic
def close(actor: Actor, ticket: Ticket) -> None:
    """Close a ticket.

    Does nothing if it is closed. Raises `Invalid` if the actor is a customer and may not close it.
    """
    ticket = _lock_row(ticket)
    if ticket.status == Ticket.Status.CLOSED:
        return
    if not ticket.closable and not actor.is_staff and actor.user_id is not None:
        raise Invalid(NOT_CLOSABLE)
    ticket.status, ticket.closed, ticket.updated_by = Ticket.Status.CLOSED, now(), actor.username
    ticket.save(update_fields=["status", "closed", "updated", "updated_by"])
    record_event(actor, "ticket_update", ticket_ref(ticket), message="The ticket was closed.")


@transaction.atomic
def set_closable(actor: Actor, ticket: Ticket, closable: bool) -> None:
    """Set whether the customer may close the ticket. For staff.

    Raises `Invalid` if the ticket is closed, or its setting is that already.
    """
    ticket = _lock_row(ticket)
    if ticket.status == Ticket.Status.CLOSED:
        raise Invalid(CLOSED)
    note = "The customer may close it." if closable else NOT_CLOSABLE
    if ticket.closable == closable:
        raise Invalid(f"The ticket already has this setting: {note}")
    ticket.closable, ticket.updated_by = closable, actor.username
    ticket.save(update_fields=["closable", "updated", "updated_by"])
    record_event(actor, "ticket_update", ticket_ref(ticket), message=note)


def mail_recipient(ticket: Ticket) -> User | None:
    """Return the user to whom support's replies are mailed: the opener of the ticket, if active and wanting
    mails.
    """
    opener = User.objects.filter(account_id=ticket.account_id, username=ticket.opened_by)
    return opener.filter(is_active=True, email_notifications=True).first()


def attach(actor: Actor, ticket: Ticket, upload: Upload | None) -> TicketAttachment:
    """Attach a file to a ticket.

    Raises `Invalid` on ``file`` if there is none, if it is too large or its type is not in `TYPES`, or if the
    ticket has `MAX_FILES`. Raises `Invalid` without a field if the ticket is closed, or the account has used up
    its quota of files.

    The whole file is written to the disk before its row. If the row cannot be written, the file is deleted.
    """
    problems = Problems()
    name = PurePath((upload.name or "" if upload else "").replace("\\", "/")).name[-255:]
    if upload is None:
        problems.add("file", "file is required")
    else:
        _check_file(name, upload.size or 0, problems)
    _check_open(ticket, problems)
    upload = problems.checked(upload)
    kept = TicketAttachment(
        ticket=ticket,
        name=name,
        media_type=TYPES[PurePath(name).suffix.lower()],
        size=upload.size or 0,
        created_by=actor.username,
    )
    path = path_of(kept)
    try:
        _write(path, upload)
        with transaction.atomic():
            theirs = TicketAttachment.objects.filter(ticket__account_id=actor.account_id)
            quotas.check_quota(actor, "ticket_files", theirs)
            ticket = _lock_row(ticket)
            _check_open(ticket, problems)
            problems.raise_any()
            if ticket.attachments.count() >= MAX_FILES:
                raise Invalid(f"A ticket has at most {MAX_FILES} files.", "file")
            kept.save()
            Ticket.objects.filter(pk=ticket.pk).update(updated=now(), updated_by=actor.username)
            record_event(actor, "ticket_attachment_upload", ticket_ref(ticket), message=name)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return kept


def path_of(attachment: TicketAttachment) -> Path:
    """Return the path of the file: under a name of the server's own, in a folder that no web server serves."""
    return Path(settings.ATTACHMENTS_DIR) / attachment.key.hex


def too_large() -> str:
    """Return the message for a file of the wrong size."""
    return f"file must be at most {settings.ATTACHMENT_LIMIT // 1024**2} MB, and not empty."


def gravatar(actor: Actor) -> str:
    """Return the user's id at Gravatar: the MD5 digest of the email address."""
    # The stubs do not allow None in lookups.
    email = User.objects.filter(pk=actor.user_id).values_list("email", flat=True).first() or ""  # type: ignore[misc]
    return hashlib.md5(email.strip().lower().encode(), usedforsecurity=False).hexdigest()


def _lock_row(ticket: Ticket) -> Ticket:
    return lock(Ticket.objects.filter(pk=ticket.pk))


def _check_open(ticket: Ticket, problems: Problems) -> None:
    if ticket.status == Ticket.Status.CLOSED:
        problems.add(None, CLOSED)


def _entity(actor: Actor, spec: TicketSpec, problems: Problems) -> EntityRef | None:
    """Return the entity that the ticket is about, if any. Adds the fields that name no entity to `problems`."""
    found: list[EntityRef] = []
    for field, key in spec.about.items():
        ref = _find(actor, ABOUT[field], key)
        if ref is None:
            problems.add(field, f"{field} is not valid")
        else:
            found.append(ref)
    if spec.region is None:
        if spec.vlan is not None and "region" not in problems:
            problems.add("region", "region is required")
    elif not kind_of("region").model._default_manager.filter(pk=spec.region).exists():
        problems.add("region", "region is not valid")
    elif spec.vlan is not None:
        ref = _find(actor, "vlan", spec.vlan, region=spec.region)
        if ref is None:
            problems.add("vlan", "vlan is not valid")
        else:
            found.append(ref)
    if len(found) > 1:
        problems.add(None, "A ticket can be about one entity only.")
    return found[0] if found else None


def _find(actor: Actor, name: str, key: int | str, **where: str) -> EntityRef | None:
    try:
        kind = kind_of(name)
    except LookupError:
        return None  # the platform does not offer this kind
    manager = kind.model._default_manager
    # Every registered model's manager has `visible_to`.
    row = manager.visible_to(actor).filter(**{kind.key: key}, **where).first()  # type: ignore[attr-defined]
    return None if row is None else EntityRef(name, key, row.label, kind.url.format(id=key))


def _check_file(name: str, size: int, problems: Problems) -> None:
    if PurePath(name).suffix.lower() not in TYPES:
        problems.add("file", f"file must be one of {', '.join(sorted(ending[1:] for ending in TYPES))}.")
    if not 0 < size <= settings.ATTACHMENT_LIMIT:
        problems.add("file", too_large())


def _write(path: Path, upload: Upload) -> None:
    folders.make_private(path.parent)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in upload.chunks():
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
