"""Requests and answers in the server's form."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field


class Headers:
    """Headers in the server's form: values beyond ASCII are missing."""

    def __init__(self, *given: tuple[str, str]):
        self.given = given

    def __len__(self) -> int:
        return len({name for name, _ in self.given})

    def __contains__(self, name: str) -> bool:
        return any(name == each for each, _ in self.given)

    def get(self, name: str) -> str | None:
        return next((value for each, value in self.given if each == name), None)

    def items(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self.given if value.isascii()]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self.given])


@dataclass
class Exchange:
    """A body in pieces. After the last piece, the client stalls, leaves or has finished."""

    pieces: list[bytes] = field(default_factory=list)
    stalls: bool = False
    taken: int = 0
    answer: tuple[int, dict[str, str], bytes] | None = None

    async def __call__(self) -> bytes:
        return b"".join([piece async for piece in self])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            self.taken += len(piece)
            yield piece
        if self.stalls:
            await asyncio.Event().wait()
        yield b""

    def response_file(self, status: int, headers: list[tuple[str, str]], file: str) -> None:
        opened = os.open(file, os.O_RDONLY)
        asyncio.get_running_loop().run_in_executor(None, self._read, opened, status, headers)

    def _read(self, opened: int, status: int, headers: list[tuple[str, str]]) -> None:
        with open(opened, "rb") as file:
            self.answer = status, dict(headers), file.read()

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.answer = status, dict(headers), body


class Answer:
    def __init__(self, body: bytes):
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        return iter([self.body[:5], self.body[5:]])

    def close(self) -> None:
        pass
