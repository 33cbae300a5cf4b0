"""A real name server, Knot DNS, which serves exported zones."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dns.exception
import dns.message
import dns.query
import dns.rcode
import pytest
from django.core.management import call_command

from compute.models import Domain
from compute.services.domains.zone_export import export
from tests.ports import free_port

TIMEOUT_SECONDS = 120.0
"""Seconds within which a healthy name server answers, even on a busy machine."""
CONFIGURATION = """\
server:
    listen: {address}@{port}
    rundir: "{home}"
control:
    listen: "{home}/knot.sock"
database:
    storage: "{home}"
log:
  - target: stderr
    any: error
include: "{home}/export/zones.conf"
"""


class Knot:
    """A name server that serves the zones exported into its directory."""

    def __init__(self, home: Path, address: str = "127.0.0.1", port: int | None = None):
        self.home, self.exported = home, home / "export"
        self.address, self.port = address, port or free_port()
        self._served: dict[str, int] = {}
        self.configuration = home / "knot.conf"
        self.configuration.write_text(CONFIGURATION.format(address=address, port=self.port, home=home))

    def start(self) -> None:
        self._process = subprocess.Popen(["knotd", "-c", str(self.configuration)])
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            assert self._process.poll() is None, "the name server did not start"
            assert time.monotonic() < deadline, "the name server does not answer"
            try:
                self.ask("anything.example", "A", timeout=0.3)
                return
            except (dns.exception.Timeout, OSError):
                continue

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    @property
    def reload(self) -> str:
        return self.control("reload")

    def control(self, *words: str) -> str:
        return f"knotc -b -s {self.home}/knot.sock {' '.join(words)}"

    def export(self) -> None:
        """Export, and wait until the server has loaded the export. Until then, the server answers from the old
        zones."""
        call_command("export_zones", str(self.exported), reload=self.reload)
        active = Domain.objects.filter(status="active")
        wanted = dict(active.filter(type="master").values_list("label", "serial"))
        gone = set(self._served) - set(active.values_list("label", flat=True))
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while any(self.serial(name) != serial for name, serial in wanted.items()) or any(map(self.serial, gone)):
            assert time.monotonic() < deadline, "the name server does not load the zones"
        self._served = wanted

    def ask(self, name: str, kind: str, timeout: float = TIMEOUT_SECONDS) -> dns.message.Message:
        query = dns.message.make_query(name, kind)
        return dns.query.udp(query, self.address, timeout=timeout, port=self.port)

    def answers(self, name: str, kind: str) -> list[str]:
        found = self.ask(name, kind)
        assert found.rcode() in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN), dns.rcode.to_text(found.rcode())
        return sorted(data.to_text() for answer in found.answer for data in answer)

    def serial(self, name: str) -> int | None:
        """Return the serial of the zone that the server has, or None if there is no zone of this name."""
        answer = self.ask(name, "SOA").answer
        return answer[0][0].serial if answer else None


def running(home: Path, *place: Any) -> Iterator[Knot]:
    if shutil.which("knotd") is None:
        assert not os.environ.get("CI"), "the package knot is to be installed"
        pytest.skip("needs Knot DNS: apt-get install knot")
    server = Knot(home, *place)
    export(server.exported)
    server.start()
    yield server
    server.stop()
