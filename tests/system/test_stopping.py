"""A web process that gets SIGTERM while a console is open."""

import asyncio
import json
import signal
import time

import aiohttp
import pytest

from compute.models import ConsoleSession, Instance
from compute.services import consoles
from config.server.consoles import STOPPED
from tests.compute.at_consoles import ORIGIN, browser_of, signed_in
from tests.factories import InstanceFactory
from tests.system.conftest import Fleet

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

DRAIN = 30.0
SLACK = 20.0
"""Extra seconds for a busy machine: far less than an open console would last."""


async def at_console(address: str, fleet: Fleet) -> tuple[list[dict[str, object]], float]:
    """Open a console, and send SIGTERM. Returns the browser's messages and the seconds from SIGTERM to the end.

    The last message is the orderly end: the server itself sends no frame that closes a websocket.
    """
    messages: list[dict[str, object]] = []
    began = 0.0
    origin = {"Origin": ORIGIN}
    async with aiohttp.ClientSession() as session, session.ws_connect(address, headers=origin) as socket:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                messages.append(json.loads(message.data))
            elif not began:  # output: the console is open
                began = time.monotonic()
                fleet.others[-1].send_signal(signal.SIGTERM)
        return messages, time.monotonic() - began


def test_a_console_is_closed_in_order_and_its_process_ends_in_time(fleet, owner):
    instance = InstanceFactory(account=owner.account, status=Instance.Status.RUNNING)
    fleet.env |= {"DRAIN_SECONDS": str(DRAIN)}
    fleet.web(application="tests.system.lasting_console")
    ticket = consoles.ask(owner, instance, browser_of(signed_in(owner)))

    messages, seconds = asyncio.run(at_console(f"ws://127.0.0.1:{fleet.port}/consoles/{ticket}", fleet))
    assert messages == [{"state": "open"}, {"ended": STOPPED, "again": True}]
    assert seconds < DRAIN, "it is closed at once, not at the end of the drain"
    assert fleet.others[-1].wait(DRAIN + SLACK) is not None
    session = ConsoleSession.objects.get()
    assert session.outcome == STOPPED
    assert session.ended is not None
