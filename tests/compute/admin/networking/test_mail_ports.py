"""The mail ports of an account for staff: the present rule and its reason, and opening and closing them."""

from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import Account, Event, User
from compute.models import PacketFilter
from tests.config.admin.pages import do, messages_of, page_address

pytestmark = pytest.mark.django_db


def panel_of(admin, account: Account) -> list[str]:
    """Return the cells of the panel on the account's page."""
    panels = admin.get(page_address(account)).context["panels"]
    (panel,) = [panel for panel in panels if panel.title == "Mail ports"]
    return [str(cell) for cell in panel.rows[0].cells]


def test_the_page_of_an_account_shows_its_mail_ports_and_the_reason(admin, world, settings):
    def holds(state: str, why: str) -> bool:
        shown, because = panel_of(admin, world.account)
        return f">{state}<" in shown and because == why

    assert holds("closed", "the account was opened after 2019-11-05")
    Account.objects.update(created=datetime(2019, 1, 1, tzinfo=UTC))
    assert holds("open", "the account was opened on or before 2019-11-05")
    settings.MAIL_PORTS_CLOSED_AFTER = None
    assert holds("open", "mail ports are open for new accounts")
    Account.objects.update(mail_ports_open=False)
    assert holds("closed", "staff opened or closed the ports")


def test_staff_open_and_close_them(admin, world, running):
    for verb, closed in (("open_mail_ports", False), ("close_mail_ports", True)):
        before = PacketFilter.objects.get().wanted
        assert "the hosts of 1 instance get the rules in a moment" in messages_of(do(admin, world.account, verb))
        row = PacketFilter.objects.get()
        assert (row.wanted, row.mail_ports_closed) == (before + 1, closed)
        event = Event.objects.latest("pk")
        assert (event.action, event.username) == ("account_update", "staff")
        assert verb.replace("_", " ").capitalize() in LogEntry.objects.latest("pk").get_change_message()
    assert LogEntry.objects.count() == 2


def test_staff_see_the_reason_of_a_refusal(admin, world):
    assert "closed already" in messages_of(do(admin, world.account, "close_mail_ports"))
    assert "refused" in LogEntry.objects.get().get_change_message()
    assert Account.objects.get(pk=world.account.pk).mail_ports_open is None


def test_opening_mail_ports_needs_the_change_permission(world):
    clerk = User.objects.create_user("clerk", "clerk@example.com", "a-password", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename="view_account"))
    client = Client()
    client.force_login(clerk)
    assert do(client, world.account, "open_mail_ports").status_code == 403
    assert Account.objects.get(pk=world.account.pk).mail_ports_open is None
