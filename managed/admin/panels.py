"""The panels of managed monitoring on the page of an account."""

from django.db.models import Model
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.panels import ROWS_SHOWN, account_panel
from accounts.models import Account
from config.admin.pages import Panel, Row
from config.admin.value_formats import link, list_of, moment
from config.display.statuses import BAD, pill, status_pill
from managed.admin.service_status import Status
from managed.admin.value_formats import TARGET
from managed.models import ComputeSettings, Contact, Credential, Decryption, Issue, KeyPair, Service

MANAGED_DISABLED = "Managed monitoring is off for this account."


@account_panel
def services_panel(account: Account) -> Panel:
    """Return the panel with the services of an account, failing ones first."""
    found = Service.objects.filter(account=account).order_by("-status", "-pk")[:ROWS_SHOWN]
    return Panel(
        "Managed services",
        ("Service", "Status", "Address", "Checked", "Error"),
        [
            Row(
                (
                    link(each), status_pill(each.status), format_html(TARGET, each.address),
                    moment(each.checked_at), each.error,
                ),
                "bad" if each.status == Status.PROBLEM else "",
            )
            for each in found
        ],
        more=list_of(Service, account__id__exact=account.pk),
        empty="None." if account.managed else MANAGED_DISABLED,
    )  # fmt: skip


@account_panel
def contacts_panel(account: Account) -> Panel:
    """Return the panel with the contacts of an account."""
    found = Contact.objects.filter(account=account).order_by("group", "name")[:ROWS_SHOWN]
    return Panel.of(
        "Managed contacts",
        ("Name", "Group", "Email", "Phone", "Second phone"),
        ((link(each), each.group, each.email, each.phone_primary, each.phone_secondary) for each in found),
        more=list_of(Contact, account__id__exact=account.pk),
        empty="None." if account.managed else MANAGED_DISABLED,
    )


@account_panel
def rest_panel(account: Account) -> Panel:
    """Return the panel with links to the rest of managed monitoring: issues, credentials and keys, and
    decryptions.
    """
    issue = Issue.objects.filter(account=account, closed=None).first()
    key = KeyPair.objects.filter(account=account).defer("encrypted").select_related("account").first()
    opened = format_html("{} {}", link(issue), pill("open", BAD)) if issue else "none open"
    settings = ComputeSettings.objects.filter(instance__account=account).count()
    return Panel.of(
        "Managed",
        ("Kind", "Number", "List"),
        [
            ("Issues", opened, _all(Issue, account)),
            ("SSH key", link(key) if key else "not created yet", ""),
            ("SSH settings of instances", settings, _all(ComputeSettings, account, "instance__account__id__exact")),
            ("Credentials", Credential.objects.filter(account=account).count(), _all(Credential, account)),
            ("Decryptions", Decryption.objects.filter(account=account).count(), _all(Decryption, account)),
        ],
    )


def _all(model: type[Model], account: Account, lookup: str = "account__id__exact") -> SafeString:
    return format_html('<a href="{}">all</a>', list_of(model, **{lookup: account.pk}))
