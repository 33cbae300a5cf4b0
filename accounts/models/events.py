"""Events: the changes on an account, with the progress of changes that jobs carry out."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import Cast, Now

from accounts import event_names
from accounts.actors import Actor
from accounts.entities import derived
from accounts.event_names import ACTIONS, DELETIONS
from accounts.models.accounts import Account
from accounts.models.grants import GlobalGrants, Grant, Level
from accounts.models.users import User
from config import word

SHOWN_FOR = timedelta(days=90)
ACCOUNT_LEVEL = ("", "account", "entity_transfer", "oauth_client", "ticket")
"""Kinds of entity that belong to the account as a whole: restricted users need `account_access` to see their
events.
"""
PERSONAL = ("token", "user_ssh_key")
"""Kinds of entity that belong to one user."""
MANAGED = "/v4/managed/"
"""The path of managed objects.

Events name them by various kinds, because the contract has a kind for services only.
"""

MANAGED_ACTIONS = "managed_"
"""Prefix of actions that only unrestricted users see.

The entity of ``managed_enabled`` is the account, so the entity does not hide this event from restricted users.
"""


class EventQuerySet(models.QuerySet["Event"]):
    """Reads only the attributes of an actor that compiled SQL supports, as `GrantedQuerySet` does."""

    def failures(self) -> Self:
        """Return the events that failed, without the changes that a deletion superseded."""
        return self.filter(status=Event.Status.FAILED).exclude(message=Event.SUPERSEDED)

    def visible_to(self, actor: Actor) -> Self:
        """Return the account's events of the last 90 days that the actor may see.

        A restricted user sees events of these entities:

        - entities that it has a grant on, and tags that these carry
        - with `account_access`, the account as a whole
        - its own profile, tokens and keys

        A deleted entity is visible to nobody, so the user also sees its own deletions, which clients follow until
        they finish. It sees no events of managed monitoring.
        """
        return self._within(actor, (Level.READ_ONLY, Level.READ_WRITE))

    def writable_by(self, actor: Actor) -> Self:
        """Return the same events for actors that may change their entities: only read_write grants count."""
        return self._within(actor, (Level.READ_WRITE,))

    def _within(self, actor: Actor, levels: tuple[Level, ...]) -> Self:
        recent = self.filter(account_id=actor.account_id, created__gte=Now() - SHOWN_FOR)
        if not actor.restricted:
            return recent
        managed = Q(entity_url__startswith=MANAGED) | Q(secondary_url__startswith=MANAGED)
        managed |= Q(action__startswith=MANAGED_ACTIONS)
        return recent.filter(_of_entities(actor, levels) | _of_the_user(actor)).exclude(managed)


def _of_entities(actor: Actor, levels: tuple[Level, ...]) -> Q:
    """Return the condition for events of entities that the restricted actor may see.

    If `levels` is read_write alone, the condition is for entities that it may change.
    """
    granted = Grant.objects.filter(
        user_id=actor.person,
        entity_type=OuterRef("entity_type"),
        entity_id=OuterRef("entity_id"),
        permissions__in=levels,
    )
    access = GlobalGrants.objects.filter(user_id=actor.person, account_access__in=levels)
    found = Q(Exists(granted)) | Q(Exists(access), entity_type__in=ACCOUNT_LEVEL)
    if Level.READ_ONLY in levels:
        for kind in derived():
            # every registered model's manager has `visible_to`
            shown = kind.model._default_manager.visible_to(actor)  # type: ignore[attr-defined]
            found |= Q(Exists(shown.filter(pk=OuterRef("entity_id"))), entity_type=kind.name)
    return found


def _of_the_user(actor: Actor) -> Q:
    """Return the condition for events of the actor itself: its profile, its tokens and keys, and its deletions."""
    # An earlier user may have had the same name. The events of that user stay hidden.
    joined = User.objects.filter(pk=actor.person).values("date_joined")
    own = Q(username=actor.username, created__gte=Subquery(joined))
    person = Cast(actor.person, models.TextField())  # type: ignore[arg-type] # values are taken as well
    return (
        Q(entity_type="profile", entity_id=actor.person)
        # If staff change a token, the event names the profile of the token's user.
        | Q(secondary_type="profile", secondary_id=person)
        | own & (Q(entity_type__in=PERSONAL) | Q(action__in=DELETIONS))
    )


class Event(models.Model):
    """One change. `action` and `entity_type` are from the contract's enums.

    A change that a job carries out goes ``scheduled → started → finished | failed`` with a growing
    `percent_complete`. An instant change is a ``notification`` with null percent and duration. The entity is named
    by value, since events outlive their entities.
    """

    SUPERSEDED = word.sentence("Superseded by the deletion of the compute.")
    """The message of a change that ended because its entity is being deleted.

    Clients see ``failed``, but staff need not look at it.
    """

    class Status(models.TextChoices):
        SCHEDULED = "scheduled"
        STARTED = "started"
        FINISHED = "finished"
        FAILED = "failed"
        NOTIFICATION = "notification"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="events")
    action = models.CharField(max_length=40)
    status = models.CharField(max_length=12, choices=Status, default=Status.NOTIFICATION)
    username = models.CharField(max_length=32, blank=True, help_text="Empty: the platform.")
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    duration = models.FloatField(null=True, blank=True, help_text="Seconds of work.")
    percent_complete = models.PositiveSmallIntegerField(null=True, blank=True)
    rate = models.CharField(max_length=32, null=True, blank=True)
    time_remaining = models.PositiveIntegerField(null=True, blank=True, help_text="Seconds.")
    message = models.TextField(blank=True)
    seen = models.BooleanField(default=False)
    read = models.BooleanField(default=False)

    entity_type = models.CharField(max_length=20, blank=True)
    entity_id = models.BigIntegerField(null=True, blank=True)
    entity_label = models.TextField(blank=True)
    entity_url = models.TextField(blank=True)
    secondary_type = models.CharField(max_length=20, blank=True)
    secondary_id = models.TextField(blank=True, help_text="The entity's id: a number or a slug.")
    secondary_label = models.TextField(blank=True)
    secondary_url = models.TextField(blank=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("account", "-id"), name="event_account"),
            models.Index(fields=("account", "entity_type", "entity_id", "-id"), name="event_entity"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(percent_complete__isnull=True) | models.Q(percent_complete__lte=100),
                name="event_percent",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.status}"

    @property
    def has_customer_message(self) -> bool:
        """Whether a customer wrote the message."""
        return self.action in event_names.MESSAGES_OF_CUSTOMERS

    @property
    def message_on_wire(self) -> str | None:
        """The message as clients read it."""
        return event_names.message_on_wire(self.action, self.message)

    @property
    def message_is_meaning(self) -> bool:
        """Whether the message alone says what happened. The contract has no action of its own for such events."""
        return bool(self.message) and self.action in event_names.DESCRIBED_BY_MESSAGES

    @property
    def meaning(self) -> str:
        """A sentence that says what happened: ``An instance is booted.``"""
        if self.message_is_meaning:
            return self.message_on_wire or ""
        if (self.action, self.entity_type) == event_names.ROOT_PASSWORD:
            return "A root password is set."
        return ACTIONS.get(self.action, self.action)
