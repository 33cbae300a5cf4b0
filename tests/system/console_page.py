"""The page of a console, as its script uses it: sign-in, ticket, websocket."""

import asyncio
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import aiohttp
import requests

from tests.compute.drivers.qemu.consoles import Console
from tests.system.server import TIMEOUT_SECONDS, Server

PASSWORD = re.compile(r"user owner, password (\S+)")


class ConsolePage:
    """The owner's browser at the console of an instance. `messages` are the server's messages without output."""

    def __init__(self, server: Server, instance: int):
        self.site = f"http://127.0.0.1:{server.port}"
        self.address = f"{self.site}/home/instances/{instance}/console"
        self.browser = requests.Session()
        self.messages: list[dict[str, object]] = []
        self.browser.get(f"{self.site}/login", timeout=TIMEOUT_SECONDS)
        found = PASSWORD.search(server.text)
        assert found
        fields = {"username": "owner", "password": found[1], "csrfmiddlewaretoken": self._token()}
        answer = self.browser.post(f"{self.site}/login", fields, timeout=TIMEOUT_SECONDS)
        assert answer.url == f"{self.site}/home", answer.text

    def ticket(self) -> str:
        """Return the address of a websocket."""
        answer = self.browser.post(
            self.address, json={}, headers={"X-CSRFToken": self._token()}, timeout=TIMEOUT_SECONDS
        )
        assert answer.status_code == 200, answer.text
        address: str = answer.json()["address"]
        return address

    @contextmanager
    def opened(self) -> Iterator[Console]:
        """Open the console until the end of the block."""
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        thread = threading.Thread(target=asyncio.run, args=(self._carry(self.ticket(), theirs),))
        thread.start()
        try:
            yield Console(ours)
        finally:
            ours.close()
            thread.join()
            theirs.close()

    async def _carry(self, address: str, end: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, headers={"Origin": self.site}) as websocket,
        ):
            typing = asyncio.create_task(self._type(websocket, end))
            async for message in websocket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self.messages.append(json.loads(message.data))
                    continue
                with suppress(BrokenPipeError, ConnectionResetError):  # the reader has gone
                    await loop.sock_sendall(end, message.data)
            end.shutdown(socket.SHUT_WR)
            await typing

    async def _type(self, websocket: aiohttp.ClientWebSocketResponse, end: socket.socket) -> None:
        """Send what is typed, until the typing end is closed."""
        loop = asyncio.get_running_loop()
        while typed := await loop.sock_recv(end, 4096):
            await websocket.send_bytes(typed)
        await websocket.close()

    def _token(self) -> str:
        return self.browser.cookies["csrftoken"]
