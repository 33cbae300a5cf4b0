"""Admits browsers to consoles: connects `config.server.consoles` with the services and drivers.

Stream processes use hypervisors only for this: they look a machine up, and never change it.
"""

import logging
from collections.abc import Mapping, Sequence

from compute.drivers.base import Console, DriverError, NoConsole, Refused, Unreachable
from compute.models import ConsoleSession
from compute.services import consoles
from compute.worker.consoles import open_console
from config.errors import DomainError, Missing
from config.server.consoles import Ended, Occupied

log = logging.getLogger(__name__)

USED = "This page has used its ticket already. Open the console again."


class ConsoleBroker:
    """The broker of the consoles. Its calls block, except `is_ticket`."""

    def is_ticket(self, ticket: str) -> bool:
        return consoles.is_ticket(ticket)

    def admit(self, ticket: str, origin: str) -> tuple[int, str]:
        try:
            session = consoles.admit(ticket, origin)
        except Missing:
            raise Ended(USED, again=True) from None
        except DomainError as error:
            raise Ended(str(error), again=isinstance(error, consoles.Full)) from None
        return session.pk, str(session.instance.host) if session.instance else ""

    def open(self, session: int) -> Console:
        found = ConsoleSession.objects.select_related("instance").filter(pk=session).first()
        if found is None or found.instance is None:
            raise Ended(consoles.INSTANCE_DELETED)
        try:
            return open_console(found.instance)
        except NoConsole as error:
            raise Ended(str(error), none=True) from None
        except Refused as error:
            raise Ended(str(error), again=True) from None
        except Unreachable as error:
            log.warning("The console of instance %s cannot be opened: %s", found.instance_id, error)
            raise Ended(str(error), again=True) from None
        except DriverError as error:
            raise Occupied(str(error), again=True) from None

    def renew(self, sessions: Sequence[int]) -> Mapping[int, str]:
        return consoles.still_there(sessions)

    def recheck(self, session: int) -> str:
        return consoles.recheck(session)

    def leave(self, session: int, outcome: str) -> None:
        consoles.leave(session, outcome)
