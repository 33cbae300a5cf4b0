"""Key pairs with which staff log in to computes, and the SSH settings of each compute.

The private key is decrypted like a credential.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter, InstancesAccountFilter
from accounts.admin.panels import staff
from accounts.models import Account
from compute.models import Instance
from config.admin.pages import HostFilter, Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment
from config.display.statuses import BAD, GOOD, pill
from managed.admin.reveal import Revealed, RevealPage, decryptions_panel
from managed.models import ComputeSettings, KeyPair
from managed.services import keys

INSTANCES_SHOWN = 50


@admin.register(KeyPair)
class KeyPairPage(RevealPage):
    task = Task.MONITORING
    list_display = ("account", "public_half", "made")
    list_filter = (AccountFilter,)
    link_filters = ("account__id__exact",)
    search_fields = ("=account_id", "^account__company", "^account__email")
    search_help_text = "An account's id, or how its company or email begins."
    ordering = ("-created",)
    sortable_by = ()
    fields = ("account", "public_half", "made")

    def reveal(self, request: HttpRequest, obj: KeyPair, reason: str, seen: int) -> Sequence[Revealed]:
        private = keys.decrypt(staff(request, obj.account_id), obj, reason, seen)
        return (Revealed("Private key", private),)

    def panels(self, request: HttpRequest, obj: KeyPair) -> list[Panel]:
        return [access_panel(obj.account), decryptions_panel(obj)]

    @admin.display(description="Public key")
    def public_half(self, pair: KeyPair) -> SafeString:
        return address(pair.public)

    @admin.display(description="Created")
    def made(self, pair: KeyPair) -> SafeString:
        return moment(pair.created)


@admin.register(ComputeSettings)
class ComputeSettingsPage(ReadOnlyPage):
    """The settings that accounts chose. Computes that are not listed have the defaults."""

    task = Task.MONITORING
    help_texts: ClassVar[Mapping[str, str]] = {
        "user": "If empty, root.",
        "port": "If empty, 22.",
        "ip": "The address for SSH. any: the first address.",
    }
    list_display = ("instance_link", "account", "allowed", "command")
    list_display_links = None
    list_filter = ("access", InstancesAccountFilter, ("instance__host", HostFilter))
    link_filters = ("instance__account__id__exact",)
    search_fields = ("=instance_id", "^instance__label")
    search_help_text = "An instance's id, or how its label begins."
    ordering = ("-instance",)
    sortable_by = ()
    fields = ("instance_link", "account", "allowed", "user", "ip", "port", "command")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ComputeSettings]:
        return super().get_queryset(request).select_related("instance__account")

    @admin.display(description="Instance")
    def instance_link(self, chosen: ComputeSettings) -> SafeString:
        return link(chosen.instance)

    @admin.display(description="Account")
    def account(self, chosen: ComputeSettings) -> SafeString:
        return link(chosen.instance.account)

    @admin.display(description="Staff may log in")
    def allowed(self, chosen: ComputeSettings) -> SafeString:
        return access_pill(chosen.access)

    @admin.display(description="Command")
    def command(self, chosen: ComputeSettings) -> SafeString:
        return address(ssh(chosen.instance))


def access_panel(account: Account) -> Panel:
    """Return the panel with the SSH access to each compute of an account, the newest first. One query."""
    own = (
        Instance.objects.filter(account=account)
        .select_related("managed_settings")
        .order_by("-pk")[:INSTANCES_SHOWN]
    )
    return Panel.of(
        "SSH access to instances",
        ("Instance", "Staff may log in", "Command", "Settings"),
        (
            (
                link(instance), access_pill(chosen_for(instance).access), address(ssh(instance)),
                link(chosen_for(instance), "chosen") if chosen_for(instance).pk else "defaults",
            )
            for instance in own
        ),
        more=list_of(ComputeSettings, instance__account__id__exact=account.pk),
    )  # fmt: skip


def chosen_for(instance: Instance) -> ComputeSettings:
    """Return the settings that the account chose for a compute, or the defaults."""
    return getattr(instance, "managed_settings", None) or ComputeSettings()


def ssh(instance: Instance) -> str:
    """Return the command line of ssh, with the key in a file. Settings that the account did not choose get likely
    values.

    Staff copy it into a shell, and a customer wrote the username: it is quoted, and cannot be an option of ssh.
    """
    chosen = chosen_for(instance)
    if not chosen.access:
        return "the account does not want staff to log in"
    own = [*instance.ipv4, *([instance.ipv6.partition("/")[0]] if instance.ipv6 else [])]
    host = chosen.ip if chosen.ip != ComputeSettings.ANY else next(iter(own), "")
    if not host:
        return "the instance has no address"
    port = f"-p {chosen.port} " if chosen.port else ""
    destination = f"{chosen.user or 'root'}@{host}"
    end = "-- " if destination.startswith("-") else ""
    return f"ssh -i KEYFILE {port}{end}{shlex.quote(destination)}"


def access_pill(access: bool) -> SafeString:
    return pill("yes", GOOD) if access else pill("no", BAD)


def address(text: str) -> SafeString:
    return format_html('<span class="address">{}</span>', text)
