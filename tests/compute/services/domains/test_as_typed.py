"""The commands for a name server in docs/domains.md, with a real Knot DNS. Only its folder differs."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from compute.services.domains import records as domain_records
from tests.compute.services.domains.knot import TIMEOUT_SECONDS, Knot
from tests.factories import DomainFactory, RecordFactory
from tests.tours.pages import ROOT, blocks_for, replaced

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.guest]

KNOTC = """#!/bin/sh
exec {knotc} -b -s {home}/knot.sock "$@"
"""
"""A script that finds the test's server, whose socket is not where the package has it."""


def test_the_commands_of_the_page_serve_changed_zones(knot: Knot, account, process_env, tmp_path: Path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "knotc").write_text(KNOTC.format(knotc=shutil.which("knotc"), home=knot.home))
    (programs / "knotc").chmod(0o755)
    [block] = blocks_for(__file__)
    typed = replaced(block, {"/var/lib/knot/skerry": str(knot.exported)})
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-e", "-c", typed],
            cwd=ROOT, env=process_env | {"PATH": f"{programs}:{process_env['PATH']}"}, stdin=subprocess.DEVNULL,
            stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip

    def until_it_answers(*addresses: str) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while knot.serial("example.com") is None or knot.answers("www.example.com", "A") != list(addresses):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)

    try:
        domain = DomainFactory(account=account, label="example.com")
        until_it_answers()
        RecordFactory(domain=domain, name="www", target="203.0.113.7")
        domain_records.touch(domain)
        until_it_answers("203.0.113.7")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(TIMEOUT_SECONDS)
