"""Credentials that accounts gave, and their decryptions. Only the answer to Decrypt shows the secret."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.events import SinceFilter
from accounts.admin.filters import AccountFilter
from accounts.admin.panels import staff
from accounts.models import Account
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, moment
from config.display.integers import is_id
from config.display.statuses import status_pill
from managed.admin.reveal import LABEL, Revealed, RevealPage, decryptions_panel, reveal_address
from managed.admin.value_formats import TARGET
from managed.models import Credential, Decryption
from managed.services import credentials

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations


class Counted(TypedDict):
    services_number: int


@admin.register(Credential)
class CredentialPage(RevealPage):
    task = Task.MONITORING
    list_display = ("id", "label", "account", "used_by", "given", "read")
    list_display_links = ("id", "label")
    list_filter = (AccountFilter,)
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "^label")
    search_help_text = "Id, or how a label, company or account's email begins."
    ordering = ("-id",)
    sortable_by = ()
    fields = (("label", "account"), ("given", "read"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Credential]:
        return super().get_queryset(request).annotate(services_number=Count("services"))

    def matches(self, term: str) -> Q:
        if is_id(term):
            return super().matches(term)
        owner = Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term))
        return super().matches(term) | Q(account__in=owner)

    def reveal(self, request: HttpRequest, obj: Credential, reason: str, seen: int) -> Sequence[Revealed]:
        secret = credentials.decrypt(staff(request, obj.account_id), obj, reason, seen)
        return Revealed("Username", secret.username), Revealed("Password", secret.password)

    def panels(self, request: HttpRequest, obj: Credential) -> list[Panel]:
        return [services_panel(obj), decryptions_panel(obj)]

    @admin.display(description="Services")
    def used_by(self, credential: "WithAnnotations[Credential, Counted]") -> int:
        return credential.services_number

    @admin.display(description="Created")
    def given(self, credential: Credential) -> SafeString:
        return moment(credential.created)

    @admin.display(description="Last decrypted")
    def read(self, credential: Credential) -> SafeString:
        return moment(credential.last_decrypted)


def services_panel(credential: Credential) -> Panel:
    """Return the panel with the services that the credential was given for."""
    return Panel.of(
        "Services with this credential",
        ("Service", "Status", "Address"),
        (
            (link(service), status_pill(service.status), format_html(TARGET, service.address))
            for service in credential.services.order_by("label")
        ),
    )


def credential_rows(request: HttpRequest, found: Iterable[Credential], back: str) -> list[tuple[Any, ...]]:
    """Return a row for each credential, with the times when it was created and last decrypted.

    For staff with the permission, it has a link to its decryption, which returns to `back`.
    """
    may = request.user.has_perm("managed.decrypt_credential")
    return [
        (
            link(each), reveal_link(each, back) if may else NOTHING, moment(each.created),
            moment(each.last_decrypted),
        )
        for each in found
    ]  # fmt: skip


def reveal_link(obj: Any, back: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', reveal_address(obj, back), LABEL)


@admin.register(Decryption)
class DecryptionPage(ReadOnlyPage):
    """The record of secrets that staff decrypted. Its rows are never changed."""

    task = Task.MONITORING
    list_display = ("when", "username", "what", "account", "reason")
    list_select_related = ("account", "credential", "key_pair")
    list_filter = (SinceFilter, AccountFilter)
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "username", "^label")
    search_help_text = "A staff username, or how the label of the secret begins."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("when", "username", "what", "account", "reason")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Decryption]:
        rows = super().get_queryset(request).select_related("account", "credential", "key_pair__account")
        return rows.defer("credential__encrypted", "key_pair__encrypted")

    @admin.display(description="When")
    def when(self, decryption: Decryption) -> SafeString:
        return moment(decryption.created)

    @admin.display(description="Secret")
    def what(self, decryption: Decryption) -> str:
        target = decryption.credential or decryption.key_pair
        return f"{decryption.label}, deleted" if target is None else link(target, decryption.label)
