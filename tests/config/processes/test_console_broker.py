"""The broker of consoles: sessions, consoles of drivers, and the refusals of both."""

import pytest

from compute.drivers.base import DriverError, NoConsole, Refused, Unreachable
from compute.models import ConsoleSession, Instance
from compute.services import consoles
from config.processes import console_broker
from config.processes.console_broker import ConsoleBroker
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


def test_a_ticket_admits_to_the_console_of_its_instance(ticket, instance, monkeypatch):
    broker, opened = ConsoleBroker(), []
    monkeypatch.setattr(console_broker, "open_console", opened.append)
    assert broker.is_ticket(ticket)
    session, host = broker.admit(ticket, ORIGIN)
    assert host == str(instance.host)
    broker.open(session)
    assert opened == [instance]
    assert broker.renew([session]) == {}
    assert broker.recheck(session) == ""
    broker.leave(session, "They left.")
    assert ConsoleSession.objects.get().outcome == "They left."


def test_a_used_ticket_and_lost_rights_are_distinguished(ticket, owner):
    broker = ConsoleBroker()
    broker.admit(ticket, ORIGIN)
    with pytest.raises(Ended) as refused:
        broker.admit(ticket, ORIGIN)
    assert (refused.value.reason, refused.value.again) == (console_broker.USED, True)
    another = consoles.ask(owner, Instance.objects.get(), browser_of(signed_in(owner)))
    owner.lish_auth_method = "disabled"
    owner.save()
    with pytest.raises(Ended) as refused:
        broker.admit(another, ORIGIN)
    assert (refused.value.reason, refused.value.again) == (consoles.TURNED_OFF, False)


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        (Refused("The machine is off."), Ended, True),
        (NoConsole("This machine is simulated: it has no console."), Ended, False),
        (Unreachable("The host does not answer."), Ended, True),
        (DriverError("Another user has this console open."), Occupied, True),
    ],
)
def test_messages_of_drivers_are_shown(ticket, monkeypatch, error, kind, again):
    def refuse(instance: Instance) -> None:
        raise error

    broker = ConsoleBroker()
    session, _ = broker.admit(ticket, ORIGIN)
    monkeypatch.setattr(console_broker, "open_console", refuse)
    with pytest.raises(Ended) as raised:
        broker.open(session)
    assert type(raised.value) is kind
    assert (raised.value.reason, raised.value.again) == (str(error), again)
    assert raised.value.none is isinstance(error, NoConsole)


def test_a_deleted_instance_has_no_console(ticket):
    broker = ConsoleBroker()
    session, _ = broker.admit(ticket, ORIGIN)
    Instance.objects.all().delete()
    with pytest.raises(Ended, match="deleted"):
        broker.open(session)
