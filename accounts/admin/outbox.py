"""Mails and short messages that wait to be sent, or were given up.

Staff see recipient, subject, state and error. Staff can tell a customer whether a message was sent, and an operator
sees the gateway's answer. The content stays encrypted and is not read: an invitation's address or a code allows
signing in as the recipient. The service keeps such secrets out of subjects and errors.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.models import Message
from accounts.services import outbox
from config.admin.attention import Notice, watcher
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, lines, list_of, moment
from config.admin.verbs import Verb
from config.display.plurals import counted
from config.display.statuses import BAD, QUIET, pill

LATE_AFTER = timedelta(minutes=15)
"""The time that a message may wait before staff get a notice: mail servers that greylist cause some minutes."""


def given_up() -> Q:
    return Q(given_up=True)


def late() -> Q:
    """Return messages still retried after `LATE_AFTER`: no worker runs, or the mail server or gateway is down."""
    return Q(given_up=False, created__lt=Now() - Value(LATE_AFTER))


class StateFilter(admin.SimpleListFilter):
    title = "progress"
    parameter_name = "now"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [
            ("trouble", "Failed or late"),
            ("given_up", "Failed"),
            ("late", "Late"),
            ("waiting", "Still retried"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        wanted = {
            "trouble": given_up() | late(), "given_up": given_up(), "late": late(), "waiting": ~given_up(),
        }  # fmt: skip
        return queryset.filter(wanted.get(self.value() or "", Q()))


def send_again(request: HttpRequest, message: Message) -> str:
    outbox.send_again(message)
    return "due now. A worker sends it within seconds."


def discard(request: HttpRequest, message: Message) -> str:
    outbox.discard(message)
    return "deleted unsent."


@admin.register(Message)
class MessagePage(ReadOnlyPage):
    task = Task.RECORDS
    list_display = ("id", "recipient", "about", "how", "written")
    list_display_links = ("id", "recipient")
    list_filter = (StateFilter, "channel")
    search_fields = ("=pk", "^recipient")
    search_help_text = (
        "Message id, or how an address or a number (+47…) begins. Messages that were sent are not kept."
    )
    secret = ("encrypted",)
    ordering = ("-id",)
    sortable_by = ()
    fieldsets = (
        (None, {
            "fields": (("recipient", "about"), ("state", "tries"), ("written", "next_try"), "problem"),
            "description": "The text is encrypted and not shown, because it may contain a secret for signing in.",
        }),
    )  # fmt: skip
    verbs = (
        Verb(
            "send-again", "Send again", send_again,
            confirm=(
                "Sends the message again at once, with all its attempts. A link to choose a password works for"
                " three"
                " days from the time it was written, and a code for ten minutes. For an older message, ask the"
                " person"
                " to request a new one."
            ),
        ),
        Verb(
            "discard", "Discard", discard, danger=True, permission="delete",
            confirm="Deletes the message. It is not sent, and nobody is notified.",
        ),
    )  # fmt: skip

    @admin.display(description="About")
    def about(self, message: Message) -> str:
        return message.subject or message.get_channel_display()

    @admin.display(description="Progress")
    def how(self, message: Message) -> SafeString:
        again = "" if message.given_up else f", the next at {message.run_at:%H:%M:%S}"
        tries = format_html("{} {}{}", state_of(message), self.tries(message), again)
        return lines([tries, problem_of(message)])

    @admin.display(description="Error")
    def problem(self, message: Message) -> SafeString:
        return problem_of(message) or NOTHING

    @admin.display(description="State")
    def state(self, message: Message) -> SafeString:
        return state_of(message)

    @admin.display(description="Attempts")
    def tries(self, message: Message) -> str:
        return f"{message.attempt} of {counted(settings.MESSAGE_ATTEMPTS, 'attempt')}"

    @admin.display(description="Next attempt")
    def next_try(self, message: Message) -> SafeString:
        return NOTHING if message.given_up else moment(message.run_at)

    @admin.display(description="Written")
    def written(self, message: Message) -> SafeString:
        return moment(message.created)


def problem_of(message: Message) -> SafeString:
    return format_html('<span class="problem">{}</span>', message.error) if message.error else SafeString("")


def state_of(message: Message) -> SafeString:
    if message.given_up:
        return pill("failed", BAD)
    if message.created < now() - LATE_AFTER:
        return pill("late", BAD)
    return pill("retried", BAD) if message.error else pill("being sent", QUIET)


@watcher
def messages(request: HttpRequest) -> Iterator[Notice]:
    """Return notices with the numbers of messages that were given up, and that are late."""
    if not request.user.has_perm("accounts.view_message"):
        return
    found: dict[str, Any] = Message.objects.aggregate(
        unsent=Count("pk", filter=given_up()), behind=Count("pk", filter=late())
    )
    if any(found.values()):
        text = f"Mails and messages: {found['unsent']} failed, {found['behind']} late"
        yield Notice(text, list_of(Message, now="trouble"))
