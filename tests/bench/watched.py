"""The server whose services `tests.bench.probes` checks: ``python -m tests.bench.watched PORT``.

``/quick`` answers at once, ``/slow`` after eight seconds, ``/dead`` never.
"""

import asyncio
import sys

TEXT = "all is well"
SLOW = 8.0
PAGE = f"<!DOCTYPE html><title>A service</title><p>{'filler ' * 300}<p>{TEXT}".encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE)


def command(port: int) -> list[str]:
    """Return the command line of a server on this port."""
    return [sys.executable, "-m", "tests.bench.watched", str(port)]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/dead" in head:
            await reader.read()  # until the client has gone
        elif b"/slow" in head:
            await asyncio.sleep(SLOW)
        writer.write(ANSWER)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass  # the client has gone already
    finally:
        writer.close()


async def main(port: int) -> None:
    async with await asyncio.start_server(serve, "127.0.0.1", port, backlog=4096) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
