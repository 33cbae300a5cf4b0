"""Mails and short messages that wait to be sent."""

from django.db import models
from django.db.models.functions import Now

from config.encryption import EncryptedField


class Message(models.Model):
    """A mail or an SMS to be sent. Written in the transaction of the change that it reports, and deleted once sent.

    The content is encrypted: invitations and codes give access like passwords. A message that is undelivered after
    the last attempt stays, with `error`, for staff to see. Workers claim messages as they claim jobs: by a lease,
    with every result conditional on the `fence`.
    """

    class Channel(models.TextChoices):
        MAIL = "mail"
        SMS = "sms", "SMS"

    channel = models.CharField(max_length=4, choices=Channel)
    recipient = models.CharField(max_length=128)
    subject = models.CharField(
        max_length=200, blank=True, help_text="The subject of the mail. It never contains a secret."
    )
    encrypted = EncryptedField(editable=False)
    attempt = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    created = models.DateTimeField(db_default=Now())
    run_at = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(db_default=0)
    given_up = models.BooleanField(default=False)

    class Meta:
        ordering = ("id",)
        indexes = [
            models.Index(fields=("run_at",), condition=models.Q(given_up=False), name="message_due"),
        ]

    def __str__(self) -> str:
        return f"{self.subject or self.get_channel_display()} to {self.recipient}"
