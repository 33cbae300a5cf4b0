"""Sessions of consoles in browsers: the user, the instance and the times."""

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from compute.models.instances import Instance


class ConsoleSessionQuerySet(models.QuerySet["ConsoleSession"]):
    def in_use(self) -> Self:
        """Return the sessions whose user is at the console now. The process that serves a session renews it every
        few seconds.

        Sessions of a deleted instance are left out, although their users may be disconnected a few seconds later.
        """
        alive = Now() - ConsoleSession.SILENCE
        return self.filter(instance__isnull=False, opened__isnull=False, ended=None, seen__gt=alive)


class ConsoleSession(models.Model):
    """A session at the console of an instance in a browser, from the ticket that opens it to the end.

    Only `compute.services.consoles` writes rows. A ticket is stored as its SHA-256, and deleted when it was used.
    All times are on the database's clock. A record outlives its instance and its user, and keeps their names of
    that time.
    """

    SILENCE = timedelta(seconds=60)
    """The time without a renewal after which the process that served a console counts as gone."""

    instance = models.ForeignKey(Instance, null=True, on_delete=models.SET_NULL, related_name="console_sessions")
    instance_number = models.BigIntegerField(null=True, editable=False, help_text="The instance's id at that time.")
    instance_label = models.TextField(
        default="", db_default="", editable=False, help_text="The instance's label at that time."
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="console_sessions"
    )
    username = models.CharField(
        max_length=32, default="", db_default="", editable=False, help_text="The username at that time."
    )
    staff = models.BooleanField(default=False, help_text="Whether the user used the console as staff.")
    reason = models.TextField(blank=True, help_text="The reason that staff gave.")
    ip = models.GenericIPAddressField(null=True, help_text="The IP address of the browser.")
    ticket = models.CharField(max_length=64, null=True, unique=True, editable=False)
    origin = models.CharField(
        max_length=300, editable=False, help_text="The origin of the page that may use the ticket."
    )
    browser = models.CharField(max_length=64, editable=False, help_text="A hash of the id of the login session.")
    device = models.BigIntegerField(null=True, editable=False, help_text="The remembered browser, if any.")
    credentials = models.CharField(
        max_length=64, editable=False, help_text="A hash that changes with the password."
    )
    by_key = models.BooleanField(
        default=False, editable=False, help_text="Whether the user signed in with a security key."
    )
    created = models.DateTimeField(db_default=Now())
    opened = models.DateTimeField(null=True, help_text="The time at which the browser connected with the ticket.")
    seen = models.DateTimeField(null=True, editable=False)
    ended = models.DateTimeField(null=True)
    to_end = models.TextField(
        blank=True, default="", db_default="", editable=False, help_text="The reason why the session must close."
    )
    outcome = models.TextField(
        blank=True, default="", db_default="", help_text="The reason why the session closed."
    )

    objects = ConsoleSessionQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("user",), condition=Q(ended=None), name="open_console_sessions"),
            models.Index(fields=("created",), name="console_sessions_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}"
