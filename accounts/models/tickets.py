"""Support tickets: the questions of customers and the replies of staff."""

import uuid
from typing import Self

from django.db import models
from django.db.models import Q

from accounts.actors import Actor
from accounts.models.accounts import Account


class TicketQuerySet(models.QuerySet["Ticket"]):
    """Tickets belong to the account as a whole: `account_access` decides which users see them."""

    def visible_to(self, actor: Actor) -> Self:
        return self.filter(account_id=actor.account_id)


class Ticket(models.Model):
    """A question or problem of an account. `new` until staff reply, then `open`, at the end `closed`.

    The ticket names its entity by value, as events do. `closable` is whether the customer may close the ticket.
    """

    class Status(models.TextChoices):
        NEW = "new"
        OPEN = "open"
        CLOSED = "closed"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="tickets")
    summary = models.CharField(max_length=64)
    description = models.TextField(max_length=65000)
    status = models.CharField(max_length=6, choices=Status, default=Status.NEW)
    closable = models.BooleanField(default=True)
    entity_type = models.CharField(max_length=20, blank=True)
    entity_id = models.CharField(max_length=64, blank=True, help_text="A number, or the label of a VLAN.")
    entity_label = models.CharField(max_length=255, blank=True)
    entity_url = models.CharField(max_length=255, blank=True)
    managed_issue = models.BooleanField(default=False)
    opened = models.DateTimeField(auto_now_add=True)
    opened_by = models.CharField(max_length=32, help_text="Username. Empty: the platform.", blank=True)
    gravatar_id = models.CharField(max_length=64, blank=True)
    updated = models.DateTimeField(auto_now=True)
    updated_by = models.CharField(max_length=32, null=True, blank=True)
    closed = models.DateTimeField(null=True, blank=True)

    objects = TicketQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("account", "id"), name="ticket_page"),
            # The tickets that may wait for staff, among many closed ones.
            models.Index(fields=("id",), condition=~Q(status="closed"), name="ticket_live"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status="closed", closed__isnull=False) | (~Q(status="closed") & Q(closed=None)),
                name="ticket_closed",
            ),
        ]

    def __str__(self) -> str:
        return self.summary


class TicketReply(models.Model):
    """A later message on a ticket, by a user of the account or by staff."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="replies")
    description = models.TextField(max_length=65535)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=32, blank=True, help_text="Username. Empty: the platform.")
    gravatar_id = models.CharField(max_length=64, blank=True)
    from_staff = models.BooleanField(default=False)

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "ticket replies"

    def __str__(self) -> str:
        return f"reply to {self.ticket}"


class TicketAttachment(models.Model):
    """A file sent along with a ticket. Its name on disk is `key`, in a folder that no web server serves."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="attachments")
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=255)
    media_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField(help_text="Bytes.")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=32, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.name
