"""The search for accounts and their objects: by id, names, emails, addresses of logins, words of tickets,
events.
"""

from django.db.models import Q, QuerySet

from accounts.models import (
    Account,
    Event,
    Login,
    OAuthClient,
    PersonalToken,
    Ticket,
    TicketReply,
    TrustedDevice,
    User,
)
from config.admin.search import Hit, Kind, Term, contains, findable

NEWEST_EVENTS = 20_000
"""The number of newest events whose texts are searched: there may be millions, and no index covers times or
texts.
"""
TOKEN_DIGITS = 16


def by_number(term: Term) -> Q | None:
    return None if term.number is None else Q(pk=term.number)


def accounts_named(term: Term) -> Q | None:
    if term.number is not None:
        return Q(pk=term.number)
    owners = User.objects.filter(username__iexact=term.text, account__isnull=False).values("account")
    return Q(email__iexact=term.text) | Q(company__iexact=term.text) | Q(pk__in=owners)


def users_named(term: Term) -> Q:
    named = Q(username__iexact=term.text) | Q(email__iexact=term.text)
    return named if term.number is None else named | Q(pk=term.number)


def ticket_says(term: Term) -> Q:
    replies = TicketReply.objects.filter(description__icontains=term.text).values("ticket")
    texts = Q(summary__icontains=term.text) | Q(description__icontains=term.text)
    return texts | Q(entity_label__icontains=term.text) | Q(pk__in=replies)


def event_says(term: Term) -> Q:
    newest = Event.objects.order_by("-pk").values("pk")[:NEWEST_EVENTS]
    texts = Q(message__icontains=term.text) | Q(entity_label__icontains=term.text) | Q(action=term.text)
    return Q(pk__in=newest) & (texts | Q(username__iexact=term.text))


def events_of(term: Term) -> Q | None:
    """Return the condition for events by their own id or by the entity's id, among the newest."""
    if term.number is None:
        return None
    if term.own_id:
        return Q(pk=term.number)
    newest = Event.objects.order_by("-pk").values("pk")[:NEWEST_EVENTS]
    return Q(pk=term.number) | Q(entity_id=term.number, pk__in=newest)


def tokens_like(term: Term) -> Q | None:
    """Return the condition for tokens by their first 16 digits, which pages show.

    A whole token is cut to these digits, and never hashed.
    """
    if len(term.text) < TOKEN_DIGITS:
        return by_number(term)
    return Q(prefix=term.text[:TOKEN_DIGITS].lower())


def tokens() -> QuerySet[PersonalToken]:
    return PersonalToken.objects.select_related("user__account").defer("digest")


def devices() -> QuerySet[TrustedDevice]:
    return TrustedDevice.objects.select_related("user__account").defer("digest")


def clients() -> QuerySet[OAuthClient]:
    return OAuthClient.objects.select_related("account").defer("client_secret", "thumbnail")


findable(
    Kind(
        Account,
        Account.objects.all,
        lambda row: Hit(f"{row.pk} {row}", row.email if row.is_active else f"{row.email}, {row.standing}"),
        accounts_named,
        contains("company", "email", "first_name", "last_name"),
    ),
    Kind(
        User,
        lambda: User.objects.select_related("account").defer("password"),
        lambda row: Hit(row.username, row.email if row.is_active else f"{row.email}, suspended", [row.account]),
        users_named,
        contains("username", "email"),
    ),
    Kind(
        Ticket,
        lambda: Ticket.objects.select_related("account"),
        lambda row: Hit(f"{row.pk} {row.summary}", f"{row.status}, opened by {row.opened_by or 'the platform'}",
                        [row.account]),
        by_number,
        ticket_says,
    ),
    Kind(
        Login,
        lambda: Login.objects.select_related("account", "user"),
        lambda row: Hit(f"{row.username} from {row.ip}", f"{row.created:%Y-%m-%d %H:%M}", [row.user, row.account]),
        lambda term: Q(ip=term.address) if term.address else None,
        is_record=True,
    ),
    Kind(
        TrustedDevice,
        devices,
        lambda row: Hit(f"of {row.user}", f"last from {row.last_remote_addr}", [row.user, row.user.account]),
        lambda term: Q(last_remote_addr=term.address) if term.address else None,
    ),
    Kind(
        PersonalToken,
        tokens,
        lambda row: Hit(f"{row.prefix}…", row.label, [row.user, row.user.account]),
        tokens_like,
        contains("label"),
    ),
    Kind(
        OAuthClient,
        clients,
        lambda row: Hit(row.name or row.client_id, row.get_status_display(), [row.account]),
        lambda term: Q(client_id=term.text),
        contains("name"),
    ),
    Kind(
        Event,
        lambda: Event.objects.select_related("account"),
        lambda row: Hit(
            f"{row.pk} {row.action}",
            f"{row.created:%Y-%m-%d %H:%M}, {row.status}: {row.entity_type} {row.entity_label} {row.message}"[:200],
            [row.account],
        ),
        events_of,
        event_says,
        note="Only the newest 20,000 events are searched. Find older events by id.",
        is_record=True,
    ),
)  # fmt: skip
