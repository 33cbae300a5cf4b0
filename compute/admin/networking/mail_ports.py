"""The mail ports of an account, on its page: for customers who ask to send mail, and those who send too much."""

from django.conf import settings
from django.http import HttpRequest

from accounts.admin.panels import account_panel, account_verb, staff
from accounts.models import Account
from compute.services.networking.firewalls import mail_ports
from config.admin.pages import Panel
from config.admin.verbs import Verb
from config.display.plurals import counted
from config.display.statuses import GOOD, QUIET, pill


def open_ports(request: HttpRequest, account: Account) -> str:
    return _describe_delivery(mail_ports.set_open(staff(request, account.pk), account, True))


def close_ports(request: HttpRequest, account: Account) -> str:
    return _describe_delivery(mail_ports.set_open(staff(request, account.pk), account, False))


def _describe_delivery(number: int) -> str:
    return f"the hosts of {counted(number, 'instance')} get the rules in a moment."


account_verb(Verb("open_mail_ports", "Open mail ports", open_ports, offered=mail_ports.are_closed))
account_verb(
    Verb(
        "close_mail_ports",
        "Close mail ports",
        close_ports,
        danger=True,
        offered=lambda account: not mail_ports.are_closed(account),
        confirm="Instances of the account cannot open connections to TCP ports 25, 465 and 587 of others any"
        " more. Open"
        " connections continue.",
    )
)


@account_panel
def mail_ports_panel(account: Account) -> Panel:
    """Whether instances may connect out to mail ports, and why."""
    state = pill("closed", QUIET) if mail_ports.are_closed(account) else pill("open", GOOD)
    return Panel.of("Mail ports", ("Outgoing TCP 25, 465 and 587", "Reason"), [(state, _reason(account))])


def _reason(account: Account) -> str:
    if account.mail_ports_open is not None:
        return "staff opened or closed the ports"
    day = settings.MAIL_PORTS_CLOSED_AFTER
    if day is None:
        return "mail ports are open for new accounts"
    return f"the account was opened {'after' if mail_ports.are_closed(account) else 'on or before'} {day}"
