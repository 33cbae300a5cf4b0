"""The desk of consoles: sessions of rows, consoles of drivers, and what either's refusals become."""

import pytest

from compute.drivers.base import DriverError, NoConsole, Refused, Unreachable
from compute.models import ConsoleSession, Instance
from compute.services import consoles
from config import console_desk
from config.console_desk import ConsoleDesk
from config.server.consoles import Ended, Occupied
from tests.compute.at_consoles import ORIGIN, browser_of, signed_in
from tests.factories import InstanceFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return InstanceFactory(account=account, status=Instance.Status.RUNNING)


@pytest.fixture
def ticket(owner, instance) -> str:
    return consoles.ask(owner, instance, browser_of(signed_in(owner)))


def test_who_has_a_ticket_is_admitted_to_the_console_of_its_instance(ticket, instance, monkeypatch):
    desk, opened = ConsoleDesk(), []
    monkeypatch.setattr(console_desk, "open_console", opened.append)
    assert desk.is_ticket(ticket)
    session, host = desk.admit(ticket, ORIGIN)
    assert host == str(instance.host)
    desk.open(session)
    assert opened == [instance]
    assert desk.look([session]) == {}
    assert desk.recheck(session) == ""
    desk.leave(session, "They left.")
    assert ConsoleSession.objects.get().outcome == "They left."


def test_a_used_ticket_and_lost_rights_are_told_apart(ticket, owner):
    desk = ConsoleDesk()
    desk.admit(ticket, ORIGIN)
    with pytest.raises(Ended) as refused:
        desk.admit(ticket, ORIGIN)
    assert (refused.value.reason, refused.value.again) == (console_desk.USED, True)
    another = consoles.ask(owner, Instance.objects.get(), browser_of(signed_in(owner)))
    owner.lish_auth_method = "disabled"
    owner.save()
    with pytest.raises(Ended) as refused:
        desk.admit(another, ORIGIN)
    assert (refused.value.reason, refused.value.again) == (consoles.TURNED_OFF, False)


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        (Refused("The machine is off."), Ended, True),
        (NoConsole("This machine is simulated: it has no console."), Ended, False),
        (Unreachable("The host does not answer."), Ended, True),
        (DriverError("Somebody else is at this console."), Occupied, True),
    ],
)
def test_what_a_driver_says_is_told(ticket, monkeypatch, error, kind, again):
    def refuse(instance: Instance) -> None:
        raise error

    desk = ConsoleDesk()
    session, _ = desk.admit(ticket, ORIGIN)
    monkeypatch.setattr(console_desk, "open_console", refuse)
    with pytest.raises(Ended) as told:
        desk.open(session)
    assert type(told.value) is kind
    assert (told.value.reason, told.value.again) == (str(error), again)
    assert told.value.none is isinstance(error, NoConsole)


def test_a_deleted_instance_has_no_console(ticket):
    desk = ConsoleDesk()
    session, _ = desk.admit(ticket, ORIGIN)
    Instance.objects.all().delete()
    with pytest.raises(Ended, match="deleted"):
        desk.open(session)
