"""Copies of a large domain, all at once: clones, and imports from a name server that has it."""

import socketserver
import struct
import threading
from contextlib import AbstractContextManager

import dns.message
import dns.name
import dns.rrset

from tests.drill.crowding.attacker import Attacker, playing
from tests.drill.crowding.load import api

PER_MESSAGE = 500
"""Records of a message, which has 64 KB at most."""
SOA = "ns.example.net. dns.example.com. 1 7200 3600 604800 300"


def clone(attacker: Attacker) -> AbstractContextManager[None]:
    """Clone one domain several times."""
    pk = attacker.add_zone()
    return attacker.sending(
        [
            api(attacker.token, "POST", f"/domains/{pk}/clone", {"domain": f"{number}.{attacker.name}.example.com"})
            for number in range(attacker.form.copies)
        ]
    )


def import_zones(attacker: Attacker) -> AbstractContextManager[None]:
    """Import several domains."""
    names = [f"{number}.{attacker.name}.example.com" for number in range(attacker.form.copies)]
    primary = Primary({dns.name.from_text(name): _transfer(name, attacker.form.records) for name in names})
    threading.Thread(target=primary.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{primary.server_address[1]}"
    requests = [
        api(attacker.token, "POST", "/domains/import", {"domain": name, "remote_nameserver": place})
        for name in names
    ]

    def play(stopped: threading.Event) -> None:
        try:
            attacker.send(requests)
        finally:
            primary.shutdown()
            primary.server_close()

    return playing(play)


def _transfer(name: str, records: int) -> list[bytes]:
    """Return the messages that transfer a zone with this many records, without their ids."""
    origin = dns.name.from_text(name)
    soa = dns.rrset.from_text(origin, 300, "IN", "SOA", SOA)
    name_server = dns.rrset.from_text(origin, 300, "IN", "NS", "ns.example.net.")
    rows = [
        dns.rrset.from_text(dns.name.from_text(f"www-{number}", origin), 300, "IN", "A", "203.0.113.7")
        for number in range(records)
    ]
    pieces = [rows[start : start + PER_MESSAGE] for start in range(0, records, PER_MESSAGE)]
    response = dns.message.make_response(dns.message.make_query(origin, "AXFR"))
    found = []
    for piece in [[soa, name_server], *pieces, [soa]]:
        response.answer = piece
        found.append(response.to_wire(max_size=65535)[2:])
    return found


class Primary(socketserver.ThreadingTCPServer):
    """A name server that transfers `zones`, the prepared messages of each name. It takes little processor time."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, zones: dict[dns.name.Name, list[bytes]]):
        self.zones = zones
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    server: Primary

    def handle(self) -> None:
        (size,) = struct.unpack("!H", self.rfile.read(2))
        wire = self.rfile.read(size)
        zone = self.server.zones[dns.message.from_wire(wire).question[0].name]
        for message in zone:
            self.wfile.write(struct.pack("!H", len(message) + 2) + wire[:2] + message)
        self.rfile.read(1)  # until the client has read everything
