"""Links that show a customer's new token once: make, list, revoke. No page here shows the token."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest, QueryDict
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import UsersAccountFilter
from accounts.admin.panels import staff
from accounts.models import TokenLink, User
from accounts.scopes import ALL, KNOWN, describe
from accounts.services import token_links
from accounts.services.tokens import MAX_LABEL_LENGTH
from config.admin.forms import ReasonForm
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, moment
from config.admin.verbs import Once, Verb
from config.display.statuses import BAD, GOOD, pill

MAX_DAYS = 3650
ADVICE = (
    "Send the address only to the user, by a channel that you trust. The first person who opens it and presses its"
    " button gets the token."
)


class LinkForm(ReasonForm):
    """The form of a new link: the purpose of the token, its scopes and lifetime, and the reason for the link."""

    label = forms.CharField(
        max_length=MAX_LABEL_LENGTH,
        help_text=f"The purpose of the token, such as Terraform. The user reads it. At most {MAX_LABEL_LENGTH}"
        " characters.",
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope, describe(scope)) for scope in sorted(KNOWN)],
        initial=[],
        help_text="What the token may do. The first choice is everything that the user may do.",
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        initial=90,
        label="Lifetime (days)",
        help_text="The number of days that the token works, such as 90. If empty, it works until it is revoked.",
    )
    field_order = ("label", "scopes", "days", "reason")

    def __init__(self, user: User, data: QueryDict | None = None):
        super().__init__(user, data)

    def clean_scopes(self) -> str:
        ticked: list[str] = self.cleaned_data["scopes"]
        return ALL if ALL in ticked else " ".join(ticked)


def hand_over(request: HttpRequest, user: User, given: dict[str, Any]) -> Once:
    days = given["days"]
    expiry = None if days is None else now() + timedelta(days=days)
    actor = staff(request, user.account_id or 0)
    made, address = token_links.make_link(
        actor, user, given["label"], given["scopes"], expiry, reason=given["reason"]
    )
    end = f"{made.expiry:%Y-%m-%d %H:%M} UTC"
    return Once(f"a link to a token, {made.label}, that works until {end}. {given['reason']}", address, ADVICE)


HAND_OVER = Verb(
    "hand-over-token", "Make a link to a token", hand_over, form=LinkForm, danger=True,
    permission="accounts.add_tokenlink", offered=lambda user: user.account_id is not None,
    confirm="The first person who opens the link sees a new token of the user. The account gets an event with"
    " your name.",
)  # fmt: skip


def take_back(request: HttpRequest, made: TokenLink) -> str:
    token_links.take_back(staff(request, made.user.account_id or 0), made)
    return "revoked. The address shows nothing any more."


@admin.register(TokenLink)
class TokenLinkPage(ReadOnlyPage):
    """Links that were not used yet. Used links are deleted, and their tokens are in the list of tokens."""

    task = Task.CUSTOMERS
    labels: ClassVar[Mapping[str, str]] = {"token_expiry": "The token works until"}
    help_texts: ClassVar[Mapping[str, str]] = {
        "label": "The label of the token.",
        "scopes": "What the token may do. *: everything that the user may do.",
        "token_expiry": "If empty, the token works until it is revoked.",
    }
    list_display = ("__str__", "user", "scopes", "state", "by", "created_at", "ends")
    list_select_related = ("user",)
    list_filter = (UsersAccountFilter,)
    link_filters = ("user__id__exact", "user__account__id__exact")
    search_fields = ("=pk", "user__username")
    search_help_text = "A username."
    secret = ("digest",)
    ordering = ("-id",)
    sortable_by = ()
    fields = ("label", "user", "scopes", "state", "by", "created_at", "ends", "token_expiry")
    verbs = (
        Verb(
            "take-back", "Revoke", take_back, danger=True, permission="delete",
            confirm="After this, the address shows nothing.",
        ),
    )  # fmt: skip

    @admin.display(description="State")
    def state(self, made: TokenLink) -> SafeString:
        return pill("unused", GOOD) if made.expiry > now() else pill("expired", BAD)

    @admin.display(description="Made by")
    def by(self, made: TokenLink) -> str:
        return made.created_by or "the platform"

    @admin.display(description="Made")
    def created_at(self, made: TokenLink) -> SafeString:
        return moment(made.created)

    @admin.display(description="Works until")
    def ends(self, made: TokenLink) -> SafeString:
        return moment(made.expiry)


def link_rows(user: User) -> list[tuple[Any, ...]]:
    """Return the cells of a panel's row for each valid link of a user."""
    rows = TokenLink.objects.good().filter(user=user).defer("digest").order_by("-pk")
    return [(link(row), row.scopes, row.created_by or "the platform", moment(row.expiry)) for row in rows]
